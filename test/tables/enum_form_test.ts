/** Changes of an enum with indexes: they keep its index, whatever its values are. */
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
const INDEXES = ["status__due_at__sorted_idx", "team__status__sorted_idx"];

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

const service = await share(openTestService({ service: { previews: ["filters"] } }));

async function makeTable(name: string, options: Options = {}): Promise<TestApp> {
  const app = await service.makeApp(makeSchema(name, options));
  const rows = Array.from({ length: 12 }, (_, n) => ({
    ...{ status: VALUES[n % 3], team: n, due_at: `2026-01-${10 + n}` },
  }));
  const { status } = await service.call(app, `/v1/data/db/${name}`, { method: "POST", json: rows });
  expect(status).toBe(201);
  return app;
}

/** Waits for the builds, and expects exactly these indexes, and no difference from the record. */
async function expectIndexes(table: string, indexes: readonly string[] = INDEXES): Promise<void> {
  const { admin } = service.service;
  await eventually(async () => {
    const [row] = await readRows<{ count: number }>(
      admin,
      "select count(*)::integer as count from rowhouse.deferred_steps where state <> 'done'",
    );
    return row?.count === 0;
  });
  const rows = await readRows<{ name: string }>(
    admin,
    `select relname as name from pg_catalog.pg_index join pg_catalog.pg_class on oid = indexrelid
    where indrelid = pg_catalog.to_regclass($1) and indisvalid and not indisprimary
    order by relname collate "C"`,
    [`data.${table}`],
  );
  expect(rows.map(({ name }) => name)).toEqual(indexes.map((name) => `${table}__${name}`));
  expect(await readDrift(admin)).toEqual([]);
  expect((await makeIsolationCheck(admin)()).issues).toEqual([]);
}

async function find(app: TestApp, table: string, query: string): Promise<unknown> {
  const { json, status } = await service.call(app, `/v1/data/db/${table}?${query}`);
  if (status !== 200) return (json as { error: string }).error;
  return (json as { rows: { team: number }[] }).rows.map(({ team }) => team);
}

async function expectApplied(answer: Promise<{ json: unknown; text: string }>): Promise<void> {
  const { json, text } = await answer;
  expect([json, text]).toEqual([expect.objectContaining({ status: "applied" }), text]);
}

testOne("a new value is found at once, and a dropped one can be added again", async () => {
  const app = await makeTable("tasks");
  await expectIndexes("tasks");
  const values = [...VALUES.slice(0, 2), "new", ...VALUES.slice(2), "h", "i"];
  await expectApplied(postSchema(service, app, makeSchema("tasks", { values })));
  const json = { status: "new", team: 99 };
  await service.call(app, "/v1/data/db/tasks", { method: "POST", json });
  expect(await find(app, "tasks", "status=eq.new&order=due_at")).toEqual([99]);
  expect(await find(app, "tasks", "status=eq.open&order=due_at.desc&limit=2")).toEqual([9, 6]);
  await expectIndexes("tasks");
  const drop = { kind: "drop_value", table: "tasks", column: "status", value: "i" };
  await expectApplied(postChange(service, app, drop));
  await expectIndexes("tasks");
  await expectApplied(postSchema(service, app, makeSchema("tasks", { values })));
  await expectIndexes("tasks");
});

testOne("the indexes follow a rename, a retype, and whether the enum is required", async () => {
  const app = await makeTable("moving");
  const rename = { kind: "rename_column", table: "moving", column: "status", to: "state" };
  await expectApplied(postChange(service, app, rename));
  await expectIndexes("moving", ["state__due_at__sorted_idx", "team__state__sorted_idx"]);
  expect(await find(app, "moving", "state=eq.done&order=due_at&limit=2")).toEqual([2, 5]);
  await expectApplied(postChange(service, app, { ...rename, column: "state", to: "status" }));
  await expectApplied(
    postChange(service, app, { kind: "rename_table", table: "moving", to: "moved" }),
  );
  await expectIndexes("moved");
  expect(await find(app, "moved", "status=eq.done&order=due_at&limit=2")).toEqual([2, 5]);
  await expectApplied(postSchema(service, app, makeSchema("moved", { required: true })));
  await expectApplied(postSchema(service, app, makeSchema("moved")));
  await expectIndexes("moved");
  const retype = { kind: "retype_column", table: "moved", column: "status" };
  await expectApplied(postChange(service, app, { ...retype, type: { kind: "string" } }));
  await expectIndexes("moved", ["status__due_at__search_idx", "team__status__search_idx"]);
  expect(await find(app, "moved", "status=eq.done&order=due_at&limit=2")).toEqual([2, 5]);
  const type = { kind: "enum", values: VALUES };
  await expectApplied(postChange(service, app, { ...retype, type }));
  await expectIndexes("moved");
  expect(await find(app, "moved", "status=eq.done&order=due_at&limit=2")).toEqual([2, 5]);
  await expectApplied(
    postChange(service, app, { kind: "drop_column", table: "moved", column: "status" }),
  );
  await expectIndexes("moved", []);
});

testOne("large tables build the index after the push, also a shared table's", async () => {
  const plain = defineSchema({
    jobs: { status: t.enum(VALUES as [string]), team: t.integer(), due_at: t.date() },
  });
  const app = await service.makeApp(plain);
  await service.makeApp(plain);
  const result = await pushDefinition(
    { admin: service.pushing, log: () => undefined },
    {
      ...{ app, definition: definitionOf(makeSchema("jobs")) },
      options: { dryRun: false, largeTablePages: 0 },
    },
  );
  await result.deferred;
  await expectIndexes("jobs");
  const steps = await readRows(
    service.service.admin,
    "select name from rowhouse.deferred_steps where app_id = $1",
    [app.id],
  );
  expect(steps).toHaveLength(2);
});

testOne("a step that an earlier release left builds the index of this release", async () => {
  const app = await makeTable("late");
  await service.service.admin.message(
    `insert into rowhouse.deferred_steps (app_id, table_name, kind, name, columns)
    values ('${app.id}', 'late', 'index', 'late__status__due_at__000000_idx', '["status", "due_at"]'),
      ('${app.id}', 'late', 'index', 'late__team__status__idx', '["team", "status"]');
    drop index data.late__status__due_at__sorted_idx, data.late__team__status__sorted_idx; select 1`,
  );
  await resumeDeferredSteps({ admin: service.pushing, log: () => undefined });
  await expectIndexes("late");
});
