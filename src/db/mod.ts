/** The database's edge: the pool, what its errors mean, the service's own migrations. Imports "postgres" alone. @module */
export { AdmissionError, admitLogin } from "./admit.ts";
export { isDriverPatched, type Parameter } from "./connection.ts";
export { findIsolationFaults } from "./isolation.ts";
export { quoteBody, quoteLiteral, quoteName } from "./literal.ts";
export type { PoolStats } from "./members.ts";
export { findMissingMigrations, MigrationError, migrate } from "./migrate.ts";
export {
  type CallOptions,
  type Database,
  type DatabaseOptions,
  EXECUTION_LIMIT_MS,
  openDatabase,
} from "./pool.ts";
export { makeDatabase, makeLogin } from "./provision.ts";
export { readSqlState, SignalError, type Violation, ViolationError } from "./sqlstate.ts";
export {
  coalesce,
  type VersionKind,
  type Versions,
  type VersionWatch,
  WATCH_INTERVAL_MS,
  watchVersions,
} from "./versions.ts";
