/** Who can use the query parameters of the preview `filters`: the Console's keys always, API keys and people only with the preview. */
import { afterAll, describe, expect, test } from "bun:test";
import { dataRoutes } from "../../src/data/mod.ts";
import type { Operation } from "../../src/http/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { mintPersonKey } from "../support/minted_key.ts";
import { openToBrowsers } from "../support/person_keys.ts";
import { openBeside, openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { previews: ["browser"] } }));
const previewed = await openBeside(service, { previews: ["browser", "filters"] });
afterAll(() => previewed[Symbol.asyncDispose]());
const can = { read: true, create: true, update: true, delete: true };
const app = await service.makeApp(
  defineSchema({
    todos: t
      .model({ title: t.string().required().unique(), size: t.number().index() })
      .allow("member", can),
  }),
);
await openToBrowsers(service, app);
const mint = (role: string | undefined) =>
  mintPersonKey(service.service.admin, { app: app.id, person: crypto.randomUUID(), role });
const KEYS = { api: app.key, person: await mint("member"), console: await mint(undefined) };
const TABLE = "/v1/data/db/todos";
await service.call(app, TABLE, {
  method: "POST",
  json: ["Milk", "Tea", "Salt"].map((title, size) => ({ title, size })),
});
const first = await previewed.call(app, `${TABLE}?limit=1`);

/** A request for each parameter, which changes no row. */
const SAMPLES: Readonly<Record<string, string>> = {
  title: "title=eq.Milk",
  order: "order=title.desc",
  select: "select=id",
  after: `after=${Object(first.json).next}`,
  and: "and=(size.gt.0)",
  or: "or=(size.gt.0)",
  "not.and": "not.and=(size.gt.0)",
  "not.or": "not.or=(size.gt.0)",
  by: "by=title",
  sum: "sum=size",
  avg: "avg=size",
  min: "min=size",
  max: "max=size",
  onConflict: "onConflict=title",
  existing: "onConflict=title&existing=ignore",
  all: "all=true&dryRun=true",
  dryRun: "title=eq.Milk&dryRun=true",
  limit: "size=gt.0&limit=1&dryRun=true",
};
const BODIES: Readonly<Record<string, object>> = {
  POST: { json: { title: "Milk", size: 0 } },
  PATCH: { json: { size: 1 } },
};

const namesOf = (operation: Operation | undefined) =>
  (operation?.parameters ?? []).flatMap((each) => (each.in === "query" ? [each.name] : []));

// Without the preview, no caller has the routes of the preview.
const ROUTES = dataRoutes.filter(({ preview }) => preview === undefined);
const REQUESTS = ROUTES.flatMap(({ method, path, operation, previewed }) => {
  const filtered: Operation | undefined = previewed?.filters;
  const known = namesOf(operation);
  const names = namesOf(filtered).filter((name) => !known.includes(name));
  const all = filtered?.isFiltered === true ? ["title", ...names] : names;
  return all.map((name) => ({
    name: `${method} ${path} ${name}`,
    ...{ method, path: `${path.replace(":table", "todos")}?${SAMPLES[name]}` },
    ...BODIES[method],
  }));
});

test("the routes have parameters of the preview", () => {
  expect(REQUESTS.length).toBeGreaterThan(25);
  expect(REQUESTS.filter(({ path }) => path.endsWith("undefined"))).toEqual([]);
});

describe.each(REQUESTS)("$name", ({ method, path, ...sent }) => {
  const send = async (to: Pick<typeof service, "call">, key: string) => {
    const { status, text, json } = await to.call(undefined, path, { method, key, ...sent });
    return { status, text, error: Object(json).error };
  };

  test.each(["api", "person"] as const)("needs the preview with a key of %s", async (caller) => {
    const { status, error } = await send(service, KEYS[caller]);
    expect([status, error]).toEqual([400, "unsupported_query"]);
    expect((await send(previewed, KEYS[caller])).status).toBe(200);
  });

  test("is the same for the Console with and without the preview", async () => {
    const wanted = await send(previewed, KEYS.api);
    expect(await send(previewed, KEYS.console)).toEqual(wanted);
    expect(await send(service, KEYS.console)).toEqual(wanted);
  });
});

test("a page that the Console has read gets no cursor for an API key", async () => {
  const path = `${TABLE}?limit=2&offset=1`;
  const read = async (key: string) => (await service.call(undefined, path, { key })).text;
  const before = await read(KEYS.api);
  const members = (text: string) => Object.keys(JSON.parse(text));
  expect(members(await read(KEYS.console))).toEqual(["rows", "limit", "offset", "hasMore", "next"]);
  expect(await read(KEYS.api)).toBe(before);
  expect(members(before)).toEqual(["rows", "limit", "offset", "hasMore"]);
  expect(members(await read(KEYS.person))).toEqual(["rows", "limit", "offset", "hasMore"]);
});
