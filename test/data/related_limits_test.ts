/** Related rows at the limits of a response, after a push and in calls of an attacker with a serving login. */
import { expect } from "bun:test";
import postgres from "postgres";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { functionOf, renderCall, setOf } from "../support/functions.ts";
import { proofOf } from "../support/proof.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({
  projects: { name: t.string().required() },
  todos: t.model({ title: t.string(), project: t.ref("projects") }).index("title"),
});
const SECRET = "the other app's title";
const LIMIT = 20_000;

const testOne = testUnlessCitus("a cluster has no query functions");
const ids: { project: string; todo: string; otherProject: string } = {
  ...{ project: "", todo: "", otherProject: "" },
};
const limits = { maxResponseBytes: LIMIT };
const service = await share(openTestService({ service: { previews: ["filters"], ...limits } }));
const [app, other] = [await service.makeApp(schema), await service.makeApp(schema)];
ids.project = await create(app, "projects", { name: "mine" });
ids.otherProject = await create(other, "projects", { name: SECRET });
ids.todo = await create(app, "todos", { title: "mine", project: ids.project });
await create(other, "todos", { title: SECRET, project: ids.otherProject });

async function create(as: TestApp, table: string, json: object): Promise<string> {
  const created = await service.call(as, `/v1/data/db/${table}`, { method: "POST", json });
  expect([created.status, created.text]).toEqual([201, expect.any(String)]);
  return (created.json as { id: string }).id;
}

testOne("no call of an attacker finds another app's rows", async () => {
  const login = postgres(service.database.servingUrl, { max: 1, prepare: false });
  const name = { name: "x", bytes: 1_000_000 };
  const sort = [["id", false, false]];
  const up = { set: setOf(schema, "projects"), picked: ["id", "name"], of: 1, ...name };
  const down = {
    set: setOf(schema, "todos"),
    picked: ["id", "title"],
    by: "project",
    sort,
    limit: 5,
    ...name,
  };
  const related = (of: unknown) => ["todos", of] as const;
  const children = (of: unknown) => ["projects", of] as const;
  const CALLS: readonly (readonly [table: string, relation: unknown])[] = [
    related(up),
    related({ ...up, picked: ["other", 0, "app_id"] }),
    related({ ...up, picked: ["id) or (true"] }),
    related({ ...up, related: [{ ...down, by: "id" }] }),
    related({ ...up, related: [{ ...up, set: "pg_read_file" }] }),
    related(null),
    related([]),
    children(down),
    ...["title", "id", 0, "other", "app_id", null, "id) or (true", ["project"]].map((by) =>
      children({ ...down, by }),
    ),
    ...[
      [],
      null,
      [["other", false]],
      [["id desc, (select 1)"]],
      [["id", "true) --"]],
      "id",
      [["id.start"]],
    ].map((keys) => children({ ...down, sort: keys })),
    children({ ...down, picked: ["other", 0] }),
    children({ ...down, limit: null }),
    children({ ...down, limit: -1 }),
    children({ ...down, limit: 1_000_000 }),
    children({ ...down, bytes: null }),
    related(down),
    related({ ...up, of: 99 }),
    related({ ...up, of: null }),
    related({ ...up, name: null }),
    related({ ...up, name: `"},{"` }),
    related({ ...up, set: functionOf(schema, "todos", "delete") }),
    related({ ...up, set: "x'; drop table data.todos; --" }),
    related({ ...up, set: `${setOf(schema, "projects")}\n` }),
    related({ ...up, set: null }),
    related({}),
  ];
  const found: string[] = [];
  for (const [table, relation] of CALLS) {
    const plan = {
      ...{ limit: 10, offset: 0, cursor: "id.asc", order: ["id"], picked: ["id"] },
      ...{ where: ["lte", "id", 1], parts: [{ sort }], related: [relation] },
    };
    const rows = await login
      .unsafe(
        `select ${renderCall(schema, table, "find", { app: "$1::uuid", proof: proofOf(app.key), values: "$2, array['ffffffff-ffff-ffff-ffff-ffffffffffff'], 8388608, ''" })} as body`,
        [app.id, JSON.stringify(plan)],
      )
      .catch((error: Error) => [{ body: `error ${error.message}` }]);
    found.push(String(rows[0]?.["body"]));
  }
  await login.end();
  expect(found.filter((body) => body.includes(SECRET))).toEqual([]);
  for (const [at, [called]] of CALLS.entries())
    if (CALLS.findIndex(([other]) => other === called) === at) expect(found[at]).toContain("mine");
  expect(found[CALLS.length - 1]).toStartWith("error");
  const [count] = await service.service.admin.query<{ count: number }>(
    "select count(*)::int4 as count from data.todos",
    [],
    { retry: "safe", queue: "service" },
  );
  expect(count?.count).toBe(2);
});

testOne("a page ends before a row whose related rows do not fit", async () => {
  const large = await create(app, "projects", { name: "x".repeat(9000) });
  const todos: string[] = [];
  for (let n = 0; n < 6; n++)
    todos.push(
      await create(app, "todos", { title: `large ${n}`, project: n < 3 ? large : ids.project }),
    );
  const list = async (path: string) => await service.call(app, `/v1/data/db/${path}`);
  const seen: string[] = [];
  let after = "";
  for (let page = 0; page < 10; page++) {
    const { status, json, text } = await list(
      `todos?select=id,project(name)&title=like.large*&order=title${after}`,
    );
    expect([status, text.length]).toEqual([200, expect.any(Number)]);
    expect(text.length).toBeLessThan(2 * LIMIT);
    const { rows, next } = json as { rows: { id: string }[]; next: string | null };
    seen.push(...rows.map(({ id }) => id));
    if (next === null) break;
    after = `&after=${next}`;
  }
  expect(seen).toEqual(todos);
  // The lists of both projects together exceed a response, that of the second alone does not.
  const lists = await list("projects?select=todos(title)&limit=2");
  expect(lists.status).toBe(200);
  const huge = await create(app, "projects", { name: "y".repeat(15_000) });
  const of = await create(app, "todos", { title: "huge", project: huge });
  for (let n = 0; n < 2; n++)
    await create(app, "todos", { title: "z".repeat(12_000), project: huge });
  expect((await list("todos?select=project(name)&title=eq.huge")).status).toBe(200);
  const rejected = await list(`projects?select=id,todos(title)&id=eq.${huge}`);
  expect([rejected.status, rejected.json]).toEqual([
    500,
    expect.objectContaining({ error: "response_too_large" }),
  ]);
  const path = `projects?select=id,todos(id)&id=eq.${huge}`;
  expect((await list(path)).json).toMatchObject({
    rows: [{ todos: { rows: [{ id: of }, {}, {}] } }],
  });
});

testOne("a list follows a push of the related table by another process", async () => {
  const lists = [
    { path: "todos?select=project(name)&title=eq.mine", table: "projects" },
    { path: "projects?select=todos(title)&name=eq.mine", table: "todos" },
  ] as const;
  const before = await Promise.all(
    lists.map(({ path }) => service.call(app, `/v1/data/db/${path}`)),
  );
  const projects = { name: t.string().required(), color: t.string() };
  const todo = { title: t.string(), project: t.ref("projects") };
  // Each push changes only the related table.
  const pushes = [
    defineSchema({ projects, todos: t.model(todo).index("title") }),
    defineSchema({ projects, todos: t.model({ ...todo, color: t.string() }).index("title") }),
  ];
  for (const [index, { path, table }] of lists.entries()) {
    await service.pushSchema(app, pushes[index]);
    // As after the functions of the former columns were dropped.
    const former = functionOf(schema, table, "terms");
    await service.service.admin.message(`drop function api."${former}"; select 1`);
    const { status, json } = await service.call(app, `/v1/data/db/${path}`);
    expect([status, json]).toEqual([200, before[index]?.json]);
  }
  const { json: colored } = await service.call(
    app,
    "/v1/data/db/todos?select=project(name,color)&title=eq.mine",
  );
  expect(colored).toMatchObject({ rows: [{ project: { name: "mine", color: null } }] });
});
