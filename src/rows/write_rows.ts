/** Formats rows of a table as CSV or NDJSON that imports to the same values. Pure. @module */
import type { NamedColumn, TableDefinition } from "../dsl/mod.ts";
import { BYTE_ORDER_MARK, toCsvLine, toExactCsvLine } from "../std/csv.ts";
import type { FileFormat } from "./source.ts";

type Row = Readonly<Record<string, unknown>>;

export type RowsWriter = {
  /** The text before the first row. */
  readonly start: string;
  readonly toText: (row: Row) => string;
};

/**
 * Formats the rows of one file like the endpoints. With `isInert`, a CSV is for spreadsheets: it begins with a byte order mark,
 * and contains no formula that a spreadsheet would evaluate. The quotes around its first id are the mark by which an import restores
 * the texts.
 */
export function makeRowsWriter(
  table: TableDefinition,
  format: FileFormat,
  { isInert = false }: { isInert?: boolean } = {},
): RowsWriter {
  if (format === "ndjson")
    return { start: "", toText: ({ app_id: _, ...row }) => `${JSON.stringify(row)}\n` };
  const names = toExactCsvLine(["id", ...table.columns.map(({ name }) => name)]);
  if (!isInert) return { start: names, toText: (row) => toExactCsvLine(toCsvValues(table, row)) };
  let isFirst = true;
  return {
    start: BYTE_ORDER_MARK + names,
    toText: (row) => {
      const line = toCsvLine(toCsvValues(table, row));
      const marked = isFirst ? line.replace(/^[^,]*/, '"$&"') : line;
      isFirst = false;
      return marked;
    },
  };
}

/** The CSV fields of a row: null is an empty field, and a json value is JSON text. */
function toCsvValues({ columns }: TableDefinition, row: Row): (string | null)[] {
  return [String(row["id"]), ...columns.map((column) => toField(column, row[column.name]))];
}

function toField({ kind }: NamedColumn, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" && kind !== "json" ? value : JSON.stringify(value);
}
