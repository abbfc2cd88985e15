/**
 * The project's migrations as steps for `dev`'s own tables: what each adds or changes, applied to the tables that `dev` has, which
 * can have more, less or others. A migration that `dev` already has changes nothing.
 *
 * @module
 */
import type { Definition, NamedColumn, TableDefinition } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { type Cases, matchKind } from "../../std/match_kind.ts";
import { isSubsequence, sortLists } from "../../std/sort_lists.ts";
import { type Change, changeTable } from "../../tables/plan/change.ts";
import { type Declared, mergeDeclared, mergeTable } from "../../tables/plan/merge_table.ts";
import { findColumn, findTable, hasChanged } from "../db/change_schema.ts";
import { type DevTables, isSameType } from "./dev_tables.ts";

/** A migration of the project, and all tables of the project before it. */
export type Replay = Declared & { before: Definition };

/** With all tables of the project before each. */
export function toReplays(migrations: readonly Declared[]): Replay[] {
  let before: Definition = { version: 1, tables: [] };
  return migrations.map((migration) => {
    const replay = { ...migration, before };
    before = mergeDeclared([{ definition: before }, migration]);
    return replay;
  });
}

/** Applies one migration to the tables of `dev`. */
export async function replayMigration(dev: DevTables, replay: Replay): Promise<void> {
  if (replay.change === undefined) return await addDeclared(dev, replay);
  if (dev.isForeign(replay.change.table)) return;
  await matchKind(CHANGES, replay.change, dev, replay);
}

const CHANGES: Cases<Change, Promise<void>, [dev: DevTables, replay: Replay]> = {
  rename_column: async (change, dev, replay) => {
    const { table, column, to } = change;
    if (findColumn(dev.now(), table, column) === undefined) return await addDeclared(dev, replay);
    const own = findSimilar(dev, table, to);
    if (own !== undefined && own.name !== column) await dev.setColumnAside(table, own.name);
    await dev.apply(change);
  },
  rename_table: async (change, dev, replay) => {
    if (findTable(dev.now(), change.table) === undefined) return await addDeclared(dev, replay);
    if (findTable(dev.now(), change.to) !== undefined) await dev.setTableAside(change.to);
    await dev.apply(change);
  },
  drop_column: async (change, dev, { before }) => {
    const { table, column } = change;
    const own = findColumn(dev.now(), table, column);
    if (own === undefined) return;
    const isExtended = !isWithin(own, findColumn(before, table, column));
    if (isExtended || !(await dev.tryApply(change))) await dev.setColumnAside(table, column);
  },
  drop_table: async (change, dev, { before }) => {
    const own = findTable(dev.now(), change.table);
    if (own === undefined) return;
    const isExtended = own.columns.some(
      (column) => !isWithin(column, findColumn(before, change.table, column.name)),
    );
    if (isExtended || !(await dev.tryApply(change))) await dev.setTableAside(change.table);
  },
  retype_column: async (change, dev, replay) => {
    const { table, column, type } = change;
    const own = findColumn(dev.now(), table, column);
    if (own?.kind === type.kind) return;
    const former = findColumn(replay.before, table, column);
    const isCommon = own !== undefined && former !== undefined && isSameType(own, former);
    if (isCommon && (await dev.tryApply(change))) return;
    if (own !== undefined) await dev.setColumnAside(table, column);
    await addDeclared(dev, { ...replay, before: without(replay.before, table, column) });
  },
  drop_value: async (change, dev) => {
    const { table, column, value } = change;
    const own = findColumn(dev.now(), table, column);
    // With rows that have it, it stays: the push of the schema says so.
    if (own?.values?.includes(value) === true) await dev.tryApply(change);
  },
};

/** Whether a column of `dev` has no more than the project's. */
function isWithin(own: NamedColumn, project: NamedColumn | undefined): boolean {
  return (
    project !== undefined &&
    isSameType(own, project) &&
    (own.values ?? []).every((value) => project.values?.includes(value) === true)
  );
}

function without(definition: Definition, table: string, column: string): Definition {
  const tables = definition.tables.map(
    (other) => changeTable(other, { kind: "drop_column", table, column }) ?? other,
  );
  return { ...definition, tables };
}

/** People confuse names that differ only in case, and PostgreSQL's names of indexes do too. */
function findSimilar(dev: DevTables, table: string, column: string): NamedColumn | undefined {
  return findTable(dev.now(), table)?.columns.find(
    ({ name }) => name.toLowerCase() === column.toLowerCase(),
  );
}

/** Adds what a migration declares and the project did not have before. */
async function addDeclared(dev: DevTables, { before, definition }: Replay): Promise<void> {
  const tables = definition.tables.filter(({ name }) => !dev.isForeign(name));
  for (const table of tables) {
    const known = findTable(before, table.name);
    if (known === undefined && lacksRequired(dev, table)) await dev.setTableAside(table.name);
    for (const column of table.columns) {
      if (known?.columns.some(({ name }) => name === column.name) === true) continue;
      const own = findSimilar(dev, table.name, column.name);
      if (own === undefined || (own.name === column.name && isSameType(own, column))) continue;
      await dev.setColumnAside(table.name, own.name);
    }
  }
  const next = addTo(dev.now(), before, tables);
  if (canonicalJson(next) !== canonicalJson(dev.now())) await dev.define(next);
}

/** Whether the rows of `dev`'s own table of this name could not be rows of the project's new table. */
function lacksRequired(dev: DevTables, table: TableDefinition): boolean {
  if (findTable(dev.now(), table.name) === undefined) return false;
  return table.columns.some((column) => {
    const own = findColumn(dev.now(), table.name, column.name);
    const isFilled = own !== undefined && isSameType(own, column);
    return column.required && column.default === undefined && !isFilled;
  });
}

/** The tables of `dev` with what is new in these tables. */
function addTo(
  now: Definition,
  before: Definition,
  declared: readonly TableDefinition[],
): Definition {
  const isNewTable = ({ name }: TableDefinition) =>
    findTable(now, name) === undefined && findTable(before, name) === undefined;
  const added = declared.filter(isNewTable);
  const names = new Set([...now.tables, ...added].map(({ name }) => name));
  // Without the table that dev dropped itself, the schema's own push adds the reference.
  const refers = ({ table }: NamedColumn) => table === undefined || names.has(table);
  const changed = now.tables.map((own) => {
    const table = declared.find(({ name }) => name === own.name);
    return table === undefined ? own : addToTable(own, findTable(before, own.name), table, refers);
  });
  const created = added.map((table) =>
    fitLists({ ...table, columns: table.columns.filter(refers) }),
  );
  const tables = [...changed, ...created].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { version: 1, tables };
}

function addToTable(
  own: TableDefinition,
  known: TableDefinition | undefined,
  table: TableDefinition,
  refers: (column: NamedColumn) => boolean,
): TableDefinition {
  const columns = table.columns.filter((column) => {
    const former = known?.columns.find(({ name }) => name === column.name);
    if (former !== undefined && canonicalJson(former) === canonicalJson(column)) return false;
    const there = own.columns.find(({ name }) => name === column.name);
    // What dev itself has dropped or retyped stays so.
    return there === undefined ? former === undefined && refers(column) : isSameType(there, column);
  });
  const isNew = (lists: readonly (readonly string[])[] | undefined) => (list: readonly string[]) =>
    lists?.some((other) => canonicalJson(other) === canonicalJson(list)) !== true;
  const delta = {
    ...table,
    columns,
    indexes: table.indexes.filter(isNew(known?.indexes)),
    uniques: table.uniques.filter(isNew(known?.uniques)),
  };
  const isSame = canonicalJson(known?.rules ?? null) === canonicalJson(table.rules ?? null);
  const rules = isSame ? own.rules : table.rules;
  return fitLists({ ...mergeTable(delta, own), ...(rules === undefined ? {} : { rules }) });
}

/** Without indexes of columns that `dev` does not have. */
function fitLists(table: TableDefinition): TableDefinition {
  const names = new Set(table.columns.map(({ name }) => name));
  const isThere = (list: readonly string[]) =>
    list.every((name) => name === "id" || names.has(name));
  return {
    ...table,
    indexes: sortLists(table.indexes.filter(isThere)),
    uniques: sortLists(table.uniques.filter(isThere)),
  };
}

/** How many of these migrations, in order, change nothing in these tables: `dev` has made their changes itself. */
export function countAdopted(replays: readonly Replay[], now: Definition): number {
  const [first] = replays;
  const gone: Change[] = [];
  let count = 0;
  for (const [index, { definition, change }] of replays.entries()) {
    if (change !== undefined) gone.push(change);
    const isThere = first !== undefined && hasAll(now, first.before, definition);
    if (isThere && gone.every((each) => isGone(now, definition, each))) count = index + 1;
  }
  return count;
}

/** Whether the tables have everything that is new in a definition. */
function hasAll(now: Definition, before: Definition, { tables }: Definition): boolean {
  return tables.every((table) =>
    table.columns.every((column) => {
      const former = findColumn(before, table.name, column.name);
      if (former !== undefined && canonicalJson(former) === canonicalJson(column)) return true;
      const own = findColumn(now, table.name, column.name);
      return (
        own !== undefined &&
        isSameType(own, column) &&
        isSubsequence(column.values ?? [], own.values ?? []) &&
        canonicalJson(own.default ?? null) === canonicalJson(column.default ?? null)
      );
    }),
  );
}

function isGone(now: Definition, declared: Definition, change: Change): boolean {
  if (change.kind === "retype_column") return true;
  return hasChanged(declared, change) || !hasChanged(now, change);
}
