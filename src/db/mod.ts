/** Database access: the pool, the mapping of errors, the service's own migrations. The only importer of "postgres". @module */

export { quoteBody, quoteLiteral, quoteName } from "../std/quote.ts";
export {
  type ActionInput,
  type ActionName,
  type Arguments,
  call,
  callAction,
  callRow,
  type FunctionName,
  isForRecentSignIn,
  OPERATOR,
  type Result,
  type VisitorFunction,
} from "./call.ts";
export type { FunctionShape, PresentedVisitor } from "./call_types.ts";
export { AUDIT_ACTIONS, CONSOLE_ACTIONS, labelAction } from "./code/mod.ts";
export { startDevSession } from "./dev_session.ts";
export { type Dialect, PLAIN, SHORT_WAIT } from "./dialect.ts";
export {
  DIALECT_NAMES,
  DIALECT_SQL,
  DIALECTS,
  type DialectName,
  dialectOf,
  readDialect,
} from "./dialects.ts";
export { startCluster } from "./embedded/mod.ts";
export { APP_SETTING, renderIssues, SERVING_ROLES, TENANT_POLICY } from "./isolation.ts";
export {
  GrantLoginError,
  grantLogin,
  grantPush,
  grantTask,
  quietLogins,
} from "./migrations/grant_login.ts";
export { UpgradeError } from "./migrations/message.ts";
export {
  BaselineError,
  type Migrated,
  migrate,
  rejectMismatch,
} from "./migrations/migrate.ts";
export { type MigrationPlan, planMigrate, type TableLock } from "./migrations/plan.ts";
export type { CodeChanges } from "./migrations/renew_code.ts";
export {
  compareMigrations,
  findMismatch,
  type MigrationState,
  MOVING,
  OTHER_BASELINE,
  showRelease,
} from "./migrations/state.ts";
export {
  type Copying,
  checkTarget,
  clearTarget,
  copyRows,
  createTarget,
  dropTarget,
  findTarget,
  finishTarget,
  isMoving,
  listSessions,
  type MovedDatabases,
  moveServiceRows,
  NOT_MOVED,
  openTarget,
  planServiceRows,
  readSourceState,
  type ServicePlan,
  type Summary,
  summarize,
} from "./move/mod.ts";
export { isClusterFailure } from "./node_errors.ts";
export { NODES_IN_TURN } from "./node_settings.ts";
export {
  ANCHOR,
  admitNodes,
  askNodes,
  ClusterError,
  type Conversion,
  checkCluster,
  checkLoginsLetIn,
  countShards,
  describeNode,
  findClusterIssues,
  findLoggingNodes,
  findNodeError,
  findNodeGaps,
  findUnreachableNode,
  holdNewNodes,
  isNamed,
  isRestored,
  listDataNodes,
  makeNodeMap,
  type NodeMap,
  PROGRESS,
  prepareNodes,
  type Reference,
  renderConversion,
  runOnNodes,
  SHARDS,
  setUpCluster,
  spreadLogins,
  toNodeRemedy,
  undoDistribution,
} from "./nodes.ts";
export { type PoolStats, tooBusy } from "./pool/acquire.ts";
export { isDriverPatched } from "./pool/connection.ts";
export type { Grouping, GroupRow } from "./pool/groups.ts";
export {
  type Database,
  type DatabaseOptions,
  EXECUTION_LIMIT_MS,
  echoColumn,
  LOCK_BUDGET_MS,
  openDatabase,
  SERVICE_QUEUE,
} from "./pool/mod.ts";
export { findNodeFailure } from "./pool/node_pools.ts";
export type { NodeEntry } from "./pool/nodes.ts";
export type { ReadLength } from "./pool/pipeline.ts";
export { ACQUIRE_LIMIT_MS } from "./pool/run.ts";
export {
  findPooling,
  isSupportedVersion,
  MIN_POSTGRES_VERSION,
  type Pooling,
  readMajorVersion,
} from "./pooling.ts";
export {
  DEV_KEY_NAME,
  hasTables,
  makeDatabase,
  makeLogin,
  markForDev,
  readDevState,
  swapDatabases,
  withTemporaryLogin,
} from "./provision.ts";
export { readRows, readValue } from "./read_rows.ts";
export { RELEASE, RELEASE_TEXT } from "./release.ts";
export { SIGNALS } from "./signals.ts";
export {
  ALL_APPS,
  CONSOLE_APP,
  MAX_STORED_RESPONSE_BYTES,
  NO_APP,
  REPLAY,
} from "./sql_constants.ts";
export {
  readSqlState,
  SignalError,
  toDatabaseError,
  type Violation,
  ViolationError,
} from "./sqlstate.ts";
export { PREVIEWS_SQL, readPreviews, recordPreviews } from "./switches.ts";
export { coalesce, type Versions, type VersionWatch, watchVersions } from "./versions.ts";
