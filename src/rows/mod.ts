/**
 * Rows of files: converts CSV and JSON to rows of a table, checked by the rules of its columns, and back. Independent of
 * database and HTTP.
 *
 * @module
 */

export * from "./batches.ts";
export * from "./days.ts";
export * from "./faults.ts";
export * from "./mapping.ts";
export * from "./read_file.ts";
export * from "./read_rows.ts";
export * from "./sync_plan.ts";
export { makeRowsWriter, type RowsWriter, type RowTexts } from "./write_rows.ts";
