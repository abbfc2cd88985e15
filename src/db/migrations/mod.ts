/**
 * The service's own migrations in order, each one message and one transaction. The first, the baseline, has a `.sql` file
 * per area with its tables, functions and grants.
 *
 * Until 0.1.0 is released the baseline is edited in place; from then on migrations are only appended.
 *
 * @module
 */

import { FIND_ISSUES } from "../isolation.ts";
import ACCOUNT_SETTINGS from "./account_settings.sql" with { type: "text" };
import ADDRESSES from "./addresses.sql" with { type: "text" };
import APP_DELETION from "./app_deletion.sql" with { type: "text" };
import APP_LIFE from "./app_life.sql" with { type: "text" };
import APPS from "./apps.sql" with { type: "text" };
import ARCHIVE from "./archive.sql" with { type: "text" };
import CHANGES from "./changes.sql" with { type: "text" };
import CONSOLE from "./console.sql" with { type: "text" };
import CONSOLE_AUDIT from "./console_audit.sql" with { type: "text" };
import CONSOLE_CHANGES from "./console_changes.sql" with { type: "text" };
import CONSOLE_FIND from "./console_find.sql" with { type: "text" };
import CONSOLE_HOME from "./console_home.sql" with { type: "text" };
import CONSOLE_PEOPLE from "./console_people.sql" with { type: "text" };
import CONSOLE_READS from "./console_reads.sql" with { type: "text" };
import CONSOLE_REQUESTS from "./console_requests.sql" with { type: "text" };
import CONSOLE_ROWS from "./console_rows.sql" with { type: "text" };
import CONSOLE_TABLES from "./console_tables.sql" with { type: "text" };
import FACTOR_USE from "./factor_use.sql" with { type: "text" };
import IDEMPOTENCY from "./idempotency.sql" with { type: "text" };
import INVITATIONS from "./invitations.sql" with { type: "text" };
import ISOLATION from "./isolation.sql" with { type: "text" };
import KEYS from "./keys.sql" with { type: "text" };
import LEASES from "./leases.sql" with { type: "text" };
import LIVE from "./live.sql" with { type: "text" };
import MAILS from "./mails.sql" with { type: "text" };
import ME from "./me.sql" with { type: "text" };
import NONCES from "./nonces.sql" with { type: "text" };
import OWN_SECOND_FACTOR from "./own_second_factor.sql" with { type: "text" };
import PASSKEYS from "./passkeys.sql" with { type: "text" };
import PENDING_SIGN_INS from "./pending_sign_ins.sql" with { type: "text" };
import PEOPLE from "./people.sql" with { type: "text" };
import PEOPLE_ACTIONS from "./people_actions.sql" with { type: "text" };
import PEOPLE_LISTS from "./people_lists.sql" with { type: "text" };
import PROVIDERS from "./providers.sql" with { type: "text" };
import PUSH from "./push.sql" with { type: "text" };
import PUSH_READS from "./push_reads.sql" with { type: "text" };
import QUERIES from "./queries.sql" with { type: "text" };
import ROLES from "./roles.sql" with { type: "text" };
import ROWS from "./rows.sql" with { type: "text" };
import SCHEMA_RIGHTS from "./schema_rights.sql" with { type: "text" };
import SCHEMAS from "./schemas.sql" with { type: "text" };
import SECOND_FACTORS from "./second_factors.sql" with { type: "text" };
import SERVICE_MIGRATIONS from "./service_migrations.sql" with { type: "text" };
import SESSIONS from "./sessions.sql" with { type: "text" };
import STATISTICS from "./statistics.sql" with { type: "text" };
import TABLES from "./tables.sql" with { type: "text" };
import THROTTLE from "./throttle.sql" with { type: "text" };
import { defineVisitorFunctions } from "./visitor_functions.ts";

export type ServiceMigration = {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
};

const BASELINE = [
  ROLES,
  SCHEMAS,
  SCHEMA_RIGHTS,
  SERVICE_MIGRATIONS,
  APPS,
  KEYS,
  IDEMPOTENCY,
  PEOPLE,
  SESSIONS,
  ADDRESSES,
  MAILS,
  PEOPLE_ACTIONS,
  INVITATIONS,
  THROTTLE,
  STATISTICS,
  NONCES,
  LEASES,
  ACCOUNT_SETTINGS,
  SECOND_FACTORS,
  PENDING_SIGN_INS,
  FACTOR_USE,
  OWN_SECOND_FACTOR,
  ME,
  PROVIDERS,
  PASSKEYS,
  PEOPLE_LISTS,
  CONSOLE,
  PUSH,
  FIND_ISSUES,
  ISOLATION,
  QUERIES,
  ROWS,
  TABLES,
  CHANGES,
  PUSH_READS,
  APP_LIFE,
  LIVE,
  APP_DELETION,
  ARCHIVE,
  CONSOLE_READS,
  CONSOLE_HOME,
  CONSOLE_CHANGES,
  CONSOLE_REQUESTS,
  CONSOLE_FIND,
  CONSOLE_AUDIT,
  CONSOLE_PEOPLE,
  CONSOLE_ROWS,
  CONSOLE_TABLES,
];

export const MIGRATIONS: readonly ServiceMigration[] = [
  { number: 1, name: "baseline", sql: BASELINE.map(defineVisitorFunctions).join("\n") },
];
