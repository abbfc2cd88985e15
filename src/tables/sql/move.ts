/**
 * Apps' tables of a database of another baseline, in a new database: created from their recorded definitions, not from what
 * the old schema `data` contains, because anyone with the pushing login can have left code there. Nothing of it reaches the new
 * database, and both sides are read and written by logins that can only push.
 *
 * @module
 */
import {
  type Copying,
  type Database,
  quoteName,
  readPreviews,
  readRows,
  readValue,
  renderIssues,
} from "../../db/mod.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import {
  formAt,
  type IndexForm,
  indexesOf,
  keyedColumns,
  keysOf,
  type RecordedDefinition,
  referencesOf,
} from "../catalog/mod.ts";
import { MESSAGE_SETTINGS } from "../plan/retype_messages.ts";
import { type Step, sqlType } from "../plan/step.ts";
import { readRecorded } from "../state.ts";
import { compareFacts, NOTHING, type RecordedState } from "../verify/drift.ts";
import { THERE, toFacts } from "../verify/facts.ts";
import { readSnapshot } from "../verify/snapshot.ts";
import { renderAddKeys, renderStatements } from "./ddl.ts";

export type AppTablesPlan = {
  tables: readonly RecordedDefinition[];
  /** The form of the indexes that are built again after the move. */
  form: IndexForm;
  uses: readonly { appId: string; table: string }[];
  unfinished: RecordedState["unfinished"];
  /** What the move would lose. */
  issues: readonly string[];
  /** What no push created, and does not move. */
  leftBehind: readonly string[];
};

/** Builds on very large tables. */
const LIMIT_MS = 43_200_000;
const SITE = { dialect: "plain", previews: [] } as const;

/** Only what every baseline has. */
const RECORDED = `select pg_catalog.json_build_object(
  'tables', (select coalesce(pg_catalog.json_agg(definition order by name), '[]') from rowhouse.tables),
  'unfinished', (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'table', table_name, 'kind', kind, 'name', name)), '[]')
    from rowhouse.deferred_steps where state <> 'done')) as recorded`;

/** Compares the record of pushes with PostgreSQL's catalogs. Reads no rows of apps' tables. */
export async function planAppTables(source: Database): Promise<AppTablesPlan> {
  const recorded = await readValue<Pick<RecordedState, "tables" | "unfinished">>(source, RECORDED);
  const uses = await readRows<{ appId: string; table: string }>(
    source,
    `select distinct app_id::pg_catalog.text as "appId", table_name as "table" from (
      select app_id, table_name from rowhouse.registrations
      union all select app_id, table_name from rowhouse.column_sets
      union all select app_id, pg_catalog.unnest(tables) from rowhouse.row_jobs) as used
    where table_name in (select name from rowhouse.tables) order by 2, 1`,
  );
  const read = recorded.tables.map(readRecorded);
  const tables = read.flatMap(({ table }) => (table === undefined ? [] : [table]));
  const found = await readSnapshot(source);
  const differences = compareFacts(toFacts({ tables, sets: [], ...SITE }), found).filter(
    ({ thing }) => !thing.startsWith("function "),
  );
  const planted = await readValue<string>(source, renderIssues("rowhouse.registrations"));
  // Without the preview and with it: a database can have both forms of an index while it is built again.
  const searched = toFacts({ tables, sets: [], ...SITE, previews: ["filters"] });
  const extra = differences.filter(
    ({ wanted, thing }) => wanted === NOTHING && !searched.has(thing),
  );
  return {
    tables,
    form: formAt({ ...SITE, previews: await readPreviews(source) }),
    uses,
    unfinished: recorded.unfinished,
    issues: [
      ...read.flatMap(({ issues }) => issues),
      ...differences
        .filter(isLoss)
        .map(
          ({ thing, wanted, found: has }) =>
            `The ${thing} differs from the record of pushes: expected ${wanted}, found ${has}`,
        ),
    ],
    leftBehind: [
      ...extra.map(({ thing }) => `The ${thing}, which no push created`),
      ...(JSON.parse(planted) as string[]),
    ],
  };
}

/** Whether rows would be lost, or would not fit. */
function isLoss({
  thing,
  wanted,
  found,
}: {
  thing: string;
  wanted: string;
  found: string;
}): boolean {
  if (wanted === NOTHING) return false;
  if (found === NOTHING) return wanted === THERE && !thing.includes(" / policy ");
  return thing.endsWith(" / type") || thing.startsWith("type ");
}

/**
 * Creates the tables without unique keys, indexes and references: they follow after the rows. Stored keys of columns come first,
 * because PostgreSQL would write all rows again for them.
 */
export async function createAppTables(
  target: Database,
  { tables, form }: AppTablesPlan,
): Promise<void> {
  for (const table of tables) {
    const keyed = [...keysOf(table), ...indexesOf(table)].flatMap(keyedColumns);
    const keys = form === "search" ? renderAddKeys(table.name, keyed) : [];
    await run(target, [{ kind: "create_table", table }], keys);
  }
}

/** Builds what a push would have built. A deferred build that had not finished stays deferred. */
export async function finishAppTables(
  target: Database,
  { tables, unfinished }: AppTablesPlan,
): Promise<void> {
  const isDone = (table: TableDefinition, name: string) =>
    !unfinished.some((build) => build.table === table.name && build.name === name);
  for (const table of tables)
    await run(target, [
      ...keysOf(table).map((key): Step => ({ kind: "add_key", table: table.name, key })),
      ...indexesOf(table)
        .filter(({ name }) => isDone(table, name))
        .map((index): Step => ({ kind: "add_index", table: table.name, index })),
    ]);
  for (const table of tables)
    await run(
      target,
      referencesOf(table).map(({ name, columns: [column = ""] }) => ({
        kind: "add_reference",
        table,
        column: findColumn(table, column),
        validate: isDone(table, name) ? "now" : "later",
        isReplaced: false,
      })),
    );
}

async function run(
  target: Database,
  steps: readonly Step[],
  more: readonly string[] = [],
): Promise<void> {
  if (steps.length === 0) return;
  const { early, deferred } = renderStatements(
    { steps: [...steps], conflicts: [], notes: [] },
    SITE,
  );
  const limit = `set local statement_timeout = '${LIMIT_MS}ms'`;
  const text = [...MESSAGE_SETTINGS, limit, ...early, ...deferred, ...more, "select 1"].join(";\n");
  await target.message(text, { timeoutMs: LIMIT_MS });
}

function findColumn(table: TableDefinition, name: string) {
  const column = table.columns.find((one) => one.name === name);
  if (column === undefined) throw new Error(`Table ${table.name} has no column ${name}`);
  return column;
}

/** The rows of each app in each table, under the policies of row security. */
export function toCopyings({ tables, uses }: AppTablesPlan): Copying[] {
  return tables.flatMap((table) => {
    const id = { name: "id", type: "uuid" };
    const columns = [
      { name: "app_id", type: "uuid" },
      id,
      ...table.columns.map((column) => ({ name: column.name, type: sqlType(table, column) })),
    ].map((column) => ({ ...column, sql: quoteName(column.name) }));
    return uses
      .filter((use) => use.table === table.name)
      .map(({ appId }) => ({
        ...{ table: `data.${quoteName(table.name)}`, columns, key: [id], appId },
      }));
  });
}
