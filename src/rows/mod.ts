/**
 * Rows of files: converts CSV and JSON to rows of a table, checked by the rules of its columns, and back. Independent of
 * database and HTTP.
 *
 * @module
 */

export {
  type Batch,
  describeStored,
  findLostColumns,
  makeBatcher,
  type PagePosition,
  type RowsFate,
  readChunks,
  readPages,
  splitBatch,
} from "./batches.ts";
export {
  hasUniques,
  isNeeded,
  listUniques,
  type Mapping,
  type MappingOptions,
  makeMapping,
  toUniqueKey,
} from "./mapping.ts";
export {
  decodeChunks,
  ENCODINGS,
  FILE_FORMATS,
  type FileFormat,
  type FileRow,
  findFormat,
  type LineIssue,
  makeSource,
  type SourceOptions,
} from "./read_file.ts";
export {
  type Match,
  makeRowsReader,
  REQUIRED,
  type RowsRead,
  readMatch,
  readValue,
} from "./read_rows.ts";
export {
  type Comparison,
  findUnique,
  isUnchanged,
  type ListedRow,
  listUniqueNames,
  makeComparison,
  nameByUnique,
  type SyncPlan,
  toDeletions,
} from "./sync_plan.ts";
export { makeRowsWriter, type RowsWriter, type RowTexts } from "./write_rows.ts";
