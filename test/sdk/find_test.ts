/** `find()` of the client: by the columns of unique constraints only, and never `undefined` after an incomplete search. */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { createDataClient } from "../../src/sdk/data.ts";
import { casesBy } from "../support/cases.ts";
import { openForwarder } from "../support/forwarder.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  people: t
    .model({
      email: t.string().required().unique(),
      badge: t.uuid(),
      level: t.number().unique(),
      name: t.string(),
      org: t.uuid(),
      start: t.date(),
    })
    .unique("badge")
    .unique("name", "org")
    .unique("org", "start"),
});
/** Longer than the start of a text that an index compares. */
const LONG = "Ada ".repeat(30);
const PEOPLE = Array.from({ length: 205 }, (_, index) => ({
  email: `person-${index}@example.org`,
  badge: toId("badge", index),
  level: index,
  name: `${LONG}${index % 2}`,
  org: toId("org", Math.floor(index / 2)),
  start: `2026-01-0${1 + (index % 2)}`,
}));
function toId(of: "badge" | "org", index: number): string {
  return `0190163d-8694-739b-aea5-${of === "org" ? "a" : "b"}${String(index).padStart(11, "0")}`;
}
const LAST = PEOPLE.at(-1);
const ORG_START = { org: LAST?.org, start: LAST?.start };
const NO_BADGE = "ffffffff-8694-739b-aea5-000000000000";

/** The query strings of all requests. */
const asked: string[] = [];
const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const proxy = await share(
  openForwarder(service.url, {
    before: ({ url }) => {
      asked.push(new URL(url).search);
      return undefined;
    },
  }),
);
const to = { apiKey: app.key, schema };
await createDataClient({ ...to, baseUrl: service.url }).people.createMany(PEOPLE);
// As while its index is built again: the number has none.
await service.service.admin.message("drop index data.people__level__key");
const db = createDataClient({ ...to, baseUrl: `http://127.0.0.1:${proxy.port}` });

/** Like a caller without types. */
function findUntyped(where: object, client: object = db): Promise<unknown> {
  return (client as { people: { find: (where: object) => Promise<unknown> } }).people.find(where);
}

async function countCalls(search: Promise<unknown>): Promise<{ found: unknown; calls: number }> {
  asked.length = 0;
  const found = await search.catch((error: unknown) => error);
  return { found, calls: asked.length };
}

describe("find()", () => {
  test.each(
    Object.entries<object>({
      "a row by a column that an index serves": { badge: LAST?.badge },
      "no row by a column that an index serves": { badge: NO_BADGE },
      "a row by a text": { email: LAST?.email },
      "a row by a text and a reference to an organization": { name: LAST?.name, org: LAST?.org },
      "a row by two columns and a unique one": { ...ORG_START, email: LAST?.email },
      "no row by two columns and another one": { ...ORG_START, email: "person-7@example.org" },
      "no row by values of different rows": { name: LAST?.name, org: toId("org", 1000) },
      "no row by a text": { email: "none@example.org" },
      "a row by a number without an index at the start": { level: 5 },
      "a row by a number without an index on a later page": { level: 95 },
      "the last row by a number without an index": { level: LAST?.level },
      "no row by a number without an index": { level: -1 },
    }),
  )("finds %s in one request", async (_, where) => {
    const row = PEOPLE.find((person) =>
      Object.entries(where).every(([name, value]) => Reflect.get(person, name) === value),
    );
    const seen = await countCalls(findUntyped(where));
    expect(seen.found).toEqual(row === undefined ? undefined : expect.objectContaining(row));
    expect(seen.calls).toBe(1);
  });

  test("finds a row by its id", async () => {
    const row = await db.people.find({ email: "person-7@example.org" });
    expect(await db.people.find({ id: row?.id ?? "" })).toEqual(row);
  });

  test.each(
    casesBy<object>({
      '"org"': { "a column that is not unique": { org: NO_BADGE } },
      '"level", "name"': { "a unique column with another column": { level: 1, name: LONG } },
      "id, email, level, badge, name with org, org with start": {
        "a part of a constraint": { name: LONG },
      },
      '"name", "org", "start"': {
        "a constraint and a part of another": { name: LONG, org: NO_BADGE, start: "2026-01-01" },
      },
      '"org": must be a value, not null': { "null in a constraint": { name: LONG, org: null } },
      '"toString"': { "an unknown column": { toString: "" } },
      "not null": { null: { level: null } },
      "not undefined": { undefined: { email: undefined } },
      "not object": { "a comparison": { level: { gt: 1 } } },
      "pass a unique column": { nothing: {} },
    }),
  )("throws for $name, and sends nothing", async ({ value: where, expected: message }) => {
    const { found, calls } = await countCalls(findUntyped(where));
    expect(found).toBeInstanceOf(TypeError);
    expect((found as Error).message).toStartWith("people.find: Cannot search ");
    expect((found as Error).message).toContain(message);
    expect(calls).toBe(0);
  });

  test("throws for undefined, and for an empty object without a schema", async () => {
    const open = createDataClient({ baseUrl: service.url, apiKey: app.key });
    await expect(findUntyped({ email: undefined }, open)).rejects.toThrow("not undefined");
    await expect(findUntyped({}, open)).rejects.toThrow("pass a unique column");
    expect(await findUntyped({ level: 3 }, open)).toMatchObject({ level: 3 });
  });

  test("throws if a response has more rows but no cursor", async () => {
    const old = Bun.serve({ port: 0, fetch: () => Response.json({ rows: [], hasMore: true }) });
    const to = { baseUrl: `http://127.0.0.1:${old.port}`, apiKey: app.key, schema };
    expect(await findUntyped({ level: 1 }, createDataClient(to)).catch((error) => error.code)).toBe(
      "needs_index",
    );
    await old.stop(true);
  });
});
