/** Push: from an app's definition to tables, functions and a migration. The only writer of generated DDL. @module */
export { type PushDeps, type PushRequest, type PushResult, push } from "./apply.ts";
export { checkDefinition, type PushBody, readPushBody } from "./body.ts";
export type { DeferredStep } from "./deferred.ts";
export { compareFacts, type Difference, readDrift } from "./drift.ts";
export { compareHistory, type HistoryDifference } from "./history.ts";
export {
  compareJournal,
  type JournalComparison,
  type JournalEntry,
  type JournalFault,
  type JournalFile,
  journalFileName,
} from "./journal.ts";
export { readJournal, writeJournal } from "./journal_files.ts";
export { describePlan, type Migration, type MigrationRecord } from "./migration.ts";
export { planPush } from "./plan.ts";
export {
  findOutdatedTables,
  findUncallableTables,
  type OutdatedTable,
  refreshFunctions,
} from "./refresh.ts";
export {
  MAX_BYTES,
  PUSH_LIMITS,
  type PushLimits,
  type PushRouteDeps,
  pushRoutes,
  SCHEMA_PATH,
} from "./routes.ts";
export { readMigration, readStatus, readTableApps, type Status, type TableApps } from "./status.ts";
export type { Plan, Step } from "./step.ts";
export { sweepSets } from "./sweep_sets.ts";
