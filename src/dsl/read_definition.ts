/** Reads a definition from a value of any type. Reports all errors together, and never throws. @module */
import { quote } from "../std/quote.ts";
import { QUOTAS, type Reading, type TableDefinition } from "./definition.ts";
import { type Faults, makeFaults } from "./faults.ts";
import { describe, readFields, readList } from "./read_parts.ts";
import { readTable, refuseSecondName } from "./read_table.ts";

const KEYS = ["version", "tables"];

/**
 * The definition in a JSON value, in its normal form, or all its errors.
 *
 * Tables are sorted by name, times are in UTC, uuids in lower case, and a list of one column becomes the column's flag.
 *
 * @example
 * ```ts
 * import { readDefinition } from "rowhouse/schema";
 * import { expect } from "bun:test";
 *
 * const table = { name: "users", columns: [], indexes: [], uniques: [] };
 * expect(readDefinition({ version: 1, tables: [table] })).toEqual({
 *   faults: [
 *     { table: "users", message: 'Cannot name a table "users": the name is reserved organisation-wide' },
 *   ],
 * });
 * ```
 */
export function readDefinition(value: unknown): Reading {
  return readDefinitionInto(makeFaults(), value);
}

/** The same, adding to existing errors. */
export function readDefinitionInto(faults: Faults, value: unknown): Reading {
  const tables = readTables(value, faults);
  refuseDanglingRefs(tables, faults);
  if (!faults.isEmpty()) return { faults: faults.list() };
  return { definition: { version: 1, tables: [...tables].sort(byName) } };
}

function readTables(value: unknown, faults: Faults): readonly TableDefinition[] {
  const what = "the definition";
  const fields = readFields(value, { what, allowed: KEYS, at: {} }, faults);
  if (fields === undefined) return [];
  const version = fields.get("version");
  if (version !== 1)
    faults.add({}, `Cannot read version ${describe(version)} of the definition: must be 1`);
  const bounds = { what: "tables", max: QUOTAS.tables, at: {} };
  const list = readList(fields.get("tables"), bounds, faults) ?? [];
  const tables: TableDefinition[] = [];
  const names = new Map<string, string>();
  list.forEach((entry, index) => {
    const table = readTable(entry, index + 1, faults);
    if (table === undefined) return;
    refuseSecondName(table.name, names, { table: table.name }, faults);
    tables.push(table);
  });
  return tables;
}

function refuseDanglingRefs(tables: readonly TableDefinition[], faults: Faults): void {
  const declared = new Set(tables.map(({ name }) => name));
  for (const { name, columns } of tables) {
    for (const column of columns) {
      if (column.table === undefined || declared.has(column.table)) continue;
      const at = { table: name, column: column.name };
      faults.add(at, `Cannot refer to ${quote(column.table)}: this schema declares no such table`);
    }
  }
}

function byName(a: TableDefinition, b: TableDefinition): number {
  return a.name < b.name ? -1 : 1;
}
