/** Related rows in lists, with the preview on: both directions, their options and limits, tags, and rejections. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { expectSentences } from "../support/sentences.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  vendors: { name: t.string().required() },
  projects: t
    .model({
      name: t.string().required(),
      vendor: t.ref("vendors"),
      parent: t.ref("projects"),
      budget: t.decimal(),
    })
    .index("vendor", "name"),
  todos: t
    .model({
      title: t.string().required(),
      project: t.ref("projects"),
      status: t.enum(["open", "done"]).required().default("open"),
      due_at: t.timestamp(),
      position: t.timestamp().required(),
      // A column wins over a table of its name.
      notes: t.string(),
    })
    .index("project", "due_at")
    .index("project", "position", "title"),
  notes: { todo: t.ref("todos").required(), text: t.string() },
  matches: {
    home: t.ref("vendors").required(),
    away: t.ref("vendors").required(),
    score: t.number(),
  },
});

let ids: Record<"ann" | "bob" | "house" | "garden" | "empty", string>;
const todos: string[] = [];
const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const other = await service.makeApp(schema);
for (const as of [other, app]) {
  const ann = await create("vendors", { name: "Ann" }, as);
  const bob = await create("vendors", { name: 'Böb \u{1f642} "x"' }, as);
  const house = await create("projects", { name: "House", vendor: ann, budget: "1.50" }, as);
  const garden = await create("projects", { name: "Garden", parent: house }, as);
  const empty = await create("projects", { name: "Empty", vendor: bob }, as);
  ids = { ann, bob, house, garden, empty };
  todos.length = 0;
  for (let n = 0; n < 8; n++)
    todos.push(
      await create(
        "todos",
        {
          title: `Task ${n}`,
          project: n === 7 ? null : n < 5 ? house : garden,
          due_at: n % 2 === 0 ? null : `2026-01-0${9 - n}T00:00:00Z`,
          position: `2026-02-0${1 + (n % 3)}T00:00:00Z`,
        },
        as,
      ),
    );
  for (const n of [0, 0, 1]) await create("notes", { todo: todos[n], text: `On ${n}` }, as);
  await create("matches", { home: ann, away: bob, score: 1 }, as);
}

async function create(table: string, json: object, as = app): Promise<string> {
  const created = await service.call(as, `/v1/data/db/${table}`, { method: "POST", json });
  expect([created.status, created.text]).toEqual([201, expect.any(String)]);
  return (created.json as { id: string }).id;
}

type Found = { rows: Record<string, unknown>[]; limit: number; next: string | null };
const get = (path: string, headers: Record<string, string> = {}) =>
  service.call(app, `/v1/data/db/${path}`, { headers });

async function list(path: string): Promise<Found> {
  const { status, json, text } = await get(path);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return json as Found;
}

const titles = (row: unknown) => (row as { todos: Found }).todos.rows.map(({ title }) => title);

test("children are a list with its own limit and order", async () => {
  const { rows, limit } = await list("projects?select=name,todos(title)");
  expect(limit).toBe(47);
  expect(rows.map(titles)).toEqual([
    ["Task 0", "Task 1", "Task 2", "Task 3", "Task 4"],
    ["Task 5", "Task 6"],
    [],
  ]);
  expect(rows[2]).toEqual({ name: "Empty", todos: { rows: [], hasMore: false } });
});

test.each([
  ["todos.order=id.desc", [4, 3, 2, 1, 0]],
  ["todos.order=due_at", [3, 1, 0, 2, 4]],
  ["todos.order=due_at.desc", [1, 3, 4, 2, 0]],
  ["todos.order=due_at.desc&todos.limit=1", [1]],
  ["todos.order=due_at.desc&todos.limit=3", [1, 3, 4]],
  ["todos.order=project,due_at.desc&todos.limit=3", [1, 3, 4]],
  // In orders that no index has.
  ["todos.order=title.desc&todos.limit=2", [4, 3]],
  ["todos.order=due_at.desc,position", [1, 3, 0, 4, 2]],
  ["todos.order=position.desc,due_at.desc&todos.limit=4", [2, 1, 4, 3]],
  ["todos.order=position,due_at.desc", [3, 0, 1, 4, 2]],
  ["todos.order=project,position,id.desc", [3, 0, 4, 1, 2]],
  ["todos.order=position,title", [0, 3, 1, 4, 2]],
  ["todos.order=position.desc,title.desc&todos.limit=2", [2, 4]],
  ["todos.limit=0", []],
])("%s", async (options, found) => {
  const { rows } = await list(`projects?select=todos(title)&limit=1&${options}`);
  expect(rows[0]).toEqual({
    todos: { rows: found.map((n) => ({ title: `Task ${n}` })), hasMore: found.length < 5 },
  });
});

test("a table refers to itself, and twice to another", async () => {
  const own = await list("projects?select=name,parent(name),projects(name)&limit=2");
  expect(own.rows).toEqual([
    { name: "House", parent: null, projects: { rows: [{ name: "Garden" }], hasMore: false } },
    { name: "Garden", parent: { name: "House" }, projects: { rows: [], hasMore: false } },
  ]);
  const one = await list("vendors?select=matches!away(score)&order=id.desc&limit=1");
  expect(one.rows).toEqual([{ matches: { rows: [{ score: 1 }], hasMore: false } }]);
});

test("a selected related column changes the tag, another does not", async () => {
  const path = "todos?select=title,project(name)&order=title&limit=3";
  const tagOf = async () => (await get(path)).headers.get("etag") ?? "";
  const tag = await tagOf();
  expect((await get(path, { "if-none-match": tag })).status).toBe(304);
  const patch = (json: object) =>
    service.call(app, `/v1/data/db/projects/${ids.house}`, { method: "PATCH", json });
  await patch({ budget: "2.50" });
  expect((await get(path, { "if-none-match": tag })).status).toBe(304);
  await patch({ name: "Home" });
  const { status, json } = await get(path, { "if-none-match": tag });
  expect([status, (json as Found).rows[0]]).toEqual([
    200,
    { title: "Task 0", project: { name: "Home" } },
  ]);
  await patch({ name: "House", budget: "1.50" });
});

test("another app with the same tables has other rows", async () => {
  const { json } = await service.call(
    other,
    "/v1/data/db/projects?select=id,vendor(id),todos(id,project)",
  );
  const text = JSON.stringify(json);
  for (const id of [...Object.values(ids), ...todos]) expect(text).not.toContain(id);
  expect((json as Found).rows).toHaveLength(3);
});

testUnlessCitus("a node takes one statement of a message")(
  "a reference of another app's row, which no write accepts, is null",
  async () => {
    const query = "todos?select=title,project(id)&limit=1";
    const { json } = await service.call(other, `/v1/data/db/${query}`);
    const { id } = (json as { rows: { project: { id: string } }[] }).rows[0]?.project ?? { id: "" };
    const { admin } = service.service;
    const write = (text: string) =>
      admin.message(`
    alter table data.todos no force row level security;
    alter table data.todos disable trigger all;
    ${text};
    alter table data.todos enable trigger all;
    alter table data.todos force row level security`);
    await write(`update data.todos set project = '${id}' where id = '${todos[7]}'`);
    const { rows } = await list("todos?select=title,project(id,name)&title=eq.Task 7");
    expect(rows).toEqual([{ title: "Task 7", project: null }]);
    await write(`update data.todos set project = null where id = '${todos[7]}'`);
  },
);

const REJECTED = [
  "todos?select=id,projects(id)",
  "todos?select=title(id)",
  "todos?select=notes(id)",
  "todos?select=project(id,nam,app_id),titel&order=tilte",
  "todos?select=project!id(id)",
  "todos?select=project()",
  "todos?select=project(id",
  "todos?select=project(id))",
  "todos?select=project!id",
  "todos?select=id,project,project(id)",
  "todos?select=matches(id)",
  "vendors?select=matches(id)",
  "vendors?select=matches!score(id)",
  "vendors?select=matches!home(id),matches!away(id)",
  "vendors?select=id,stocks(id)",
  "vendors?select=id&stocks.limit=3",
  "projects?select=todos(id)&todos.limit=x&todos.order=nothing.asc,title.up",
  "projects?select=todos(id)&todos.offset=3",
  "projects?select=todos(id)&todos.status=eq.open",
  "projects?select=todos(id)&todos.limit=1&todos.limit=2",
  "todos?select=project(id)&project.limit=3",
  "todos?select=project(vendor(projects(id)))",
  "projects?select=todos(id)&limit=100",
  "projects?select=todos(id)&limit=100&todos.limit=10",
  "projects?select=todos(id)&todos.limit=1000",
  "vendors?select=projects(todos(id))&limit=3",
  "vendors?select=projects(todos(id))&projects.limit=100&projects.todos.limit=100",
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

test("limits that fit are accepted", async () => {
  for (const path of [
    "projects?select=todos(id)&limit=90&todos.limit=10",
    "projects?select=todos(id)&limit=1&todos.limit=999",
    "todos?select=id,project(id)&limit=1000",
    "projects?select=todos(id)&limit=0&todos.limit=1000",
  ])
    expect([path, (await get(path)).status]).toEqual([path, 200]);
});
