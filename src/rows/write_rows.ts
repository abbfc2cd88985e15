/** Formats rows of a table as CSV or NDJSON that imports to the same values. Pure. @module */
import type { NamedColumn, TableDefinition } from "../dsl/mod.ts";
import { toCsvLine, toExactCsvLine } from "../std/csv.ts";
import type { FileFormat } from "./source.ts";

type Row = Readonly<Record<string, unknown>>;

export type RowsWriter = {
  /** The text before the first row. */
  readonly start: string;
  readonly toText: (row: Row) => string;
};

/** Formats rows like the endpoints. With `isInert`, a CSV contains no formula that a spreadsheet would evaluate. */
export function makeRowsWriter(
  table: TableDefinition,
  format: FileFormat,
  { isInert = false }: { isInert?: boolean } = {},
): RowsWriter {
  if (format === "ndjson")
    return { start: "", toText: ({ app_id: _, ...row }) => `${JSON.stringify(row)}\n` };
  const toLine = isInert ? toCsvLine : toExactCsvLine;
  return {
    start: toLine(toCsvNames(table)),
    toText: (row) => toLine(toCsvValues(table, row)),
  };
}

/** The first line of a CSV. */
export function toCsvNames({ columns }: TableDefinition): string[] {
  return ["id", ...columns.map(({ name }) => name)];
}

/** The CSV fields of a row: null is an empty field, and a json value is JSON text. */
export function toCsvValues({ columns }: TableDefinition, row: Row): (string | null)[] {
  return [String(row["id"]), ...columns.map((column) => toField(column, row[column.name]))];
}

function toField({ kind }: NamedColumn, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" && kind !== "json" ? value : JSON.stringify(value);
}
