/** A table after another declaration: first all recorded parts, in their order, then the new parts. @module */
import type { Definition, NamedColumn, TableDefinition, TableRules } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { sortLists } from "../../std/sort_lists.ts";
import { type Change, changeTable } from "./change.ts";

type Lists = readonly (readonly string[])[];

/**
 * A recorded table after a declaration. Undeclared columns and enum values remain, each at its position. It has no rules: they belong
 * to one app's declaration.
 */
export function mergeTable(declared: TableDefinition, recorded: TableDefinition): TableDefinition {
  const isRecorded = ({ name }: NamedColumn) =>
    recorded.columns.some((before) => before.name === name);
  const stored = recorded.columns.map((before) => {
    const column = declared.columns.find(({ name }) => name === before.name);
    if (column === undefined) return before;
    return {
      ...column,
      ...(column.values && { values: mergeValues(column.values, before.values ?? []) }),
      unique: column.unique || before.unique,
      index: column.index || before.index,
    };
  });
  return {
    name: declared.name,
    columns: [...stored, ...declared.columns.filter((column) => !isRecorded(column))],
    indexes: mergeLists(declared.indexes, recorded.indexes),
    uniques: mergeLists(declared.uniques, recorded.uniques),
  };
}

/**
 * All columns and enum values that an app declares or declared of a table, in the table's order: the columns that
 * the app is served. Its rules are the declared rules, never earlier ones.
 */
export function accumulate(
  declared: TableDefinition,
  before: TableDefinition | undefined,
  table: TableDefinition,
): TableDefinition {
  const merged = before === undefined ? declared : mergeTable(declared, before);
  const columns = table.columns.flatMap((whole) => {
    const column = merged.columns.find(({ name }) => name === whole.name);
    if (column?.values === undefined) return column ?? [];
    const used = column.values;
    return { ...column, values: (whole.values ?? []).filter((value) => used.includes(value)) };
  });
  const served = withRules({ ...merged, columns }, declared);
  return served.rules === undefined
    ? served
    : { ...served, rules: closeFormer(served.rules, declared, columns) };
}

function withRules(table: TableDefinition, { rules }: TableDefinition): TableDefinition {
  return rules === undefined ? withoutRules(table) : { ...table, rules };
}

/** No role has a column that the app no longer declares: what protected it is not declared either. */
function closeFormer(
  rules: TableRules,
  declared: TableDefinition,
  columns: readonly NamedColumn[],
): TableRules {
  const former = columns
    .filter(({ name }) => !declared.columns.some((column) => column.name === name))
    .map(({ name }): [string, string[]] => [name, []]);
  if (former.length === 0) return rules;
  return { ...rules, only: Object.fromEntries([...Object.entries(rules.only ?? {}), ...former]) };
}

/** The table as it is recorded for all apps. */
export function withoutRules({ rules: _, ...table }: TableDefinition): TableDefinition {
  return table;
}

/** The recorded values in their order. A new value follows the value that is declared before it. */
function mergeValues(declared: readonly string[], recorded: readonly string[]): string[] {
  const merged = [...recorded];
  let at = 0;
  for (const value of declared) {
    const index = merged.indexOf(value);
    if (index === -1) merged.splice(at, 0, value);
    at = (index === -1 ? at : index) + 1;
  }
  return merged;
}

function mergeLists(declared: Lists, recorded: Lists): string[][] {
  const stored = recorded.filter(
    (list) => !declared.some((other) => canonicalJson(other) === canonicalJson(list)),
  );
  return sortLists([...declared, ...stored]);
}

/** A migration's definition, and the explicit change before it. */
export type Declared = { definition: Definition; change?: Change };

/**
 * All current and former declarations of a project, in order, except those that a later change removed. A push never drops
 * anything, so every environment has all of them. Only the last definition has rules.
 */
export function mergeDeclared(history: readonly Declared[]): Definition {
  let tables: TableDefinition[] = [];
  for (const { definition, change } of history) {
    if (change !== undefined) tables = tables.flatMap((table) => changeTable(table, change) ?? []);
    const before = new Map(tables.map((table) => [table.name, withoutRules(table)]));
    for (const table of definition.tables) {
      const found = before.get(table.name);
      const merged = found === undefined ? table : mergeTable(table, found);
      before.set(table.name, withRules(merged, table));
    }
    tables = [...before.values()];
  }
  return { version: 1, tables: tables.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}
