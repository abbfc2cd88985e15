/**
 * The plans inside the generated functions, from auto_explain. Every scan of an app's table uses an index condition on
 * app_id and on the searched columns, regardless of the planner's statistics.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { functionOf } from "../support/functions.ts";
import { openExplained, type PlanNode } from "../support/plans.ts";
import { proofOf } from "../support/proof.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  projects: { name: t.string().required().unique() },
  todos: t
    .model({
      title: t.string().required(),
      kind: t.enum(["a", "b", "c"]).index(),
      rank: t.number().index(),
      project: t.ref("projects", { onDelete: "cascade" }),
      origin: t.ref("projects"),
      changed: t.timestamp().default("now").onUpdate("now"),
      // Citus has no such reference.
      former: t.ref("projects", citusUrl() === undefined ? { onDelete: "set null" } : {}),
      after: t.ref("todos", { onDelete: "cascade" }),
    })
    .unique("project", "title"),
});
const APPS = 50;
const ROWS = 1000;
const FIRST = "00000000-0000-7000-8000-000000000001";
/** Of rows that all had the same reference, PostgreSQL would know that its index finds all rows of the app. */
const SECOND = "00000000-0000-7000-8000-000000000002";

const service = await share(openTestService());
const app = await service.makeApp(schema);

type SqlCall = { name: string; text: string; rejected?: boolean };

/** A distributed database has no functions for groups. */
const isThere = ({ text }: SqlCall) => citusUrl() === undefined || !/create_group/.test(text);

const CALLS = ({ id, key }: TestApp, fresh: string): SqlCall[] => {
  const proof = proofOf(key);
  const twoIds = () => `'{${crypto.randomUUID()},${crypto.randomUUID()}}'`;
  return [
    {
      name: "list",
      text: `select api.${functionOf(schema, "todos", "list")}('${id}', ${proof}, 1000, 0, 8388608, 'page', null)`,
    },
    {
      name: "a page of the list",
      text: `select api.${functionOf(schema, "todos", "list")}('${id}', ${proof}, 10, 500, 8388608, 'page', null)`,
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
      text: `select api.${functionOf(schema, "todos", "create_many")}('${id}', ${proof}, ${twoIds()}, '[{"title":"one ${fresh}","project":"${fresh}"},{"title":"two ${fresh}"}]', 8388608, null)`,
    },
    {
      name: "create_group",
      text: `select api.${functionOf(schema, "todos", "create_group")}('${id}', ${proof}, ${twoIds()}, '[{"title":"three ${fresh}","project":"${fresh}"},{"title":"four ${fresh}"}]', 8388608, null)`,
    },
    {
      name: "a group with separate attempts for each row",
      text: `select api.${functionOf(schema, "todos", "create_group")}('${id}', ${proof}, ${twoIds()}, '[{"title":"five ${fresh}"},{"title":"one ${fresh}","project":"${fresh}"}]', 8388608, null)`,
    },
    {
      name: "a batch with separate attempts for each row",
      text: `select api.${functionOf(schema, "todos", "create_many")}('${id}', ${proof}, ${twoIds()}, '[{"title":"last ${fresh}"},{"title":"one ${fresh}","project":"${fresh}"}]', 8388608, null)`,
      rejected: true,
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
      name: "a cascading delete",
      text: `select api.${functionOf(schema, "projects", "delete")}('${id}', ${proof}, '${fresh}', null)`,
    },
  ];
};

/** Returns the scans of apps' tables in every plan of a session that runs these calls. */
async function readScans(of: TestApp): Promise<{ call: string; scans: PlanNode[] }[]> {
  const session = await openExplained(service.database.adminUrl);
  const found: { call: string; scans: PlanNode[] }[] = [];
  const fresh = crypto.randomUUID();
  const project = await session.run(
    `select api.${functionOf(schema, "projects", "create")}('${of.id}', ${proofOf(of.key)}, '${fresh}', '{"name":"${fresh}"}', 8388608, null)`,
  );
  expect(project.done).toBe(true);
  for (const { name, text, rejected = false } of CALLS(of, fresh).filter(isThere)) {
    const { done, plans } = await session.run(text);
    expect([name, done]).toEqual([name, !rejected]);
    // PostgreSQL compiles an expensive plan in each call, which lasts a hundred times as long as the call.
    expect([name, plans.filter((plan) => plan.JIT !== undefined)]).toEqual([name, []]);
    found.push({ call: name, scans: plans.flatMap(({ Plan }) => findScans(Plan)) });
  }
  await session.end();
  return found;
}

function findScans(node: PlanNode): PlanNode[] {
  const own =
    // These nodes read the input and output of a batch, not a table.
    /Scan/.test(node["Node Type"]) && !/Result|Subquery|Function|CTE/.test(node["Node Type"])
      ? [node]
      : [];
  // A node of Citus represents a statement on a shard, whose plan is logged separately.
  const isShard = node["Custom Plan Provider"] === "Citus Adaptive";
  return isShard ? [] : [...own, ...(node.Plans ?? []).flatMap(findScans)];
}

/** Returns scans that discard rows of other apps, or read all rows of the app to find one row. */
function findWasteful(found: { call: string; scans: PlanNode[] }[]): unknown[] {
  return found.flatMap(({ call, scans }) =>
    scans
      // The table has a single row without an app, found by its key.
      .filter(
        (scan) =>
          !/^tag_seed(_\d+)?$/.test(scan["Relation Name"] ?? "") ||
          !/is_only/.test(scan["Index Cond"] ?? ""),
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
insert into data.projects (app_id, id, name) select app_id, '${SECOND}', 'q' from data.projects;
insert into data.todos (app_id, id, title, kind, rank, project)
  select app_id, case when n = 1 then '${FIRST}' else gen_random_uuid() end::uuid, 'title ' || n, 'a', n, case n % 2 when 0 then '${FIRST}' else '${SECOND}' end::uuid
  from data.projects, generate_series(1, ${ROWS}) n where name = 'p' order by n returning id`);
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
    // Of a table that has lost its rows, its statistics still know the pages.
    await service.service.admin.message("truncate data.todos, data.projects; select 1");
    await service.service.admin.message(
      "insert into data.projects (app_id, id, name) select gen_random_uuid(), gen_random_uuid(), 'p' returning id",
    );
    await service.service.admin.message("analyze data.todos, data.projects; select 1");
    expect(findWasteful(await readScans(app))).toEqual([]);
    await service.service.admin.message("delete from data.projects returning id");
  });

  test("when 50 apps have 1,000 rows each, before and after ANALYZE", async () => {
    await seed(APPS);
    const before = await readScans(app);
    await service.service.admin.message("analyze data.todos, data.projects; select 1");
    const after = await readScans(app);
    expect([findWasteful(before), findWasteful(after)]).toEqual([[], []]);
    for (const { call, scans } of after)
      if (!/create|batch/.test(call)) expect([call, scans.length > 0]).toEqual([call, true]);
  });

  test("when one app has nearly all rows", async () => {
    await service.service.admin.message(
      `delete from data.todos where app_id <> '${app.id}' returning id`,
    );
    await service.service.admin.message("analyze data.todos; select 1");
    expect(findWasteful(await readScans(app))).toEqual([]);
  });
});
