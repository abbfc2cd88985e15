/**
 * The service's own migrations in order, each one message and one transaction. The first one, the baseline, has a file for
 * each area with its tables and functions, and beside each of them who may use it.
 *
 * Until 0.1.0 is released the baseline is edited in place; from then on migrations are only appended.
 *
 * @module
 */
import { ADDRESSES } from "./addresses.ts";
import { APP_DELETION } from "./app_deletion.ts";
import { APP_LIFE } from "./app_life.ts";
import { APPS } from "./apps.ts";
import { CONSOLE } from "./console.ts";
import { CONSOLE_ACTS } from "./console_acts.ts";
import { CONSOLE_AUDIT } from "./console_audit.ts";
import { CONSOLE_HOME } from "./console_home.ts";
import { CONSOLE_PEOPLE } from "./console_people.ts";
import { CONSOLE_READS } from "./console_reads.ts";
import { CONSOLE_ROWS } from "./console_rows.ts";
import { CONSOLE_TABLES } from "./console_tables.ts";
import { FACTOR_USE } from "./factor_use.ts";
import { IDEMPOTENCY } from "./idempotency.ts";
import { INVITATIONS } from "./invitations.ts";
import { KEYS } from "./keys.ts";
import { LEASES } from "./leases.ts";
import { MAILS } from "./mails.ts";
import { NONCES } from "./nonces.ts";
import { OWN_ACCOUNT } from "./own_account.ts";
import { OWN_SECOND_FACTOR } from "./own_second_factor.ts";
import { PASSKEYS } from "./passkeys.ts";
import { PENDING_SIGN_INS } from "./pending_sign_ins.ts";
import { PEOPLE } from "./people.ts";
import { PEOPLE_ACTS } from "./people_acts.ts";
import { PROVIDERS } from "./providers.ts";
import { PUSH } from "./push.ts";
import { ROLES } from "./roles.ts";
import { ROWS } from "./rows.ts";
import { SECOND_FACTORS } from "./second_factors.ts";
import { SESSIONS } from "./sessions.ts";
import { STATISTICS } from "./statistics.ts";
import { TABLES } from "./tables.ts";
import { THROTTLE } from "./throttle.ts";

export type ServiceMigration = {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
};

export const MIGRATIONS: readonly ServiceMigration[] = [
  {
    number: 1,
    name: "baseline",
    sql: [
      ROLES,
      APPS,
      KEYS,
      IDEMPOTENCY,
      PEOPLE,
      SESSIONS,
      ADDRESSES,
      MAILS,
      PEOPLE_ACTS,
      INVITATIONS,
      THROTTLE,
      STATISTICS,
      NONCES,
      LEASES,
      OWN_ACCOUNT,
      SECOND_FACTORS,
      PENDING_SIGN_INS,
      FACTOR_USE,
      OWN_SECOND_FACTOR,
      PROVIDERS,
      PASSKEYS,
      CONSOLE,
      PUSH,
      ROWS,
      TABLES,
      APP_LIFE,
      APP_DELETION,
      CONSOLE_READS,
      CONSOLE_HOME,
      CONSOLE_AUDIT,
      CONSOLE_ACTS,
      CONSOLE_PEOPLE,
      CONSOLE_ROWS,
      CONSOLE_TABLES,
    ].join(""),
  },
];
