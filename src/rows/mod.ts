/**
 * Rows of files: converts CSV and JSON to rows of a table, checked by the rules of its columns, and back. Independent of
 * database and HTTP.
 *
 * @module
 */
export { type Batch, makeBatcher } from "./batches.ts";
export { decodeChunks, ENCODINGS } from "./decode.ts";
export { hasUniques } from "./duplicates.ts";
export { findLostColumns } from "./lost_columns.ts";
export { isNeeded, type Mapping, type MappingOptions, makeMapping } from "./mapping.ts";
export { type PagePosition, readPages } from "./pages.ts";
export { readChunks } from "./read_chunks.ts";
export { type Match, makeRowsReader, type RowsRead, toMatchKey } from "./read_rows.ts";
export {
  FILE_FORMATS,
  type FileFormat,
  findFormat,
  type LineIssue,
  makeSource,
  type Source,
  type SourceOptions,
} from "./source.ts";
export { describeStored, type RowsFate } from "./stored_rows.ts";
export { REQUIRED, readValue } from "./values.ts";
export { makeRowsWriter, type RowsWriter, type RowTexts } from "./write_rows.ts";
