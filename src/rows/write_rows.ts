/** Formats rows of a table as CSV or NDJSON that imports to the same values. Pure. @module */

import { FIELDS } from "../kinds/mod.ts";
import type { NamedColumn, TableDefinition } from "../schema/mod.ts";
import { BYTE_ORDER_MARK, toCsvLine, toExactCsvLine } from "../std/csv.ts";
import { compactJson } from "../std/json_text.ts";
import type { FileFormat } from "./read_file.ts";

/** The values of a row as the JSON text of the endpoints, so that numbers keep their digits. */
export type RowTexts = ReadonlyMap<string, string>;

export type RowsWriter = {
  readonly start: string;
  readonly toText: (row: RowTexts) => string;
};

/**
 * Formats the rows of one file like the endpoints. With `isInert`, a CSV is for spreadsheets: it begins with a byte order mark,
 * and contains no formula that a spreadsheet would evaluate. The quotes around its first id are the mark by which an import restores
 * the texts.
 */
export function makeRowsWriter(
  table: Pick<TableDefinition, "columns">,
  format: FileFormat,
  { isInert = false }: { isInert?: boolean } = {},
): RowsWriter {
  if (format === "ndjson") return { start: "", toText: (row) => `${toJsonRow(row)}\n` };
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

function toJsonRow(row: RowTexts): string {
  const values = [...row].filter(([name]) => name !== "app_id");
  return `{${values.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

/** The CSV fields of a row: null is an empty field, and a json value is JSON text. */
function toCsvValues(
  { columns }: Pick<TableDefinition, "columns">,
  row: RowTexts,
): (string | null)[] {
  const toField = ({ name, kind }: Pick<NamedColumn, "name" | "kind">) => {
    const text = row.get(name) ?? "null";
    if (text === "null") return null;
    if (FIELDS[kind].cell === "json") return compactJson(text);
    return text.startsWith('"') ? String(JSON.parse(text)) : text;
  };
  return [toField({ name: "id", kind: "uuid" }), ...columns.map(toField)];
}
