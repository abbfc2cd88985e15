/** Push: from an app's definition to tables, functions and a migration. The only writer of generated DDL. @module */
export type { PushDeps } from "./apply.ts";
export type { PushBody } from "./bodies.ts";
export type { Change } from "./change.ts";
export { type ConversionPlan, convertDatabase, planConversion } from "./convert.ts";
export { compareFacts, type Difference, readDrift } from "./drift.ts";
export type { JournalEntry } from "./journal.ts";
export { MAX_BYTES, MAX_REPLAY_BYTES, PUSH_LIMITS, type PushLimits } from "./limits.ts";
export type { MigrationRecord } from "./migration_text.ts";
export { planPush } from "./plan.ts";
export { makePlanning } from "./plan_sets.ts";
export { type Planned, type PushRequest, type PushResult, push } from "./push.ts";
export { type PushStep, toMigrationStep } from "./push_step.ts";
export { readPush, readTexts } from "./read_push.ts";
export {
  findOutdatedTables,
  findUncallableTables,
  refreshFunctions,
  sweepSets,
} from "./refresh.ts";
export { type CheckBodies, makeCheckBodies, RELEASE, recordRelease } from "./release.ts";
export type { CheckedMigration } from "./replayed_migration.ts";
export { type PushRouteDeps, pushRoutes } from "./routes.ts";
export {
  readMigration,
  readStatus,
  readTableApps,
  type Status,
  type StoredMigration,
  type TableApps,
} from "./status.ts";
export { findTableDifferences } from "./table_drift.ts";
