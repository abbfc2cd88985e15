/**
 * The service's code: functions, triggers, policies and rights, in a `.sql` file per subject. A database has the code of one
 * release as a whole (`migrations/renew_code.ts`).
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { APP_SWITCH_NAMES, APP_SWITCHES, describeSwitch, STOP_BITS } from "../../app_switch.ts";
import { type IndexPart, KINDS, SQL } from "../../kinds/mod.ts";
import { PERSON_BIT, SCOPE_BITS } from "../../principal.ts";
import { INTENDED } from "../../problem.ts";
import { FOUND } from "../../std/found.ts";
import { LATENCY_BUCKETS } from "../../std/latency.ts";
import * as limits from "../../std/limits.ts";
import * as storedText from "../../std/patterns.ts";
import { quoteLiteral } from "../../std/quote.ts";
import { FORMER_ENDPOINTS, SET_FUNCTIONS } from "../endpoints.ts";
import { renderFindIssues } from "../isolation.ts";
import * as sqlConstants from "../sql_constants.ts";
import {
  type AuditActions,
  OTHER_AUDIT_ACTIONS,
  renderAuditActions,
  renderSwitches,
} from "../switches.ts";
import { KIND_TERMS } from "./kind_terms.ts";
import { type Code, readCode } from "./statements.ts";
import { defineVisitorFunctions, readActions, renderDispatcher } from "./visitor_functions.ts";

/** SQL files name these. */
const CONSTANTS: Readonly<Record<string, unknown>> = {
  ...{ ...limits, ...storedText, ...sqlConstants, LATENCY_BUCKETS },
  ENDPOINT_NAMES: SET_FUNCTIONS.join("|"),
  FORMER_NAMES: Object.keys(FORMER_ENDPOINTS).join("|"),
  FOUND_CLASSES: Object.keys(FOUND).map(quoteLiteral).join(", "),
  HISTORY_BIT: APP_SWITCHES.history.proofBit,
  INTENDED_CODES: INTENDED.map(quoteLiteral).join(", "),
  LISTENING_SWITCHES: quoteLiteral(
    `{${APP_SWITCH_NAMES.filter((name) => describeSwitch(name).hasListeners).join(",")}}`,
  ),
  KIND_TERMS: quoteLiteral(JSON.stringify(KIND_TERMS)),
  LIVE_BIT: APP_SWITCHES.live.proofBit,
  LISTEN_BITS: APP_SWITCHES.live.proofBit | APP_SWITCHES.history.proofBit,
  PERSON_BIT,
  PERSON_WRITE_BITS: PERSON_BIT | STOP_BITS,
  PREVIEW_SWITCHES: APP_SWITCH_NAMES.filter((name) => describeSwitch(name).preview !== undefined)
    .map(quoteLiteral)
    .join(", "),
  STOP_BITS,
  WRITE_BITS: SCOPE_BITS["data:write"] | STOP_BITS,
  // Their values in responses are texts, also if a row had another value before.
  TEXT_KINDS: KINDS.filter(
    (kind) => SQL[kind].isSentAsText === true || SQL[kind].type?.printed === "text",
  )
    .map(quoteLiteral)
    .join(", "),
  // Of a column that `format` inserts.
  TEXT_REST: toFormat(SQL.string.parts?.rest),
  TEXT_START: toFormat(SQL.string.parts?.start),
  TEXT_TESTED: toFormat(SQL.string.parts?.tested),
};

function toFormat(part: Pick<IndexPart, "render"> | undefined): string {
  return quoteLiteral(part?.render("%1$s").replaceAll(" = ", " operator(pg_catalog.=) ") ?? "");
}

const FILES = [...new Bun.Glob("*/*.sql").scanSync(import.meta.dir)].sort();

function readFiles(paths: readonly string[]): string {
  return paths
    .map((path) => fillConstants(readFileSync(`${import.meta.dir}/${path}`, "utf8")))
    .join("\n");
}

const WRITTEN = readFiles(FILES);

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

const CODE_BUT_CHECK: Code = readCode(
  [defineVisitorFunctions(WRITTEN), renderDispatcher(CONSOLE_ACTIONS)].join("\n"),
);
/** The names of the functions of all tables, which run as rowhouse_tenant. */
export const SHARED = CODE_BUT_CHECK.rights.flatMap(
  (right) => /^alter function rowhouse\.(\w+) owner to rowhouse_tenant$/.exec(right)?.[1] ?? [],
);
const CHECK = readCode(renderFindIssues({ finders: CODE_BUT_CHECK.finders, shared: SHARED }));

export const CODE: Code = {
  ...CODE_BUT_CHECK,
  functions: { ...CODE_BUT_CHECK.functions, ...CHECK.functions },
};

/** What only processes of an earlier release use. */
export const KEPT: Code = readCode(readFiles(FILES.filter((path) => path.startsWith("kept/"))));

/** The code after `rowhouse migrate --contract`. */
export const CONTRACTED: Code = {
  ...CODE,
  functions: Object.fromEntries(
    Object.entries(CODE.functions).filter(([name]) => !(name in KEPT.functions)),
  ),
  rights: CODE.rights.filter((right) => !KEPT.rights.includes(right)),
};

/** Rows that the declarations of this release fill: statements that insert, update and delete what differs. */
export const LOOKUP_ROWS = [renderAuditActions(AUDIT_ACTIONS), renderSwitches()];

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
