/** Database access: the pool, the mapping of errors, the service's own migrations. The only importer of "postgres". @module */

export { quoteBody, quoteLiteral, quoteName } from "../std/quote.ts";
export * from "./call.ts";
export type { FunctionShape, PresentedVisitor } from "./call_types.ts";
export { AUDIT_ACTIONS, CONSOLE_ACTIONS, labelAction } from "./code/mod.ts";
export { type Condition, findCondition } from "./conditions.ts";
export { canContract, contract, planContract } from "./contract.ts";
export * from "./dev_session.ts";
export { type Dialect, PLAIN, SHORT_WAIT } from "./dialect.ts";
export * from "./dialects.ts";
export { startCluster } from "./embedded/mod.ts";
export * from "./endpoints.ts";
export { APP_SETTING, SERVING_ROLES, TENANT_POLICY } from "./isolation.ts";
export { makeLease, sweepLeases } from "./leases.ts";
export * from "./migrations/grant_login.ts";
export { UpgradeError } from "./migrations/message.ts";
export * from "./migrations/migrate.ts";
export { type MigrationPlan, planMigrate, type TableLock } from "./migrations/plan.ts";
export type { CodeChanges } from "./migrations/renew_code.ts";
export {
  compareMigrations,
  findMismatch,
  type MigrationState,
  RELEASE,
  RELEASE_TEXT,
  showRelease,
} from "./migrations/state.ts";
export { isClusterFailure } from "./node_errors.ts";
export * from "./nodes.ts";
export { type PoolStats, tooBusy } from "./pool/acquire.ts";
export type { Touched } from "./pool/affinity.ts";
export { isDriverPatched } from "./pool/connection.ts";
export type { Grouping, GroupRow } from "./pool/groups.ts";
export * from "./pool/mod.ts";
export { findNodeFailure } from "./pool/node_pools.ts";
export type { NodeEntry } from "./pool/nodes.ts";
export type { ReadLength } from "./pool/pipelines.ts";
export { ACQUIRE_LIMIT_MS } from "./pool/run.ts";
export { makeTurns, type TurnCaller, type TurnLimits } from "./pool/turns.ts";
export * from "./pooler_detection.ts";
export * from "./postgres_version.ts";
export * from "./provision.ts";
export { READER } from "./reader.ts";
export * from "./shared_buckets.ts";
export { SIGNALS } from "./signals.ts";
export * from "./sql_constants.ts";
export {
  readSqlState,
  SignalError,
  toDatabaseError,
  type Violation,
  ViolationError,
} from "./sqlstate.ts";
export * from "./temporary_login.ts";
export { coalesce, type Versions, type VersionWatch, watchVersions } from "./versions.ts";
