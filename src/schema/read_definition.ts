/** Reads a definition from a value of any type. Reports all errors together, and never throws. @module */
import { describe, quote } from "../std/quote.ts";
import { QUOTAS, type Reading, type TableDefinition } from "./definition.ts";
import { readFields, readList } from "./fields.ts";
import { type Issues, makeIssues } from "./issues.ts";
import { readTable, rejectSecondName } from "./read_table.ts";

const KEYS = ["version", "tables"];

/**
 * The definition in a JSON value, in its normal form, or all its errors.
 *
 * Tables are sorted by name, times are in UTC, uuids in lowercase, and a list of one column becomes the column's flag.
 *
 * @example
 * ```ts
 * import { readDefinition } from "rowhouse/schema";
 *
 * const table = { name: "users", columns: [], indexes: [], uniques: [] };
 * expect(readDefinition({ version: 1, tables: [table] })).toEqual({
 *   issues: [
 *     { table: "users", message: 'Cannot name a table "users": the name is reserved organization-wide; choose another' },
 *   ],
 * });
 * ```
 */
export function readDefinition(value: unknown): Reading {
  return readDefinitionInto(makeIssues(), value);
}

/** Like `readDefinition`, but adds to existing errors. */
export function readDefinitionInto(issues: Issues, value: unknown): Reading {
  const tables = readTables(value, issues);
  rejectDanglingRefs(tables, issues);
  if (!issues.isEmpty()) return { issues: issues.list() };
  const sorted = [...tables].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { definition: { version: 1, tables: sorted } };
}

function readTables(value: unknown, issues: Issues): readonly TableDefinition[] {
  const what = "the definition";
  const fields = readFields(value, { what, allowed: KEYS, at: {} }, issues);
  if (fields === undefined) return [];
  const version = fields.get("version");
  if (version !== 1)
    issues.add({}, `Cannot read version ${describe(version)} of the definition: must be 1`);
  const bounds = { what: "tables", max: QUOTAS.tables, at: {} };
  const list = readList(fields.get("tables"), bounds, issues) ?? [];
  const tables: TableDefinition[] = [];
  const names = new Map<string, string>();
  list.forEach((entry, index) => {
    const table = readTable(entry, index + 1, issues);
    if (table === undefined) return;
    rejectSecondName(table.name, names, { table: table.name }, issues);
    tables.push(table);
  });
  return tables;
}

function rejectDanglingRefs(tables: readonly TableDefinition[], issues: Issues): void {
  const declared = new Set(tables.map(({ name }) => name));
  for (const { name, columns } of tables) {
    for (const column of columns) {
      if (column.table === undefined || declared.has(column.table)) continue;
      const at = { table: name, column: column.name };
      issues.add(at, `Cannot refer to ${quote(column.table)}: this schema declares no such table`);
    }
  }
}
