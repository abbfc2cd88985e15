/** Errors of a push as Problems: all conflicts together, and never a value of a row. @module */
import { findConstraint } from "../catalog/mod.ts";
import {
  findNodeError,
  findUnreachableNode,
  isNamed,
  readSqlState,
  SIGNALS,
  SignalError,
  type Violation,
  ViolationError,
} from "../db/mod.ts";
import { Problem } from "../problem.ts";
import type { Conflict } from "./compare.ts";
import type { Step } from "./step.ts";

/**
 * The result of a message. `applied`: success. `moved`: the state has changed since the plan. `held`:
 * another push has the locks. `locked`: the tables, or rows of PostgreSQL's catalogs, are in use.
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

/** SQLSTATEs of drift: an object already exists, or is missing. */
const DRIFTED = new Set(["42P07", "42710", "42701", "42723", "42703", "42P01", "42704", "42883"]);

/**
 * Converts an error of a push's message to its result; `steps` are the message's steps.
 *
 * @throws {Problem} incompatible_schema — rows violate a rule of the push, or the database has drifted; otherwise the error
 */
export function readMessageResult(error: unknown, steps: readonly Step[] = []): MessageResult {
  const state = error instanceof SignalError ? error.signal : readSqlState(error);
  const node = findUnreachableNode(error);
  if (node !== undefined) throw nodeUnreachable(node, error);
  const result = isOfCitus(error) ? undefined : RESULTS[state ?? ""];
  if (result !== undefined) return result;
  if (error instanceof ViolationError) {
    // Two new tables conflict in PostgreSQL's own catalogs, for example in pg_type_typname_nsp_index.
    if (error.violation.constraint?.startsWith("pg_") === true) return "locked";
    throw brokenByRows(error, steps);
  }
  if (state === SIGNALS.valueInUse)
    throw new Problem("incompatible_schema", {
      message:
        "Cannot drop this value: rows of this app or another app have it; nothing was written. Give them another value first",
      cause: error,
    });
  if (state === SIGNALS.valueUnconverted)
    throw new Problem("incompatible_schema", {
      message:
        "Cannot retype this column: a new row has a value that does not convert; nothing was written",
      cause: error,
    });
  if (isDrift(error)) throw drifted(error);
  throw error;
}

/** Whether an object that a statement names is missing, or one that it creates exists. */
export function isDrift(error: unknown): boolean {
  return DRIFTED.has(readSqlState(error) ?? "");
}

/** Citus' message for permanent failures; its SQLSTATE is only that of an internal error. */
const CITUS_TERMS = /connection|remote|shard|placement|worker|metadata/i;

function isOfCitus(error: unknown): boolean {
  if (readSqlState(error) !== "XX000" || !(error instanceof Error)) return false;
  return CITUS_TERMS.test(findNodeError(error)?.message ?? error.message);
}

/** A message that did not end has written nothing on any node. */
export function nodeUnreachable(node: string, error: unknown): Problem {
  return new Problem("unavailable", {
    message: `Cannot push: node ${node} of the database cannot be reached; nothing was written`,
    cause: error instanceof Problem ? error.cause : error,
    retryAfterS: 1,
  });
}

export function incompatible(conflicts: readonly Conflict[]): Problem {
  const count = conflicts.length;
  return new Problem("incompatible_schema", {
    message: `Cannot push: ${count} ${count === 1 ? "declaration does" : "declarations do"} not fit the tables; nothing was written`,
    details: conflicts.map((conflict, index) => ({
      path:
        conflict.column === undefined
          ? `/${conflict.table}`
          : `/${conflict.table}/${conflict.column}`,
      message: describeConflict(conflict) + printOnce(conflict, conflicts.slice(0, index)),
    })),
  });
}

function describeConflict({ wanted, found, reason, holder }: Conflict): string {
  return found === undefined
    ? `The schema declares ${wanted}, which ${reason ?? "does not fit the table"}`
    : `The schema declares ${wanted}, but ${holder ?? "the table"} has ${found}`;
}

/** The remedy, unless an earlier conflict of the same table has the same remedy. */
function printOnce({ table, remedy }: Conflict, earlier: readonly Conflict[]): string {
  const isStated = earlier.some((other) => other.table === table && other.remedy === remedy);
  return isStated ? "" : `: ${remedy}`;
}

export function busy(): Problem {
  return new Problem("push_busy", { retryAfterS: 1 });
}

type Rule = { what: string; remedy: string };

const BROKEN: Readonly<Record<Violation["kind"], Rule>> = {
  unique: {
    what: "share values that a new unique constraint would forbid",
    remedy: "change or delete the duplicates, or leave the constraint out",
  },
  required: {
    what: "lack a value that would become required",
    remedy: "give every row a value first, or leave the column optional",
  },
  reference: { what: "refer to rows that do not exist", remedy: "leave the reference out" },
  value: { what: "violate a rule of this push", remedy: "leave the column as it was" },
};

/** Existing rows violate the push. Never reveals the rows or their app. */
function brokenByRows(error: ViolationError, steps: readonly Step[]): Problem {
  const { what, remedy } = BROKEN[error.violation.kind];
  const columns = steps.flatMap((step) => findBroken(step, error.violation));
  return new Problem("incompatible_schema", {
    message: `Cannot push: existing rows ${what}; nothing was written. To continue, ${remedy}`,
    details: columns.map((path) => ({ path, message: `Existing rows ${what}` })),
    cause: error,
  });
}

/** The columns of a violated step, as paths. */
function findBroken(step: Step, { table, column, constraint }: Violation): string[] {
  if (step.kind === "set_required" && step.table === table && step.column === column)
    return [`/${table}/${column}`];
  if (step.kind === "add_key" && isNamed(step.key.name, constraint ?? ""))
    return step.key.columns.map((name) => `/${step.table}/${name}`);
  if (step.kind !== "add_reference" || table !== step.table.name) return [];
  const reference = findConstraint(step.table, constraint ?? "");
  return (reference?.columns ?? []).map((name) => `/${table}/${name}`);
}

export function drifted(cause: unknown): Problem {
  return new Problem("incompatible_schema", {
    message:
      "Cannot push: the database differs from the record of pushes; nothing was written. An operator can list the differences with rowhouse db status",
    cause,
  });
}
