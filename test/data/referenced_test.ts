/** Conditions on referenced rows, with the preview on: lists, counts and groups, their limits, other apps' rows, and rejections. */

import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  vendors: { name: t.string().required(), code: t.integer() },
  projects: t
    .model({
      name: t.string().required(),
      vendor: t.ref("vendors"),
      parent: t.ref("projects"),
      budget: t.decimal(),
      // Names of parameters and of operators.
      limit: t.integer(),
      eq: t.string(),
      Not: t.boolean(),
    })
    .index("name"),
  items: t.model({
    title: t.string().required(),
    project: t.ref("projects"),
    backup: t.ref("projects"),
    status: t.enum(["open", "done"]).required().default("open"),
    position: t.integer(),
  }),
});

type Ids = Record<"ann" | "bob" | "house" | "garden" | "attic", string>;
const ids = new Map<TestApp, Ids>();
const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const other = await service.makeApp(schema);
for (const as of [other, app]) {
  const make = (table: string, json: object) => create(table, json, as);
  const ann = await make("vendors", { name: "Ann", code: 1 });
  const bob = await make("vendors", { name: 'Bob, (x) "y"' });
  const house = await make("projects", {
    ...{ name: "House", vendor: ann, budget: "1.50" },
    ...{ limit: 5, eq: "same", Not: true },
  });
  const garden = await make("projects", { name: "Garden", parent: house });
  const attic = await make("projects", { name: "Attic", vendor: bob, parent: house, limit: 9 });
  ids.set(as, { ann, bob, house, garden, attic });
  for (const [n, project] of [house, garden, attic, house, null, garden].entries())
    await make("items", {
      title: `Item ${n}`,
      project,
      backup: n % 2 === 0 ? attic : null,
      status: n < 3 ? "open" : "done",
      position: n,
    });
}

async function create(table: string, json: object, as = app): Promise<string> {
  const created = await service.call(as, `/v1/data/db/${table}`, { method: "POST", json });
  expect([created.status, created.text]).toEqual([201, expect.any(String)]);
  return (created.json as { id: string }).id;
}

const get = (path: string, headers: Record<string, string> = {}, as = app) =>
  service.call(as, `/v1/data/db/${path}`, { headers });

/** A path with the ids of the calling app: `$ann`. */
const fill = (path: string, as = app) =>
  path.replaceAll(/\$(\w+)/g, (_, name: keyof Ids) => ids.get(as)?.[name] ?? "");

async function list(query: string, as = app): Promise<number[]> {
  const { status, json, text } = await get(`items?${fill(query, as)}`, {}, as);
  expect([status, text]).toEqual([200, expect.any(String)]);
  const { rows, next } = json as { rows: { title: string }[]; next: string | null };
  expect(next).toBeNull();
  return rows.map(({ title }) => Number(title.slice(5)));
}

/** Names, quotes and nulls; query_fuzz_test.ts draws the others. */
const FOUND: readonly (readonly [query: string, found: readonly number[]])[] = [
  ["project.vendor=eq.$ann", [0, 3]],
  ["project.vendor=not.eq.$ann", [2]],
  ["project.vendor=is.null", [1, 5]],
  ["project.id=eq.$garden", [1, 5]],
  ["project.limit=eq.5", [0, 3]],
  ["project.limit=gt.5&select=title,project(name)", [2]],
  ["project.eq=eq.same", [0, 3]],
  ["project.Not=eq.true", [0, 3]],
  ["or=(project.Not.eq.true,project.Not.not.is.null)", [0, 3]],
  ["or=(project.vendor.eq.$ann,position.eq.5)", [0, 3, 5]],
  ["or=(project.vendor.eq.$ann,backup.limit.eq.9)", [0, 2, 3, 4]],
  ["not.and=(project.name.eq.House,status.eq.open)", [1, 2, 3, 4, 5]],
  ["not.or=(not.and(project.name.eq.House,status.eq.open))", [0]],
  ["project.vendor.name=eq.Ann", [0, 3]],
  ['project.vendor.name=eq.Bob, (x) "y"', [2]],
  ['or=(project.vendor.name.eq."Bob, (x) \\"y\\"",project.vendor.code.eq.1)', [0, 2, 3]],
  ["project.parent.name=eq.House&project.vendor=is.null", [1, 5]],
  ["project.vendor=eq.$ann&order=position.desc", [3, 0]],
  ["project.vendor=eq.01900000-0000-7000-8000-000000000000", []],
];

test.each(FOUND)("%s", async (query, found) => {
  expect(await list(query)).toEqual(found.slice());
  expect(await list(query, other)).toEqual(found.slice());
  const path = `items?${fill(query)}`;
  const { headers, json } = await get(path, { prefer: "count=exact" });
  if (!query.includes("offset")) expect(json).toMatchObject({ count: found.length });
  const tagged = { prefer: "count=exact", "if-none-match": headers.get("etag") ?? "" };
  expect((await get(path, tagged)).status).toBe(304);
  if (/order|select/.test(query)) return;
  const { json: groups } = await get(`items/groups?${fill(query)}`);
  expect(groups).toEqual({ groups: [{ by: {}, count: found.length }] });
});

test("rows enter and leave as referenced rows change", async () => {
  const path = fill("items?project.vendor=eq.$bob&select=title");
  const before = await get(path);
  const tag = before.headers.get("etag") ?? "";
  const change = async (vendor: string | undefined) =>
    await service.call(app, fill("/v1/data/db/projects/$garden"), {
      method: "PATCH",
      json: { vendor: vendor ?? null },
    });
  await change(ids.get(app)?.bob);
  const after = await get(path, { "if-none-match": tag });
  expect(after.json).toMatchObject({
    rows: [{ title: "Item 1" }, { title: "Item 2" }, { title: "Item 5" }],
  });
  await change(undefined);
  expect((await get(path, { "if-none-match": tag })).status).toBe(304);
});

testUnlessCitus("changes a table by hand on one server")(
  "another app's rows are as if they did not exist",
  async () => {
    const foreign = ids.get(other);
    expect(await list(`project.vendor=eq.${foreign?.ann}`)).toEqual([]);
    expect(await list(`project.id=eq.${foreign?.house}`)).toEqual([]);
    expect(await list(`project.vendor=neq.${foreign?.ann}`)).toEqual([0, 2, 3]);
    // A row that no write accepts: it refers to a row of another app.
    const { admin } = service.service;
    const write = (text: string) =>
      admin.message(`
    alter table data.items no force row level security;
    alter table data.items disable trigger all;
    ${text};
    alter table data.items enable trigger all;
    alter table data.items force row level security`);
    const { json } = await get("items?title=eq.Item 4");
    const id = (json as { rows: { id: string }[] }).rows[0]?.id;
    await write(`update data.items set project = '${foreign?.house}' where id = '${id}'`);
    expect(await list("project.name=eq.House")).toEqual([0, 3]);
    expect(await list("or=(project.vendor.is.null,project.vendor.not.is.null)")).not.toContain(4);
    await write(`update data.items set project = null where id = '${id}'`);
  },
);

const REJECTED = [
  "items?project.nothing=eq.1",
  "items?project.app_id=eq.1",
  "items?project.=eq.1",
  "items?title.name=eq.1",
  "items?nothing.name=eq.1",
  "items?vendors.name=eq.Ann",
  "projects?items.title=eq.x",
  "items?project.name=House",
  "items?project.vendor=eq.Ann",
  "items?project.name=eq.x&project.budget=like.x&project.limit=eq.1.5&titel=eq.x",
  "items?or=(project.nothing.eq.1,project.name.is.true)",
  "items?or=(project.name.5)",
  "items?or=(project.vendor)",
  "items?or=(title.name.eq.5)",
  "items?project.parent.vendor.name=eq.Ann",
  "items?or=(project.parent.vendor.name.eq.Ann)",
  "items?project.name=eq.a&backup.name=eq.a&or=(project.name.eq.a,position.eq.1)&not.and=(backup.limit.eq.1,position.eq.1)",
  "items?order=project.name",
  "items?select=project.name",
  "items?project.order=name",
  "items?select=project(id)&project.order=name",
  "items/groups?by=project.name",
  "items/groups?project.nothing=eq.1",
];

test("rejections name every issue", async () => {
  const found: string[] = [];
  for (const path of REJECTED) {
    const { status, json } = await get(path);
    expect([path, status]).toEqual([path, 400]);
    const { error, message } = json as { error: string; message: string };
    found.push(`${path}\n  ${error}: ${message}`);
  }
  expectSentences(found.join("\n"), {});
});

test("a referenced table that the app has left looks like one that does not exist", async () => {
  const { status, json } = await get("items?vendor.name=eq.Ann");
  expect([status, (json as { error: string }).error]).toEqual([400, "invalid_query"]);
});
