/** An app of 1,000,000 rows through the service: what an index serves, and what needs one. `ROWS` names another number of rows. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const ROWS = Number(process.env["ROWS"] ?? 1_000_000);
const PART = 50_000;
const PLACES = 1000;
const LIMIT = 20;
const TIMEOUT_MS = 900_000;
const PATH = "/v1/data/db/people";
const schema = defineSchema({
  people: t
    .model({
      name: t.string().required(),
      tag: t.string().unique(),
      place: t.integer(),
      note: t.string(),
    })
    .index("name")
    .index("place", "name"),
});
const nameOf = (n: number) => `Name ${String(n).padStart(8, "0")}`;
const id = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;

let service: TestService;
let app: TestApp;
beforeAll(async () => {
  service = await openTestService({ service: { previews: ["filters"] } });
  app = await service.makeApp(schema);
  for (let start = 0; start < ROWS; start += PART)
    await service.query(
      `insert into data.people (app_id, id, name, tag, place, note)
      select $1::uuid, ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Name ' || lpad(n::text, 8, '0'),
        'tag ' || n, n % ${PLACES}, 'note' from generate_series($2::int4, $3::int4) n`,
      [app.id, start + 1, Math.min(ROWS, start + PART)],
    );
}, TIMEOUT_MS);
afterAll(() => service.close());

async function ask(query: string, headers: Record<string, string> = {}) {
  const { status, json } = await service.call(app, `${PATH}${query}`, { headers });
  const { rows = [], ...body } = json as { rows?: { name: string }[] } & Record<string, unknown>;
  return { status, names: rows.map(({ name }) => name), body };
}

const names = (first: number, step = 1) =>
  Array.from({ length: LIMIT }, (_, n) => nameOf(first + n * step));
const cursor = (direction: string, n: number) =>
  Buffer.from(JSON.stringify([`name.${direction},id.${direction}`, nameOf(n), id(n)])).toString(
    "base64url",
  );
const middle = ROWS / 2;

test.each([
  { query: `?tag=eq.tag ${middle}`, found: [nameOf(middle)] },
  { query: "?tag=eq.nothing", found: [] },
  { query: `?order=name&limit=${LIMIT}`, found: names(1) },
  { query: `?order=name.desc&limit=${LIMIT}`, found: names(ROWS, -1) },
  { query: `?order=name&limit=${LIMIT}&after=${cursor("asc", middle)}`, found: names(middle) },
  {
    query: `?order=name.desc&limit=${LIMIT}&after=${cursor("desc", middle)}`,
    found: names(middle, -1),
  },
  {
    query: `?name=gte.${nameOf(middle)}&name=lt.${nameOf(middle + 5)}&order=name`,
    found: names(middle).slice(0, 5),
  },
  { query: `?place=eq.7&order=name&limit=${LIMIT}`, found: names(7, PLACES) },
])("$query is served by an index", async ({ query, found }) => {
  expect(await ask(query)).toMatchObject({ status: 200, names: found });
});

test.each([
  { query: "?order=note&limit=20", found: 20 },
  { query: "?note=eq.nothing&order=name.desc,tag&limit=20", found: 0 },
])("$query is found among all rows", async ({ query, found }) => {
  const { status, names: listed } = await ask(query);
  expect([status, listed?.length]).toEqual([200, found]);
});

test("groups are whole, and a count is whole or not there", async () => {
  const count = { prefer: "count=exact" };
  expect((await ask("?limit=1", count)).body["count"]).toBe(null);
  expect((await ask("?place=eq.7&order=name&limit=1", count)).body["count"]).toBe(ROWS / PLACES);
  const groups = (await ask("/groups?by=place")).body["groups"] as { count: number }[];
  expect(groups.reduce((sum, group) => sum + group.count, 0)).toBe(ROWS);
  expect((await ask("/groups?by=note&place=eq.7")).body["groups"]).toEqual([
    { by: { note: "note" }, count: ROWS / PLACES },
  ]);
});
