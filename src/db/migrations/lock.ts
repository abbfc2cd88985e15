/** What lets one process at a time change roles and the service's own tables. @module */

/** SQL that waits for its turn, until the transaction ends. */
export const MIGRATE_LOCK =
  "pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0))";
