/**
 * Explicit changes. The caller requests them by name; a diff never makes them. A change is plain data: it is sent,
 * written to the migration, and applied to definitions. Pure.
 *
 * @module
 */
import {
  type Definition,
  type NamedColumn,
  ownValue,
  renameMembersColumn,
  renameRuleColumn,
  renameRuleTable,
  type TableDefinition,
  type TableRules,
} from "../../schema/mod.ts";
import { type Cases, matchKind } from "../../std/match_kind.ts";
import { quote } from "../../std/quote.ts";
import { sortLists } from "../../std/sort_lists.ts";

type OfColumn = { readonly table: string; readonly column: string };
export type Change =
  | (OfColumn & { readonly kind: "rename_column"; readonly to: string })
  | { readonly kind: "rename_table"; readonly table: string; readonly to: string }
  | (OfColumn & { readonly kind: "drop_column" })
  | { readonly kind: "drop_table"; readonly table: string }
  | (OfColumn & { readonly kind: "drop_value"; readonly value: string })
  | (OfColumn & { readonly kind: "retype_column"; readonly type: ColumnType });

type Of<Kind extends Change["kind"]> = Extract<Change, { kind: Kind }>;

/** The parts of a column that a retype replaces. */
type ColumnType = Pick<NamedColumn, "kind" | "values" | "default">;

export function toColumnType({ kind, values, default: initial }: ColumnType): ColumnType {
  return {
    kind,
    ...(values === undefined ? {} : { values }),
    ...(initial === undefined ? {} : { default: initial }),
  };
}

/** The tables whose state determines whether the change is possible. */
export function toTableNames(change: Change | undefined): string[] {
  if (change === undefined) return [];
  return change.kind === "rename_table" ? [change.table, change.to] : [change.table];
}

const TITLES: Cases<Change, string> = {
  rename_column: ({ table, column, to }) => `rename ${table}.${column} to ${to}`,
  rename_table: ({ table, to }) => `rename ${table} to ${to}`,
  drop_column: ({ table, column }) => `drop ${table}.${column}`,
  drop_table: ({ table }) => `drop ${table}`,
  drop_value: ({ table, column, value }) => `drop ${quote(value)} of ${table}.${column}`,
  retype_column: ({ table, column, type }) => `retype ${table}.${column} to ${type.kind}`,
};

/** A short description of a change, after "cannot" or as a question. */
export function showChange(change: Change): string {
  return matchKind(TITLES, change);
}

/** The name of the data that a change deletes, for confirmation; `undefined` if it deletes none. */
export function showDropped(change: Change): string | undefined {
  if (change.kind === "drop_table") return change.table;
  return change.kind === "drop_column" ? `${change.table}.${change.column}` : undefined;
}

/** The changed table; `undefined` if it is dropped. A rename of a table also changes the references in other tables. */
const CHANGERS: Cases<Change, TableDefinition | undefined, [table: TableDefinition]> = {
  rename_column: renameColumn,
  rename_table: renameTable,
  drop_column: dropColumn,
  drop_table: () => undefined,
  drop_value: dropValue,
  retype_column: retypeColumn,
};

/**
 * A table of the app after a change. Most tables do not change. Rules follow renamed parts. Rules that name a part that is gone
 * remain: the change is then rejected, because without a condition they would allow more.
 */
export function changeTable(table: TableDefinition, change: Change): TableDefinition | undefined {
  const isOther = change.kind !== "rename_table" && table.name !== change.table;
  const changed = isOther ? table : matchKind(CHANGERS, change, table);
  return changed && change.kind === "rename_column"
    ? renameInMemberships(changed, change)
    : changed;
}

/** Rules of any table can name a column of a table of memberships. */
function renameInMemberships(
  table: TableDefinition,
  { table: members, column: from, to }: Of<"rename_column">,
): TableDefinition {
  if (table.rules === undefined) return table;
  return { ...table, rules: renameMembersColumn(table.rules, { table: members, from, to }) };
}

/** The app's definition after a change, in the same order. */
export function changeDefinition({ tables, ...rest }: Definition, change: Change): Definition {
  const changed = tables.flatMap((table) => changeTable(table, change) ?? []);
  return { ...rest, tables: changed.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** The name of a column of the table after the change; `undefined` if it is dropped. */
export function changeColumnName(name: string, change: Change): string | undefined {
  switch (change.kind) {
    case "rename_column":
      return name === change.column ? change.to : name;
    case "drop_column":
      return name === change.column ? undefined : name;
    case "rename_table":
    case "drop_table":
    case "drop_value":
    case "retype_column":
      return name;
  }
}

function renameColumn(change: Of<"rename_column">, table: TableDefinition): TableDefinition {
  const rename = (name: string) => (name === change.column ? change.to : name);
  const renameAll = (lists: TableDefinition["indexes"]) =>
    sortLists(lists.map((list) => list.map(rename)));
  return {
    name: table.name,
    columns: table.columns.map((column) => ({ ...column, name: rename(column.name) })),
    indexes: renameAll(table.indexes),
    uniques: renameAll(table.uniques),
    ...(table.rules && { rules: renameRuleColumn(table.rules, change.column, change.to) }),
  };
}

/** References to the table are part of other tables. */
function renameTable(
  change: Of<"rename_table">,
  { name, columns, rules, ...lists }: TableDefinition,
): TableDefinition {
  const rename = (table: string) => (table === change.table ? change.to : table);
  return {
    name: rename(name),
    columns: columns.map((column) =>
      column.table === undefined ? column : { ...column, table: rename(column.table) },
    ),
    ...lists,
    ...(rules && { rules: renameRuleTable(rules, change.table, change.to) }),
  };
}

function dropValue(change: Of<"drop_value">, table: TableDefinition): TableDefinition {
  const columns = table.columns.map((column) =>
    column.name === change.column && column.values !== undefined
      ? { ...column, values: column.values.filter((value) => value !== change.value) }
      : column,
  );
  return { ...table, columns };
}

function retypeColumn(change: Of<"retype_column">, table: TableDefinition): TableDefinition {
  const columns = table.columns.map((column) =>
    column.name === change.column ? retype(column, change.type) : column,
  );
  return { ...table, columns };
}

export function retype({ name, required, unique, index }: NamedColumn, type: ColumnType) {
  return { name, required, unique, index, ...type };
}

/** Indexes and unique constraints that contain the column are dropped with the column. */
function dropColumn(change: Of<"drop_column">, table: TableDefinition): TableDefinition {
  const isLeft = (list: readonly string[]) => !list.includes(change.column);
  return {
    name: table.name,
    columns: table.columns.filter(({ name }) => name !== change.column),
    indexes: table.indexes.filter(isLeft),
    uniques: table.uniques.filter(isLeft),
    ...(table.rules && { rules: withoutFormer(table.rules, change.column) }),
  };
}

/** The rules without a column that the app had stopped to declare, and that no role has. */
function withoutFormer(rules: TableRules, column: string): TableRules {
  if (ownValue(rules.only, column)?.length !== 0) return rules;
  const { only: _, ...rest } = rules;
  const left = Object.entries(rules.only ?? {}).filter(([name]) => name !== column);
  return left.length === 0 ? rest : { ...rest, only: Object.fromEntries(left) };
}
