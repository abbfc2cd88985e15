/** The pure part of this module, for settings and commands without a database. @module */
export { type Change, changeDefinition, showChange, showDropped, toColumnType } from "./change.ts";
export type { RowCounts } from "./conflicts.ts";
export { compareHistory, type HistoryDifference } from "./history.ts";
export {
  compareJournal,
  findDuplicateFiles,
  type JournalComparison,
  type JournalEntry,
  type JournalFile,
  journalFileName,
  type ProjectMigration,
} from "./journal.ts";
export { readJournal, writeJournal } from "./journal_files.ts";
export { MAX_MIGRATIONS_SENT, MAX_REPLAY_BYTES, PUSH_LIMITS, SCHEMA_PATH } from "./limits.ts";
export { type Declared, mergeDeclared } from "./merge_table.ts";
export {
  type Applied,
  type MigrationRecord,
  type MigrationText,
  readMigrationChange,
  readMigrationDefinition,
  showMigration,
  splitMigrationText,
} from "./migration_text.ts";
export { type ProjectRecord, type RecordedMigration, toProjectHistory } from "./project_history.ts";
export type { Planned } from "./push.ts";
export type { Status, StoredMigration, TableApps } from "./status.ts";
