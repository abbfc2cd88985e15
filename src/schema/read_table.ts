/** Reads one table of a definition from a value of any type, independently of other tables. @module */

import { isReference } from "../kinds/mod.ts";
import { describe, quote } from "../std/quote.ts";
import { readColumnLists } from "./column_lists.ts";
import { type NamedColumn, QUOTAS, type TableDefinition } from "./definition.ts";
import { readFields, readList } from "./fields.ts";
import type { IssueLocation, Issues } from "./issues.ts";
import { findTableNameIssue, foldName } from "./names.ts";
import { readColumn, sumDefaults } from "./read_column.ts";
import { readRules } from "./read_rules.ts";

// Normalizes and checks a table's indexes, from flags, references and lists.

type Body = Omit<TableDefinition, "name" | "rules">;

/** A table in its normal form: a list of one column becomes the column's flag. */
function foldSingles({ columns, indexes, uniques }: Body): Body {
  const indexed = toSingles(indexes);
  const unique = toSingles(uniques);
  return {
    columns: columns.map((column) => ({
      ...column,
      index: column.index || indexed.has(column.name),
      unique: column.unique || unique.has(column.name),
    })),
    indexes: indexes.filter(({ length }) => length > 1),
    uniques: uniques.filter(({ length }) => length > 1),
  };
}

/** Adds an error for each index or unique constraint with a duplicate declaration or derived name. */
function rejectSameIndexes(table: TableDefinition, issues: Issues): void {
  const at = { table: table.name };
  for (const [what, lists] of [
    ["an index", [...toLists(table.columns, isIndexed), ...table.indexes]],
    ["a unique constraint", [...toLists(table.columns, isUnique), ...table.uniques]],
  ] as const) {
    const earlier = new Map<string, readonly string[]>();
    for (const list of lists) {
      // Columns (a__b) and (a, b) have the same derived name.
      const name = list.join("__");
      const other = earlier.get(name);
      earlier.set(name, list);
      if (other === undefined) continue;
      const reason =
        other.length === list.length
          ? "it is declared twice"
          : `it would have the same name as the one on (${other.join(", ")})`;
      issues.add(at, `Cannot create ${what} on (${list.join(", ")}): ${reason}`);
    }
  }
}

/** Adds an error if a table has more indexes than the quota. Each reference counts as an index. */
function rejectTooManyIndexes(table: TableDefinition, issues: Issues): void {
  const { columns, indexes, uniques } = table;
  const singles = columns.filter(isIndexed).length + columns.filter(isUnique).length;
  const count = singles + indexes.length + uniques.length;
  const max = QUOTAS.indexesPerTable;
  if (count <= max) return;
  issues.add(
    { table: table.name },
    `Cannot use ${count} indexes: at most ${max} are allowed, unique constraints and references included`,
  );
}

function toSingles(lists: readonly (readonly string[])[]): ReadonlySet<string> {
  return new Set(lists.filter(({ length }) => length === 1).flat());
}

function toLists(
  columns: readonly NamedColumn[],
  has: (column: NamedColumn) => boolean,
): string[][] {
  return columns.filter(has).map(({ name }) => [name]);
}

function isIndexed(column: NamedColumn): boolean {
  return column.index || isReference(column);
}

function isUnique({ unique }: NamedColumn): boolean {
  return unique;
}

const KEYS = ["name", "columns", "indexes", "uniques", "rules"];

/** A table, or `undefined` if its name or columns are unreadable. Adds all other errors to the list. */
export function readTable(
  value: unknown,
  nth: number,
  issues: Issues,
): TableDefinition | undefined {
  const fields = readFields(value, { what: `table ${nth}`, allowed: KEYS, at: {} }, issues);
  if (fields === undefined) return undefined;
  const name = fields.get("name");
  if (typeof name !== "string")
    return issues.add(
      {},
      `Cannot read the name of table ${nth}: must be a string, not ${describe(name)}`,
    );
  const at = { table: name };
  const nameIssue = findTableNameIssue(name);
  if (nameIssue !== undefined) issues.add(at, nameIssue);
  const columns = readColumns(fields.get("columns"), at, issues);
  if (columns === undefined) return undefined;
  const indexes = readColumnLists(fields.get("indexes"), { what: "an index", columns, at }, issues);
  const uniques = readColumnLists(
    fields.get("uniques"),
    { what: "a unique constraint", columns, at },
    issues,
  );
  const rules = fields.has("rules")
    ? readRules(fields.get("rules"), { name, columns }, issues)
    : undefined;
  const table = { name, ...foldSingles({ columns, indexes, uniques }), ...(rules && { rules }) };
  rejectSameIndexes(table, issues);
  rejectTooManyIndexes(table, issues);
  rejectLargeDefaults(table, issues);
  rejectManyUpdated(table, issues);
  return table;
}

function rejectLargeDefaults({ name, columns }: TableDefinition, issues: Issues): void {
  const bytes = sumDefaults(columns);
  const max = QUOTAS.tableDefaultBytes;
  if (bytes <= max) return;
  const message = `Cannot use defaults of ${bytes} bytes of JSON in total: at most ${max} are allowed`;
  issues.add({ table: name }, message);
}

function rejectManyUpdated({ name, columns }: TableDefinition, issues: Issues): void {
  const count = countUpdated(columns);
  const max = QUOTAS.onUpdatePerTable;
  if (count <= max) return;
  const message = `Cannot use onUpdate "now" in ${count} columns: at most ${max} are allowed`;
  issues.add({ table: name }, message);
}

/** The columns that updates set. */
export function countUpdated(columns: readonly NamedColumn[]): number {
  return columns.filter(({ onUpdate }) => onUpdate !== undefined).length;
}

function readColumns(value: unknown, at: IssueLocation, issues: Issues): NamedColumn[] | undefined {
  const max = QUOTAS.columnsPerTable;
  const list = readList(value, { what: "columns", max, at }, issues);
  if (list === undefined) return undefined;
  const columns: NamedColumn[] = [];
  const names = new Map<string, string>();
  list.forEach((entry, index) => {
    const column = readColumn(entry, { ...at, nth: index + 1 }, issues);
    if (column === undefined) return;
    rejectSecondName(column.name, names, { ...at, column: column.name }, issues);
    columns.push(column);
  });
  return columns;
}

/** Adds an error if an earlier name is the same, or differs only in case. */
export function rejectSecondName(
  name: string,
  names: Map<string, string>,
  at: IssueLocation,
  issues: Issues,
): void {
  const earlier = names.get(foldName(name));
  names.set(foldName(name), name);
  if (earlier === undefined) return;
  const reason =
    earlier === name ? "it is declared twice" : `${quote(earlier)} differs from it only in case`;
  issues.add(at, `Cannot declare ${quote(name)}: ${reason}`);
}
