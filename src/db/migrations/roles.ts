/** The roles that `roles.sql` creates, and the lock for changing them. @module */

export const ROLE_NAMES = [
  "rowhouse_owner",
  "rowhouse_tables",
  "rowhouse_tenant",
  "rowhouse_service",
  "rowhouse_gateway",
  "rowhouse_data",
  "rowhouse_identity",
  "rowhouse_console",
  "rowhouse_rows",
  "rowhouse_listener",
  "rowhouse_reader",
] as const;

/** SQL that waits for the lock, and holds it until the transaction ends. */
export const MIGRATE_LOCK =
  "pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0))";
