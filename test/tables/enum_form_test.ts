/** Changes of an enum with indexes: each value has an index of its own while there are at most eight. */
import { expect } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeIsolationCheck } from "../../src/tables/catalog/mod.ts";
import { readDrift, resumeDeferredSteps } from "../../src/tables/mod.ts";
import { eventually } from "../support/eventually.ts";
import { postChange, postSchema } from "../support/push.ts";
import { pushDefinition } from "../support/push_steps.ts";
import { definitionOf, openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";
import { testUnlessCitus } from "../support/skip.ts";

const testOne = testUnlessCitus("a cluster has no query functions");
const VALUES = ["open", 'it\'s "x"\\', "done", "lost", "e", "f", "g"];

type Options = { values?: readonly string[]; required?: boolean };
const makeSchema = (name: string, { values = VALUES, required = false }: Options = {}) => {
  const status = t.enum(values as [string, ...string[]]);
  return defineSchema({
    [name]: t
      .model({ status: required ? status.required() : status, team: t.integer(), due_at: t.date() })
      .index("status", "due_at")
      .index("team", "status"),
  });
};

const service = await share(openTestService({ service: { previews: ["filters"], maxVisits: 20 } }));

async function makeTable(name: string, options: Options = {}): Promise<TestApp> {
  const app = await service.makeApp(makeSchema(name, options));
  const rows = Array.from({ length: 12 }, (_, n) => ({
    ...{ status: VALUES[n % 3], team: n, due_at: `2026-01-${10 + n}` },
  }));
  const { status } = await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: rows });
  expect(status).toBe(201);
  return app;
}

/** The indexes of the values of an enum. */
async function listLabels(table: string, columns = "status__due_at"): Promise<string[]> {
  const rows = await readRows<{ label: string }>(
    service.service.admin,
    `select pg_catalog.pg_get_expr(indpred, indrelid) as label from pg_catalog.pg_index
      join pg_catalog.pg_class on oid = indexrelid
    where indrelid = pg_catalog.to_regclass($1) and indisvalid and relname like $2 order by indexrelid`,
    [`data.${table}`, `${table}\\_\\_${columns}\\_\\_%`],
  );
  return rows.map(({ label }) => /= '(.*)'::data/.exec(label)?.[1] ?? label);
}

async function expectClean(): Promise<void> {
  await eventually(async () => {
    const [row] = await readRows<{ count: number }>(
      service.service.admin,
      "select count(*)::integer as count from rowhouse.deferred_steps where state <> 'done'",
    );
    return row?.count === 0;
  });
  expect(await readDrift(service.service.admin)).toEqual([]);
  const { issues } = await makeIsolationCheck(service.service.admin)();
  expect(issues).toEqual([]);
}

async function find(app: TestApp, table: string, query: string): Promise<unknown> {
  const { json, status } = await service.call(app, `/v1/data/db/${table}?${query}`);
  if (status !== 200) return (json as { error: string }).error;
  return (json as { rows: { team: number }[] }).rows.map(({ team }) => team);
}

async function expectApplied(answer: Promise<{ json: unknown; text: string }>): Promise<void> {
  const { json, text } = await answer;
  expect([json, text]).toEqual([expect.objectContaining({ status: "applied" }), text]);
  await expectClean();
}

testOne("a new value gets its index after the push, and its rows are found at once", async () => {
  const app = await makeTable("tasks");
  expect(await listLabels("tasks")).toEqual([
    ...VALUES.map((v) => v.replace("'", "''")),
    "(status IS NULL)",
  ]);
  const grown = [...VALUES.slice(0, 2), "new", ...VALUES.slice(2)];
  const answer = await postSchema(service, app, makeSchema("tasks", { values: grown }));
  expect(answer.json).toMatchObject({ status: "applied" });
  await service.call(app, "/v1/data/db/tasks", {
    method: "POST",
    json: { status: "new", team: 99 },
  });
  // The index may not be built yet.
  expect(await find(app, "tasks", "team=eq.99&order=due_at")).toEqual([99]);
  expect(await find(app, "tasks", "status=eq.new&order=due_at")).toEqual([99]);
  await expectClean();
  expect(await listLabels("tasks")).toHaveLength(9);
  expect(await find(app, "tasks", "status=eq.new&order=due_at")).toEqual([99]);
  expect(await find(app, "tasks", "status=eq.open&order=due_at.desc&limit=2")).toEqual([9, 6]);
});

testOne("an enum of more than eight values has one index, until a value is dropped", async () => {
  const app = await makeTable("growing", { values: [...VALUES, "h"] });
  expect(await listLabels("growing")).toHaveLength(9);
  await expectApplied(
    postSchema(service, app, makeSchema("growing", { values: [...VALUES, "h", "i"] })),
  );
  expect(await listLabels("growing")).toEqual(["(status IS NOT NULL)"]);
  expect(await listLabels("growing", "team__status")).toEqual([
    "((team IS NULL) OR (team IS NOT NULL))",
  ]);
  expect(await find(app, "growing", "team=eq.3")).toEqual([3]);
  const drop = { kind: "drop_value", table: "growing", column: "status" };
  await expectApplied(postChange(service, app, { ...drop, value: "i" }));
  expect(await listLabels("growing")).toHaveLength(9);
  await expectApplied(postChange(service, app, { ...drop, value: "h" }));
  expect(await listLabels("growing")).toHaveLength(8);
  expect(await find(app, "growing", "status=eq.done&order=due_at")).toEqual([2, 5, 8, 11]);
  // A value that was dropped, again.
  await expectApplied(
    postSchema(service, app, makeSchema("growing", { values: [...VALUES, "h"] })),
  );
  expect(await listLabels("growing")).toHaveLength(9);
});

testOne("the indexes follow a rename, a retype, and whether the enum is required", async () => {
  const app = await makeTable("moving");
  const rename = { kind: "rename_column", table: "moving", column: "status", to: "state" };
  await expectApplied(postChange(service, app, rename));
  expect(await listLabels("moving", "state__due_at")).toHaveLength(8);
  expect(await find(app, "moving", "state=eq.done&order=due_at&limit=2")).toEqual([2, 5]);
  await expectApplied(postChange(service, app, { ...rename, column: "state", to: "status" }));
  await expectApplied(
    postChange(service, app, { kind: "rename_table", table: "moving", to: "moved" }),
  );
  expect(await listLabels("moved")).toHaveLength(8);
  expect(await find(app, "moved", "status=eq.done&order=due_at&limit=2")).toEqual([2, 5]);
  await expectApplied(postSchema(service, app, makeSchema("moved", { required: true })));
  expect(await listLabels("moved")).toEqual(VALUES.map((v) => v.replace("'", "''")));
  await expectApplied(postSchema(service, app, makeSchema("moved")));
  expect(await listLabels("moved")).toHaveLength(8);
  const retype = { kind: "retype_column", table: "moved", column: "status" };
  await expectApplied(postChange(service, app, { ...retype, type: { kind: "string" } }));
  expect(await find(app, "moved", "status=eq.done&order=due_at&limit=2")).toEqual([2, 5]);
  const type = { kind: "enum", values: VALUES };
  await expectApplied(postChange(service, app, { ...retype, type }));
  expect(await listLabels("moved")).toHaveLength(8);
  expect(await find(app, "moved", "status=eq.done&order=due_at&limit=2")).toEqual([2, 5]);
  await expectApplied(
    postChange(service, app, { kind: "drop_column", table: "moved", column: "status" }),
  );
});

testOne(
  "large tables build the index of each value after the push, also a shared table's",
  async () => {
    const plain = defineSchema({
      jobs: { status: t.enum(VALUES as [string]), team: t.integer(), due_at: t.date() },
    });
    const app = await service.makeApp(plain);
    await service.makeApp(plain);
    const push = async (schema: unknown) => {
      const result = await pushDefinition(
        { admin: service.pushing, log: () => undefined },
        { app, definition: definitionOf(schema), options: { dryRun: false, largeTablePages: 0 } },
      );
      await result.deferred;
      await expectClean();
    };
    await push(makeSchema("jobs"));
    const labels = await listLabels("jobs");
    expect(labels).toHaveLength(8);
    expect(await readSteps(app, "status")).toHaveLength(16);
    await push(makeSchema("jobs", { values: [...VALUES, "h", "i"] }));
    expect(await listLabels("jobs")).toHaveLength(1);
  },
);

testOne("a build of a value whose index is no longer wanted ends", async () => {
  const app = await makeTable("late");
  await service.service.admin.message(
    `insert into rowhouse.deferred_steps (app_id, table_name, kind, name, columns)
    values ('${app.id}', 'late', 'index', 'late__status__due_at__000000_idx', '["status", "due_at"]');
    create index late__status__due_at__000000_idx on data.late (app_id) where status = 'open'; select 1`,
  );
  await resumeDeferredSteps({ admin: service.pushing, log: () => undefined });
  await expectClean();
  expect(await listLabels("late")).toHaveLength(8);
});

async function readSteps(app: TestApp, column: string): Promise<unknown[]> {
  const { json } = await service.call(app, "/v1/data/schema");
  const { deferredSteps } = json as { deferredSteps: { columns: string[] }[] };
  return deferredSteps.filter(({ columns }) => columns.includes(column));
}
