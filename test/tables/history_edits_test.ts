/** The history of rows after its tables changed: dropped values are gone, renamed ones keep their history, and it stays bounded. */
import { beforeEach, expect, test } from "bun:test";
import { call } from "../../src/db/mod.ts";
import { deleteApp, setAppSwitch, setHistoryDays } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { HISTORY_BYTES } from "../../src/std/limits.ts";
import { eventually } from "../support/eventually.ts";
import { whileDone } from "../support/held_lock.ts";
import { freshName, postChange } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { previews: ["history"] } }));

let app: TestApp;
let name: string;
beforeEach(async () => {
  name = freshName();
  app = await service.makeApp(toSchema());
  await setAppSwitch(service.service, app.slug, ["history", true]);
});

const toSchema = (columns = { title: t.string(), secret: t.string() }, table = name) =>
  defineSchema({ [table]: columns });
const makeRow = async (title: string, table = name) => {
  const path = `/v1/data/db/${table}`;
  const json = { title, secret: "s3cret" };
  const { json: row } = await service.call(app, path, { method: "POST", json });
  return row as { id: string };
};
const patch = (row: { id: string }, json: object, table = name) =>
  service.call(app, `/v1/data/db/${table}/${row.id}`, { method: "PATCH", json });
async function read<Row>(sql: string): Promise<Row[]> {
  return await service.query<Row>(
    `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true)) ${sql}`,
    [app.id],
  );
}
type Stored = { table: string; before: Record<string, string>; after: Record<string, string> };
const readStored = () =>
  read<Stored>(`select table_name as table, before, after
    from entered, rowhouse.row_changes where app_id = $1::uuid order by id`);
/** Sweeps until a step finds nothing to do. */
const sweep = async ({ rows = 10, bytes = HISTORY_BYTES } = {}) => {
  const step = () =>
    call(service.service.db, "sweep_history", { max_rows: rows, max_bytes: bytes });
  while ((await step()) > 0);
};
const setStored = async (set: string, only = "true") =>
  await service.service.admin.message(`set rowhouse.app_id = '${app.id}';
    update rowhouse.row_changes set ${set} where app_id = '${app.id}' and ${only};
    reset rowhouse.app_id; select 1`);
const expectStored = async <Value>(read: () => Promise<Value>, expected: Value) => {
  const isStored = async () => {
    // The service sweeps, too, and a step skips what another one holds: then both can end with work left.
    await sweep();
    return Bun.deepEquals(await read(), expected);
  };
  await eventually(isStored, { describe: () => JSON.stringify(expected) });
};
const change = async (request: { kind: string; table: string } & Record<string, unknown>) =>
  expect((await postChange(service, app, request)).json).toMatchObject({ status: "applied" });
/** The changes that the Console shows: none before an edit that is not applied. */
const readShown = async () => {
  const edits = await read<{ until: string }>(
    `select max(until)::text as until from entered, rowhouse.history_edits where app_id = $1::uuid`,
  );
  const [{ until } = { until: null }] = edits;
  return (await readStored()).slice(until === null ? 0 : Number.MAX_SAFE_INTEGER);
};

test("the values of a dropped column are neither shown nor stored, though a new column has its name", async () => {
  const rows = await Promise.all(["a", "b", "c", "d"].map((title) => makeRow(title)));
  for (const row of rows) await patch(row, { title: "x", secret: "other" });
  await change({ kind: "drop_column", table: name, column: "secret" });
  expect(await readShown()).toEqual([]);
  await sweep({ rows: 2 });
  await expectStored(
    readStored,
    ["a", "b", "c", "d"].map((title) => ({
      table: name,
      before: { title },
      after: { title: "x" },
    })),
  );
  await service.pushSchema(app, toSchema());
  expect(JSON.stringify(await readShown())).not.toContain("s3cret");
});

test("a renamed column and a renamed table keep their history", async () => {
  const row = await makeRow("a");
  await patch(row, { title: "b" });
  await change({ kind: "rename_column", table: name, column: "title", to: "heading" });
  await patch(row, { heading: "c" });
  const to = freshName();
  await change({ kind: "rename_table", table: name, to });
  await patch(row, { heading: "d" }, to);
  await sweep({ rows: 1 });
  await expectStored(
    readStored,
    [
      ["a", "b"],
      ["b", "c"],
      ["c", "d"],
    ].map(([before = "", after = ""]) => ({
      ...{ table: to, before: { heading: before }, after: { heading: after } },
    })),
  );
});

test("a dropped table has no history, though a new table has its name", async () => {
  const row = await makeRow("a");
  await patch(row, { title: "b" });
  await change({ kind: "drop_table", table: name });
  await service.pushSchema(app, toSchema());
  expect(await readShown()).toEqual([]);
  await patch(await makeRow("new"), { title: "newer" });
  await sweep();
  const titles = async () => (await readStored()).map(({ before }) => before["title"]);
  await expectStored(titles, ["new"]);
});

test("changes older than the app's days are deleted, and those above the bytes, oldest first", async () => {
  const row = await makeRow("0");
  for (let index = 1; index <= 12; index++) await patch(row, { title: `${index}` });
  const age = (days: number, only: string) =>
    setStored(
      `changed_at = now() - interval '${days} days'`,
      `before ->> 'title' = any ('${only}')`,
    );
  await age(29, "{0,1}");
  await age(31, "{2,3}");
  await sweep();
  const titles = async () => (await readStored()).map(({ before }) => before["title"]);
  await expectStored(titles, ["0", "1", "4", "5", "6", "7", "8", "9", "10", "11"]);
  await setHistoryDays(service.service, { slug: app.slug, days: 10 });
  await sweep();
  await expectStored(titles, ["4", "5", "6", "7", "8", "9", "10", "11"]);
  await setStored(`bytes = ${HISTORY_BYTES / 8}`);
  await sweep({ rows: 2, bytes: 1 });
  await expectStored(titles, ["4", "5", "6", "7", "8", "9", "10", "11"]);
  await setStored(`bytes = ${HISTORY_BYTES / 5}`);
  await sweep({ rows: 2, bytes: 1 });
  await expectStored(titles, ["8", "9", "10", "11"]);
});

test("above the bytes, each person or key keeps its share, however much others write", async () => {
  const row = await makeRow("0");
  for (let index = 1; index <= 12; index++) await patch(row, { title: `${index}` });
  const isOf = (titles: string) => `before ->> 'title' = any ('{${titles}}')`;
  await setStored(`changed_by = 'person ' || case when ${isOf("0,1")} then 'a' when ${isOf("2,3,9")} then 'b' else 'c' end,
    bytes = case when ${isOf("2,4,5")} then ${HISTORY_BYTES / 4} else ${HISTORY_BYTES / 10} end`);
  await sweep();
  const titles = async () => (await readStored()).map(({ before }) => before["title"]);
  // Of nine tenths, a has two, so that b and c have three and a half each.
  await expectStored(titles, ["0", "1", "3", "8", "9", "10", "11"]);
});

test("the sweep waits for no write, and no write for the sweep", async () => {
  const row = await makeRow("0");
  await patch(row, { title: "1" });
  // A sweep that is not committed holds the change, and a write that is not committed holds the row.
  const { adminUrl } = service.database;
  const values = [app.id];
  const text = `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true))
    select id from entered, rowhouse.row_changes where app_id = $1::uuid for update of row_changes`;
  await setStored(`bytes = ${HISTORY_BYTES}`);
  await whileDone(adminUrl, { text, values }, async () => {
    await sweep();
    expect((await patch(row, { title: "2" })).status).toBe(200);
  });
  const write = `with entered as materialized (select set_config('rowhouse.app_id', $1::text, true))
    insert into rowhouse.row_changes (app_id, table_name, row_id, changed_by, before, bytes)
    select $1::uuid, '${name}', gen_random_uuid(), 'key 00', '{}', ${HISTORY_BYTES} from entered returning id`;
  await whileDone(adminUrl, { text: write, values }, () => sweep());
});

test("a deleted app leaves no history", async () => {
  await patch(await makeRow("a"), { title: "b" });
  expect(await readStored()).toHaveLength(1);
  const { admin } = service.service;
  await deleteApp({ admin, rows: admin }, app.slug);
  expect(await readStored()).toEqual([]);
});

test("a sweep reads a bounded number of changes, however many apps have a history", async () => {
  const [apps, changes, rows] = [300, 40, 10];
  const { admin } = service.service;
  await admin.message(`insert into rowhouse.apps (id, slug, switches)
      select gen_random_uuid(), 'swept-' || n, '{history}' from generate_series(1, ${apps}) as n;
    insert into rowhouse.row_changes (app_id, table_name, row_id, changed_by, before, bytes)
      select id, 'todos', gen_random_uuid(), 'key 00', '{}', 1000
      from rowhouse.apps, generate_series(1, ${changes}) where slug ~ '^swept-'; select 1`);
  const [read] = await admin.message<{ swept: number; fetched: number }>(`begin;
    create temp table swept on commit drop as select rowhouse.sweep_history(${rows}, ${100 * HISTORY_BYTES}) as swept;
    select swept, idx_tup_fetch::int as fetched from swept, pg_stat_xact_all_tables where relname = 'row_changes';
    commit`);
  const oldest = 10;
  // Each app: the oldest changes, and two searches for its tables. And those that are measured, with the last app's.
  expect(read).toEqual({ swept: 0, fetched: expect.any(Number) });
  expect(read?.fetched).toBeLessThanOrEqual(apps * (oldest + 2) + rows * 100 + changes);
  await admin.message("delete from rowhouse.apps where slug ~ '^swept-'; select 1");
});
