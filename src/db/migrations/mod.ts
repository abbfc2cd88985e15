/**
 * The service's own migrations in order, each one message and one transaction. The first, the baseline, has a `.sql` file
 * per area with its tables, functions and grants.
 *
 * Until 0.1.0 is released the baseline is edited in place; from then on migrations are only appended.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { APP_SWITCHES } from "../../app_switch.ts";
import { INTENDED } from "../../problem.ts";
import { LATENCY_BUCKETS } from "../../std/latency.ts";
import * as limits from "../../std/limits.ts";
import * as storedText from "../../std/patterns.ts";
import { quoteLiteral } from "../../std/quote.ts";
import { FIND_ISSUES } from "../isolation.ts";
import * as sqlConstants from "../sql_constants.ts";
import {
  type AuditActions,
  OTHER_AUDIT_ACTIONS,
  renderAuditActions,
  renderSwitches,
} from "../switches.ts";
import { defineVisitorFunctions, readActions, renderDispatcher } from "./visitor_functions.ts";

export type ServiceMigration = {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
};

/** The files of the baseline, in order. */
const AREAS = [
  "roles",
  "schemas",
  "schema_rights",
  "service_migrations",
  "visitor",
  "apps",
  "keys",
  "idempotency",
  "people",
  "sessions",
  "addresses",
  "mails",
  "people_actions",
  "invitations",
  "throttle",
  "statistics",
  "nonces",
  "leases",
  "account_settings",
  "second_factors",
  "pending_sign_ins",
  "factor_use",
  "own_second_factor",
  "me",
  "providers",
  "passkeys",
  "people_lists",
  "console",
  "push",
  "isolation",
  "queries",
  "rows",
  "tables",
  "changes",
  "push_reads",
  "app_life",
  "live",
  "app_deletion",
  "archive",
  "console_reads",
  "console_home",
  "console_changes",
  "console_requests",
  "console_find",
  "console_audit",
  "console_people",
  "console_rows",
  "console_tables",
];

/** SQL files name these. */
const CONSTANTS: Readonly<Record<string, unknown>> = {
  ...{ ...limits, ...storedText, ...sqlConstants, LATENCY_BUCKETS },
  INTENDED_CODES: INTENDED.map(quoteLiteral).join(", "),
  LIVE_BIT: APP_SWITCHES.live.proofBit,
};

const WRITTEN = AREAS.map(readArea).join("\n");

/** The actions of administrators in the Console. */
export const CONSOLE_ACTIONS = readActions(WRITTEN);

export const AUDIT_ACTIONS: AuditActions = {
  ...OTHER_AUDIT_ACTIONS,
  ...Object.fromEntries(CONSOLE_ACTIONS.flatMap(({ logged }) => logged)),
};

/** The label of an action; of an unknown action, such as one of a later version, its name. */
export function labelAction(action: string): string {
  return AUDIT_ACTIONS[action]?.label ?? action;
}

const BASELINE = [WRITTEN, FIND_ISSUES, renderAuditActions(AUDIT_ACTIONS), renderSwitches()].join(
  "\n",
);

export const MIGRATIONS: readonly ServiceMigration[] = [
  {
    number: 1,
    name: "baseline",
    sql: `${defineVisitorFunctions(BASELINE)}\n${renderDispatcher(CONSOLE_ACTIONS)}`,
  },
];

function readArea(area: string): string {
  return fillConstants(readFileSync(`${import.meta.dir}/${area}.sql`, "utf8"));
}

/**
 * SQL with the value of each `${NAME}`.
 *
 * @throws {Error} no constant has the name
 */
export function fillConstants(sql: string): string {
  return sql.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = CONSTANTS[name];
    if (value === undefined) throw new Error(`SQL files cannot use ${name}: no such constant`);
    return String(value);
  });
}
