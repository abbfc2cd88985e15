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
} from "../db/mod.ts";
import { Problem, type ProblemCode } from "../problem.ts";
import { OPERATOR } from "./audit.ts";
import { unknownApp } from "./keys.ts";

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
};

type Deps = { admin: Database };

/**
 * Makes another app the owner of a table that it uses; returns the slug of the app that owned it before.
 *
 * @throws {Problem} unknown_table; unknown_app; invalid_request — the app has not pushed the table; push_busy
 */
export async function transferTable(
  deps: Deps,
  { table, slug }: { table: string; slug: string },
): Promise<string> {
  return await call(
    deps.admin,
    "transfer_table",
    { wanted_table: table, new_slug: slug, actor: OPERATOR },
    { reject: (error) => refuseTableAct(error, slug) },
  );
}

/** A table whose use ends, and how many rows the app has of it. */
export type EndedUse = { name: string; rows: number };

/**
 * Ends an app's use of a table, and of those that refer to each other with it in a circle, and deletes its rows of them.
 * Without the names that were `told` before it only checks and counts.
 *
 * @throws {Problem} unknown_table; unknown_app; push_busy — also if others than those that were told would go;
 *   invalid_request — the app does not use the table, owns it while others use it, or has another table that refers to it
 */
export async function endRegistration(
  deps: Deps,
  { table, slug, told }: { table: string; slug: string; told?: readonly string[] },
): Promise<EndedUse[]> {
  const ended = await call(
    deps.admin,
    "end_registration",
    { wanted_slug: slug, wanted_table: table, told, actor: OPERATOR },
    { reject: (error) => refuseTableAct(error, slug) },
  );
  return ended as EndedUse[];
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
  deps: Deps,
  { table, told }: { table: string; told?: readonly string[] },
): Promise<DroppedTable[]> {
  const dropped = await call(
    deps.admin,
    "drop_table",
    { wanted_table: table, told, actor: OPERATOR },
    { reject: (error) => refuseTableAct(error, "") },
  );
  return dropped as DroppedTable[];
}

/** The refusal of an act on a table, made from the database's error; `words` replace its message by signal or SQLSTATE. */
export function refuseTableAct(
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
