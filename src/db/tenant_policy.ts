/** The policy of every app table: only rows of one app can be read or written. @module */

/** The setting that names the app of a transaction. */
export const APP_SETTING = "rowhouse.app_id";

/** The condition of the policy `tenant`, for rows that are read and rows that are written. */
export const TENANT_POLICY = {
  /** As push writes it. */
  written: `app_id = nullif(pg_catalog.current_setting('${APP_SETTING}', true), '')::pg_catalog.uuid`,
  /** As PostgreSQL 15 to 18 print what push wrote. */
  printed: `(app_id = (NULLIF(current_setting('${APP_SETTING}'::text, true), ''::text))::uuid)`,
} as const;
