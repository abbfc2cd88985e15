/** Push: from an app's definition to tables, functions and a migration. The only writer of generated DDL. @module */
export type { PushDeps } from "./apply.ts";
export type { PushBody } from "./bodies.ts";
export * from "./check_bodies.ts";
export { findSince, type MigrationRecord } from "./history/migration_text.ts";
export type { CheckedMigration } from "./history/replayed_migration.ts";
export * from "./history/status.ts";
export { findLargeApps } from "./large_apps.ts";
export { MAX_BYTES, MAX_REPLAY_BYTES, PUSH_LIMITS, type PushLimits } from "./limits.ts";
export { type Change, changeDefinition } from "./plan/change.ts";
export { hasChanged } from "./plan/declared.ts";
export { mergeDeclared } from "./plan/merge_table.ts";
export { planPush } from "./plan/plan.ts";
export { makePlanning } from "./plan/planning.ts";
export { type Planned, type PushRequest, type PushResult, push } from "./push.ts";
export { toMigrationStep } from "./push_step.ts";
export { readPush, readTexts } from "./read_push.ts";
export { type PushRouteDeps, pushRoutes } from "./routes.ts";
export * from "./set_up.ts";
export { keepsValues } from "./sql/conversions.ts";
export { type ConversionPlan, convertDatabase, planConversion } from "./sql/convert.ts";
export { hasAbandonedSteps, resumeDeferredSteps } from "./sql/deferred.ts";
export { listFormer, removeFormer } from "./sql/former.ts";
export { findSearchIssues } from "./sql/index_forms.ts";
export { findUnread, fitReaders } from "./sql/reader.ts";
export {
  deferRebuilds,
  dropChangedFormer,
  findOutdatedTables,
  findUncallableTables,
  type PlannedRebuilds,
  planRebuilds,
  refreshFunctions,
  sweepSets,
} from "./sql/refresh.ts";
export * from "./sql/release.ts";
export * from "./unrecorded_history.ts";
export { compareFacts, type Difference, findTableDifferences, readDrift } from "./verify/drift.ts";
export { workInPlace } from "./work.ts";
export { workInThread } from "./work_thread.ts";
