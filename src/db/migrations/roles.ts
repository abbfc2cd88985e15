/** The roles that `roles.sql` creates. @module */

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
] as const;
