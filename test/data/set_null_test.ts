/** References with onDelete "set null": a delete clears them, only in rows of its app, and no tag remains valid. */
import { afterAll, beforeAll, expect } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { postDefinition } from "../support/push.ts";
import {
  definitionOf,
  openTestService,
  type TestApp,
  type TestService,
} from "../support/service.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  areas: { name: t.string() },
  projects: { name: t.string(), area: t.ref("areas", { onDelete: "cascade" }) },
  todos: t
    .model({
      title: t.string(),
      project: t.ref("projects", { onDelete: "set null" }),
      before: t.ref("todos", { onDelete: "set null" }),
    })
    .unique("project", "title"),
  comments: { todo: t.ref("todos", { onDelete: "cascade" }).required() },
});
const TABLES = ["areas", "projects", "todos", "comments"];
const test = testUnlessCitus("Citus has no such reference");

let service: TestService;
beforeAll(async () => {
  if (citusUrl() === undefined) service = await openTestService();
});
afterAll(() => service?.close());

const pathOf = (table: string, id?: string) =>
  `/v1/data/db/${table}${id === undefined ? "" : `/${id}`}`;

async function create(app: TestApp, table: string, json: object): Promise<string> {
  const created = await service.call(app, pathOf(table), { method: "POST", json });
  expect(created.status).toBe(201);
  return (created.json as { id: string }).id;
}

const remove = (app: TestApp, table: string, id: string) =>
  service.call(app, pathOf(table, id), { method: "DELETE" });

/** Two areas, each with a project; a todo of each project, one of none, and a comment on each todo. */
async function fill(app: TestApp) {
  const [gone, kept] = [await create(app, "areas", { name: "1" }), await create(app, "areas", {})];
  const project = await create(app, "projects", { name: "in it", area: gone });
  const other = await create(app, "projects", { name: "in another", area: kept });
  const first = await create(app, "todos", { title: "a", project });
  const second = await create(app, "todos", { title: "a", project: other, before: first });
  const third = await create(app, "todos", { title: "a", before: second });
  for (const todo of [first, second, third]) await create(app, "comments", { todo });
  return { gone, project, first, second, third };
}

const readAll = (app: TestApp) =>
  Promise.all(TABLES.map(async (table) => (await service.call(app, pathOf(table))).text));

test("a delete clears references, also after a cascade, and keeps the rows and their app", async () => {
  const app = await service.makeApp(schema);
  const { gone, first, second, third } = await fill(app);
  expect(await remove(app, "areas", gone)).toMatchObject({ status: 204 });
  const read = async (id: string) => (await service.call(app, pathOf("todos", id))).json;
  // Its project was deleted by a cascade. Two rows without a project can have the same title.
  const cleared = { id: first, app_id: app.id, title: "a", project: null, before: null };
  expect(await read(first)).toEqual(cleared);
  expect(await remove(app, "todos", first)).toMatchObject({ status: 204 });
  expect(await read(second)).toMatchObject({ app_id: app.id, before: null });
  expect(await read(third)).toMatchObject({ before: second });
  expect((await service.call(app, pathOf("comments"))).json).toMatchObject({
    rows: [{ todo: second }, { todo: third }],
  });
});

test("tags of a row and of a page from before the delete are no longer valid", async () => {
  const app = await service.makeApp(schema);
  const { project, first } = await fill(app);
  const paths = [pathOf("todos", first), pathOf("todos")];
  const tags = new Map<string, string>();
  for (const path of paths) {
    const tag = (await service.call(app, path)).headers.get("etag") ?? "";
    tags.set(path, tag);
    const again = await service.call(app, path, { headers: { "if-none-match": tag } });
    expect(again.status).toBe(304);
  }
  await remove(app, "projects", project);
  for (const path of paths) {
    const read = await service.call(app, path, {
      headers: { "if-none-match": tags.get(path) ?? "" },
    });
    expect([read.status, read.text.includes(project)]).toEqual([200, false]);
  }
  const headers = { "if-match": tags.get(paths[0] ?? "") ?? "" };
  for (const method of ["PATCH", "DELETE"]) {
    const json = method === "PATCH" ? { json: { title: "b" } } : {};
    const write = await service.call(app, paths[0] ?? "", { method, headers, ...json });
    expect(write.status).toBe(412);
  }
});

test("a delete changes no row of another app, also with the same ids", async () => {
  const app = await service.makeApp(schema);
  const twin = await service.makeApp(schema);
  const { project, first, second, third } = await fill(app);
  const copies = definitionOf(schema).tables.map(({ name, columns }) => {
    const copied = ["id", ...columns.map((column) => column.name)].join();
    return `insert into data.${name} (app_id, ${copied})
      select '${twin.id}', ${copied} from data.${name} where app_id = '${app.id}'`;
  });
  // Not in the order of references.
  await service.service.admin.message(
    `set local session_replication_role = 'replica'; ${copies.join(";")}; select 1`,
  );
  const before = await readAll(twin);
  expect(before.join()).toContain(first);
  const own = await readAll(app);
  expect(before.map((text) => text.replaceAll(twin.id, app.id))).toEqual(own);
  await remove(app, "projects", project);
  for (const id of [second, first, third]) await remove(app, "todos", id);
  expect(await readAll(twin)).toEqual(before);
  expect(await readAll(app)).not.toEqual(own);
});

test("a push rejects a required reference that a delete would clear, in a new and in an existing table", async () => {
  const app = await service.makeApp();
  const definition = definitionOf(schema);
  const required = {
    ...definition,
    tables: definition.tables.map((table) => ({
      ...table,
      columns: table.columns.map((column) => ({
        ...column,
        required: column.required || column.name === "project",
      })),
    })),
  };
  for (const sent of [required, definition, required]) {
    const pushed = await postDefinition(service, app, sent);
    expect(pushed.status).toBe(sent === required ? 422 : 200);
    if (sent !== required) continue;
    const message = 'Cannot use onDelete "set null" on a required reference: leave out .required()';
    const details = [{ path: "/steps/0/definition/todos/project", message }];
    expect(pushed.json).toMatchObject({ error: "invalid_schema", details });
  }
});
