/**
 * Rows of files: converts CSV and JSON to rows of a table, checked by the rules of its columns, and back. Independent of
 * database and HTTP.
 *
 * @module
 */

export * from "./batches.ts";
export * from "./chunks.ts";
export * from "./days.ts";
export * from "./decode.ts";
export * from "./duplicates.ts";
export * from "./faults.ts";
export * from "./lost_columns.ts";
export * from "./mapping.ts";
export * from "./pages.ts";
export * from "./read_file.ts";
export * from "./read_rows.ts";
export * from "./stopped_import.ts";
export * from "./sync_plan.ts";
export { makeRowsWriter, type RowsWriter, type RowTexts } from "./write_rows.ts";
export * from "./written.ts";
