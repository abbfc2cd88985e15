/** The lock for changes of roles and the service's own tables: one process at a time. @module */

/** SQL that waits for the lock, and holds it until the transaction ends. */
export const MIGRATE_LOCK =
  "pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0))";
