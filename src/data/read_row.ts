/** Reads a sent row: reads known columns, drops unknown columns but lists them, and reports all errors. Pure. @module */
import type { Json, NamedColumn, TableDefinition } from "../dsl/mod.ts";
import type { Detail } from "../problem.ts";
import { readValue } from "../rows/mod.ts";
import { escapePointer } from "../std/json_pointer.ts";

export type UnknownField = { path: string; name: string };

export type ReadRow = {
  /** The known columns as JSON text for the table's function. */
  text: string;
  /** The fields of the body that the table does not have. */
  unknown: UnknownField[];
  issues: Detail[];
};

/** Columns of every table that a body cannot set. */
const OWN_COLUMNS = new Set(["id", "app_id"]);

/** Reads the body of a create (`whole`) or an update. Absent columns of an update do not change. */
export function readRow(
  table: TableDefinition,
  body: Readonly<Record<string, unknown>>,
  options: { whole: boolean },
): ReadRow {
  const columns = columnsOf(table);
  const values: Record<string, Json> = {};
  const issues: Detail[] = [];
  const unknown: UnknownField[] = [];
  for (const [name, value] of Object.entries(body)) {
    const column = columns.get(name);
    if (column === undefined) {
      if (!OWN_COLUMNS.has(name)) unknown.push({ path: `/${escapePointer(name)}`, name });
      continue;
    }
    const read = readValue(value, column);
    if ("issue" in read) issues.push({ path: `/${name}`, message: read.issue });
    else values[name] = read.value;
  }
  if (options.whole) issues.push(...findMissing(table, body));
  return { text: JSON.stringify(values), unknown, issues };
}

function findMissing(table: TableDefinition, body: Readonly<Record<string, unknown>>): Detail[] {
  return table.columns
    .filter(
      (column) =>
        column.required && column.default === undefined && !Object.hasOwn(body, column.name),
    )
    .map((column) => ({ path: `/${column.name}`, message: "Is required and has no default" }));
}

const columnMaps = new WeakMap<TableDefinition, ReadonlyMap<string, NamedColumn>>();

function columnsOf(table: TableDefinition): ReadonlyMap<string, NamedColumn> {
  const found = columnMaps.get(table);
  if (found !== undefined) return found;
  const created = new Map(table.columns.map((column) => [column.name, column]));
  columnMaps.set(table, created);
  return created;
}
