/** Reads one table of a definition from a value of any type, independently of other tables. @module */
import { describe } from "../std/describe.ts";
import { quote } from "../std/quote.ts";
import { type NamedColumn, QUOTAS, type TableDefinition } from "./definition.ts";
import type { IssueLocation, Issues } from "./issues.ts";
import { findTableNameIssue, foldName } from "./names.ts";
import { readColumn } from "./read_column.ts";
import { readColumnLists } from "./read_column_lists.ts";
import { sumDefaults } from "./read_default.ts";
import { readFields, readList } from "./read_parts.ts";
import { foldSingles, rejectSameIndexes, rejectTooManyIndexes } from "./table_indexes.ts";

const KEYS = ["name", "columns", "indexes", "uniques"];

/** A table, or `undefined` if its name or columns are unreadable. Adds all other errors to the list. */
export function readTable(
  value: unknown,
  nth: number,
  issues: Issues,
): TableDefinition | undefined {
  const fields = readFields(value, { what: `table ${nth}`, allowed: KEYS, at: {} }, issues);
  if (fields === undefined) return undefined;
  const name = fields.get("name");
  if (typeof name !== "string") {
    issues.add({}, `Cannot read the name of table ${nth}: must be a string, not ${describe(name)}`);
    return undefined;
  }
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
  const table = { name, ...foldSingles({ columns, indexes, uniques }) };
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
