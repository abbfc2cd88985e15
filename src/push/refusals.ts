/** Why a push cannot happen, as Problems: all conflicts at once, and never a value of a row. @module */
import { readSqlState, SIGNALS, SignalError, ViolationError } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import type { Conflict } from "./compare.ts";

/**
 * The result of a message. `applied`: nothing failed. `moved`: it was planned on a state that has changed since. `held`:
 * another push has the locks. `locked`: the tables, or rows of PostgreSQL's catalogs, are in use right now.
 */
export type MessageResult = "applied" | "moved" | "held" | "locked";

const RESULTS: Readonly<Record<string, MessageResult>> = {
  [SIGNALS.pushBusy]: "held",
  [SIGNALS.catalogMoved]: "moved",
  "55P03": "locked",
  "40P01": "locked",
  "40001": "locked",
  XX000: "locked",
};

/** SQLSTATEs that mean drift: something already exists, or is missing. */
const DRIFTED = new Set(["42P07", "42710", "42701", "42723", "42703", "42P01", "42704", "42883"]);

/**
 * The result that an error of a push's message means.
 *
 * @throws {Problem} incompatible_schema — rows break a rule of the push, or the database has drifted; otherwise the error
 */
export function readMessageResult(error: unknown): MessageResult {
  const state = error instanceof SignalError ? error.signal : readSqlState(error);
  const result = RESULTS[state ?? ""];
  if (result !== undefined) return result;
  if (error instanceof ViolationError) {
    // Two new tables collide in PostgreSQL's own catalogs, for example in pg_type_typname_nsp_index.
    if (error.violation.constraint?.startsWith("pg_") === true) return "locked";
    throw brokenByRows(error);
  }
  if (DRIFTED.has(state ?? "")) throw drifted(error);
  throw error;
}

export function incompatible(conflicts: readonly Conflict[]): Problem {
  const count = conflicts.length;
  return new Problem("incompatible_schema", {
    message: `Cannot push: ${count} ${count === 1 ? "declaration does" : "declarations do"} not fit the tables; nothing was written`,
    details: conflicts.map(({ table, column, wanted, found, remedy, ...how }) => ({
      path: column === undefined ? `/${table}` : `/${table}/${column}`,
      message:
        found === undefined
          ? `The schema wants ${wanted}, which ${how.misfit ?? "does not fit the table"}: ${remedy}`
          : `The schema wants ${wanted}, but ${how.holder ?? "the table"} has ${found}: ${remedy}`,
    })),
  });
}

export function busy(): Problem {
  return new Problem("push_busy", { retryAfterS: 1 });
}

const BROKEN: Readonly<Record<string, string>> = {
  unique: "share values that a new unique constraint would forbid",
  required: "lack a value that would become required",
};

/** Existing rows break what the push asks for. Which rows, and whose, is never revealed. */
function brokenByRows(error: ViolationError): Problem {
  const what = BROKEN[error.violation.kind] ?? "break a rule of this push";
  return new Problem("incompatible_schema", {
    message: `Cannot push: existing rows ${what}; nothing was written`,
    cause: error,
  });
}

function drifted(cause: unknown): Problem {
  return new Problem("incompatible_schema", {
    message:
      "Cannot push: the database differs from what pushes recorded; nothing was written. An operator can list the differences with rowhouse db status",
    cause,
  });
}
