/**
 * The plans that really run inside the generated functions, as auto_explain tells them: every scan of an app's table
 * is driven by an index condition on app_id, and on what is looked up, whatever the planner knows of the table.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { defineSchema, t } from "../../src/dsl/mod.ts";
import { functionOf } from "../support/functions.ts";
import { proofOf } from "../support/proof.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const schema = defineSchema({
  projects: { name: t.string().required().unique() },
  todos: t
    .model({
      title: t.string().required(),
      kind: t.enum(["a", "b", "c"]).index(),
      rank: t.number().index(),
      project: t.ref("projects", { onDelete: "cascade" }),
      origin: t.ref("projects"),
      after: t.ref("todos", { onDelete: "cascade" }),
    })
    .unique("project", "title"),
});
const APPS = 100;
const ROWS = 1000;
const FIRST = "00000000-0000-7000-8000-000000000001";

let service: TestService;
let app: TestApp;
beforeAll(async () => {
  service = await openTestService();
  app = await service.makeApp(schema);
});
afterAll(() => service.close());

type Node = {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Cond"?: string;
  "Recheck Cond"?: string;
  Plans?: Node[];
};

type SqlCall = { name: string; text: string; refused?: boolean };

const CALLS = ({ id, key }: TestApp, fresh: string): SqlCall[] => {
  const proof = proofOf(key);
  return [
    {
      name: "list",
      text: `select api.${functionOf(schema, "todos", "list")}('${id}', ${proof}, 1000, 0, 8388608, null, null)`,
    },
    {
      name: "a page of the list",
      text: `select api.${functionOf(schema, "todos", "list")}('${id}', ${proof}, 10, 500, 8388608, null, null)`,
    },
    {
      name: "get",
      text: `select api.${functionOf(schema, "todos", "get")}('${id}', ${proof}, '${FIRST}', 8388608)`,
    },
    {
      name: "create",
      text: `select api.${functionOf(schema, "todos", "create")}('${id}', ${proof}, '${fresh}', '{"title":"${fresh}","project":"${fresh}"}', 8388608, null)`,
    },
    {
      name: "create_many",
      text: `select api.${functionOf(schema, "todos", "create_many")}('${id}', ${proof}, array[gen_random_uuid(), gen_random_uuid()], '[{"title":"one ${fresh}","project":"${fresh}"},{"title":"two ${fresh}"}]', 8388608, null)`,
    },
    {
      name: "a batch that is tried row by row",
      text: `select api.${functionOf(schema, "todos", "create_many")}('${id}', ${proof}, array[gen_random_uuid(), gen_random_uuid()], '[{"title":"last ${fresh}"},{"title":"one ${fresh}","project":"${fresh}"}]', 8388608, null)`,
      refused: true,
    },
    {
      name: "update",
      text: `select api.${functionOf(schema, "todos", "update")}('${id}', ${proof}, '${FIRST}', '{"title":"new ${fresh}","kind":"b"}', 8388608, null, null)`,
    },
    {
      name: "delete",
      text: `select api.${functionOf(schema, "todos", "delete")}('${id}', ${proof}, '${fresh}', null)`,
    },
    {
      name: "a delete that cascades",
      text: `select api.${functionOf(schema, "projects", "delete")}('${id}', ${proof}, '${fresh}', null)`,
    },
  ];
};

/** Every plan of a session that runs these calls, with the scans of apps' tables in it. */
async function readScans(of: TestApp): Promise<{ call: string; scans: Node[] }[]> {
  const notices: string[] = [];
  const sql = postgres(service.database.adminUrl, {
    max: 1,
    prepare: false,
    onnotice: (notice) => void notices.push(notice["message"] ?? ""),
  });
  await sql.unsafe(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
set auto_explain.log_format = json; set auto_explain.log_level = notice; set client_min_messages = notice`);
  const found: { call: string; scans: Node[] }[] = [];
  const fresh = crypto.randomUUID();
  await sql.unsafe(
    `select api.${functionOf(schema, "projects", "create")}('${of.id}', ${proofOf(of.key)}, '${fresh}', '{"name":"${fresh}"}', 8388608, null)`,
  );
  for (const { name, text, refused = false } of CALLS(of, fresh)) {
    notices.length = 0;
    const done = await sql.unsafe(text).then(
      () => true,
      () => false,
    );
    expect([name, done]).toEqual([name, !refused]);
    const plans = notices
      .filter((notice) => notice.includes('"Plan":'))
      .map(
        (notice) => JSON.parse(notice.slice(notice.indexOf("{"))) as { Plan: Node; JIT?: unknown },
      );
    // A plan that looks dear is compiled to machine code in each call, which takes a hundred times as long as the call.
    expect([name, plans.filter((plan) => plan.JIT !== undefined)]).toEqual([name, []]);
    found.push({ call: name, scans: plans.flatMap(({ Plan }) => findScans(Plan)) });
  }
  await sql.end();
  return found;
}

function findScans(node: Node): Node[] {
  const own =
    // The last two read what a batch sends and returns, and no table.
    /Scan/.test(node["Node Type"]) && !/Result|Subquery|Function|CTE/.test(node["Node Type"])
      ? [node]
      : [];
  return [...own, ...(node.Plans ?? []).flatMap(findScans)];
}

/** Scans that read rows of other apps to throw them away, or all of the app's rows to find one. */
function findWasteful(found: { call: string; scans: Node[] }[]): unknown[] {
  return found.flatMap(({ call, scans }) =>
    scans
      // It has one row, of no app, which is found by its key.
      .filter(
        (scan) => scan["Relation Name"] !== "tag_seed" || !/is_only/.test(scan["Index Cond"] ?? ""),
      )
      .filter((scan) => {
        const condition = scan["Index Cond"] ?? scan["Recheck Cond"] ?? "";
        return !/app_id/.test(condition) || (!/list/.test(call) && !/ AND /.test(condition));
      })
      .map((scan) => ({ call, scan })),
  );
}

async function seed(apps: number): Promise<void> {
  await service.service.admin.message(`
insert into data.projects (app_id, id, name) select case when a = 0 then '${app.id}'::uuid else gen_random_uuid() end, '${FIRST}', 'p' from generate_series(0, ${apps - 1}) a;
insert into data.todos (app_id, id, title, kind, rank, project)
  select app_id, case when n = 1 then '${FIRST}' else gen_random_uuid() end::uuid, 'title ' || n, 'a', n, '${FIRST}'
  from data.projects, generate_series(1, ${ROWS}) n order by n returning id`);
}

describe("the functions scan by app_id", () => {
  test("when the table is new and empty", async () => {
    const found = await readScans(app);
    expect(found.filter(({ scans }) => scans.length > 0).map(({ call }) => call)).toEqual(
      expect.arrayContaining(["list", "get", "update", "delete"]),
    );
    expect(findWasteful(found)).toEqual([]);
  });

  test("when the planner believes that the table is tiny", async () => {
    await service.service.admin.message(
      "delete from data.todos; delete from data.projects returning id",
    );
    await seed(1);
    await service.service.admin.message("analyze data.todos, data.projects; select 1");
    expect(findWasteful(await readScans(app))).toEqual([]);
    await service.service.admin.message(
      "delete from data.todos; delete from data.projects returning id",
    );
    await service.service.admin.message(
      "insert into data.projects (app_id, id, name) select gen_random_uuid(), gen_random_uuid(), 'p' returning id",
    );
    await service.service.admin.message("analyze data.todos, data.projects; select 1");
    expect(findWasteful(await readScans(app))).toEqual([]);
    await service.service.admin.message("delete from data.projects returning id");
  });

  test("when 100 apps have 1,000 rows each, before and after ANALYZE", async () => {
    await seed(APPS);
    const before = await readScans(app);
    await service.service.admin.message("analyze data.todos, data.projects; select 1");
    const after = await readScans(app);
    expect([findWasteful(before), findWasteful(after)]).toEqual([[], []]);
    for (const { call, scans } of after)
      if (!/create|batch/.test(call)) expect([call, scans.length > 0]).toEqual([call, true]);
  }, 20_000);

  test("when one app has nearly all rows", async () => {
    await service.service.admin.message(
      `delete from data.todos where app_id <> '${app.id}' returning id`,
    );
    await service.service.admin.message("analyze data.todos; select 1");
    expect(findWasteful(await readScans(app))).toEqual([]);
  });
});
