/**
 * What an operator does with apps' tables beside pushes: hand one to another app, end an app's use of one, drop one that
 * nobody uses. Each is noted in the audit log by the statement that does it.
 *
 * @module
 */
import {
  call,
  type Database,
  readSqlState,
  SIGNALS,
  SignalError,
  ViolationError,
} from "../../db/mod.ts";
import { Problem, type ProblemCode } from "../../problem.ts";
import { type Actor, runAction } from "../actions/action.ts";
import type { Reject } from "../actions/shown_call.ts";
import { unknownApp } from "./keys.ts";
import { type EndedUse, endRowsJob, runRowsJob } from "./rows_jobs.ts";

type Refusal = { code: ProblemCode; message: string };

const BUSY: Refusal = {
  code: "push_busy",
  message: "A push of that table is under way, or has just ended: try again",
};
const REFERRED_TO: Refusal = {
  code: "invalid_request",
  message: "Another table refers to that one: the other must go first",
};

/** By what the functions of `rowhouse` raise, and PostgreSQL where somebody has the table locked. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  [SIGNALS.pushBusy]: BUSY,
  "55P03": { ...BUSY, message: "The table is locked: try again" },
  [SIGNALS.unknownTable]: {
    code: "unknown_table",
    message: "No table has that name: rowhouse db status --app <slug> lists those that an app uses",
  },
  [SIGNALS.notItsTable]: {
    code: "invalid_request",
    message: "That app does not use the table: it has not pushed a declaration of it",
  },
  [SIGNALS.tableInUse]: {
    code: "invalid_request",
    message:
      "Apps use the table, and rowhouse db status --app <slug> of one of them names all: end each one's use with rowhouse admin end-registration, the owner's last",
  },
  [SIGNALS.tableReferredTo]: REFERRED_TO,
  [SIGNALS.unknownJob]: REFERRED_TO,
  [SIGNALS.isolationBroken]: {
    code: "unavailable",
    message: "The database does not keep apps apart: run rowhouse doctor, and fix what it reports",
  },
};

/** `rows` is the connection of a login that is a member of `rowhouse_rows` alone. */
type RowsDeps = { admin: Database; rows: Database };

/**
 * Makes another app the owner of a table that it uses; returns the slug of the app that owned it before.
 *
 * @throws {Problem} unknown_table; unknown_app; invalid_request — the app has not pushed the table; push_busy
 */
export async function transferTable(
  actor: Actor,
  { table, slug }: { table: string; slug: string },
): Promise<string> {
  const values = { wanted_table: table, new_slug: slug };
  return await runAction(actor, "transfer_table", values, rejectFor(actor, slug));
}

/**
 * Checks that an app's use of a table can end, and of those that refer to each other with it in a circle: the tables with how
 * many rows the app has of each.
 *
 * @throws {Problem} unknown_table; unknown_app; push_busy; invalid_request — the app does not use the table, owns it while
 *   others use it, or has another table that refers to it
 */
export async function findEndedUse(
  deps: RowsDeps,
  { table, slug }: { table: string; slug: string },
): Promise<EndedUse[]> {
  const { app, tables } = await beginEndRegistration(deps, { table, slug });
  const found: EndedUse[] = [];
  for (const name of tables)
    found.push({ name, rows: await call(deps.rows, "count_rows", { wanted_table: name, app }) });
  return found;
}

/**
 * Ends an app's use of the tables that were `told` before, and deletes its rows of them. The app is not served the tables from
 * the first moment on; if a step fails, the call can be repeated and goes on from there.
 *
 * @throws {Problem} as `findEndedUse`; push_busy — also if others than those that were told would go
 */
export async function endRegistration(
  deps: RowsDeps,
  { table, slug, told }: { table: string; slug: string; told: readonly string[] },
): Promise<EndedUse[]> {
  const { job } = await beginEndRegistration(deps, { table, slug, told });
  if (job === null) throw new Error("An end of a registration gave no job");
  try {
    await runRowsJob(deps.rows, job);
  } catch (error) {
    if (error instanceof ViolationError) await call(deps.admin, "cancel_rows_job", { job });
    throw refuseTableAct(error, slug);
  }
  const ended = await endRowsJob(deps.admin, job);
  if (ended === null) throw refuseTableAct(new SignalError(SIGNALS.unknownJob), slug);
  return ended;
}

type Begun = { app: string; tables: string[]; job: string | null };

/** Without the tables that were `told` before it only checks. @throws {Problem} as {@linkcode findEndedUse} */
export async function beginEndRegistration(
  actor: Actor,
  { table, slug, told }: { table: string; slug: string; told?: readonly string[] },
): Promise<Begun> {
  const values = { wanted_slug: slug, wanted_table: table, told };
  const reject = rejectFor(actor, slug);
  return (await runAction(actor, "begin_end_registration", values, reject)) as Begun;
}

/** A table that is dropped, and the slug of the app that owned it. */
export type DroppedTable = { name: string; owner: string };

/**
 * Drops a table that no app uses any more, and those that refer to each other with it in a circle: their names are free
 * then. Without the names that were `told` before it only checks.
 *
 * @throws {Problem} unknown_table; push_busy — also if others than those that were told would go; invalid_request — an
 *   app uses one of them, or another table refers to one
 */
export async function dropTable(
  actor: Actor,
  { table, told }: { table: string; told?: readonly string[] },
): Promise<DroppedTable[]> {
  const values = { wanted_table: table, told };
  const reject = rejectFor(actor, "");
  return (await runAction(actor, "drop_table", values, reject)) as DroppedTable[];
}

/** What a browser's visitor can do about it there. */
const IN_BROWSER = {
  [SIGNALS.tableInUse]:
    "Apps use the table: under Tables of each app, end its use first, that of the owner last.",
  [SIGNALS.unknownTable]: "No table has that name.",
  [SIGNALS.isolationBroken]:
    "The database does not keep apps apart. The operator must run rowhouse doctor.",
};

/** What to throw for an error about a table, in words for the actor. */
export function rejectFor(actor: Actor, slug: string): Reject {
  const words = "cookies" in actor ? IN_BROWSER : {};
  return (error) => refuseTableAct(error, slug, words);
}

/** The refusal of an act on a table, made from the database's error; `words` replace its message by signal or SQLSTATE. */
function refuseTableAct(
  error: unknown,
  slug: string,
  words: Readonly<Record<string, string>> = {},
): unknown {
  // Rows of a table that its app no longer declares may still refer to rows that would go.
  if (error instanceof ViolationError) return toProblem(REFERRED_TO, error);
  const state = error instanceof SignalError ? error.signal : readSqlState(error);
  if (state === SIGNALS.unknownApp) return unknownApp(slug);
  const refusal = REFUSALS[state ?? ""];
  if (refusal === undefined) return error;
  return toProblem({ ...refusal, message: words[state ?? ""] ?? refusal.message }, error);
}

function toProblem({ code, message }: Refusal, cause: unknown): Problem {
  return new Problem(code, { message, cause });
}
