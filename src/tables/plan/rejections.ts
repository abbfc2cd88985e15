/** Errors of a push as Problems: all conflicts together, and never a value of a row. @module */

import {
  CONTRACTED_FROM,
  findUnreachableNode,
  isClusterFailure,
  isNamed,
  readSqlState,
  SIGNALS,
  SignalError,
  type Violation,
  ViolationError,
} from "../../db/mod.ts";
import { type Detail, Problem, toSentence } from "../../problem.ts";
import { toDurationText } from "../../std/duration.ts";
import { PROCESS_SILENT_S } from "../../std/limits.ts";
import { findConstraint, nameOf } from "../catalog/mod.ts";
import { BROKEN, type Conflict, REJECTIONS } from "../conflicts.ts";
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
  const result = isClusterFailure(error) ? undefined : RESULTS[state ?? ""];
  if (result !== undefined) return result;
  if (state === SIGNALS.earlierProcesses)
    throw new Problem("push_busy", {
      message: `Cannot push while a process of a release before ${CONTRACTED_FROM} runs, or was killed less than ${toDurationText(PROCESS_SILENT_S)} ago: the operator must restart all processes with this release`,
      retryAfterS: 1,
      cause: error,
    });
  if (error instanceof ViolationError) {
    // Two new tables conflict in PostgreSQL's own catalogs, for example in pg_type_typname_nsp_index.
    if (error.violation.constraint?.startsWith("pg_") === true) return "locked";
    throw brokenByRows(error, steps);
  }
  if (state === SIGNALS.valueInUse)
    throw new Problem("incompatible_schema", { message: REJECTIONS.valueInUse, cause: error });
  if (state === SIGNALS.valueUnconverted)
    throw new Problem("incompatible_schema", {
      message: REJECTIONS.valueUnconverted,
      cause: error,
    });
  if (isDrift(error)) throw drifted(error);
  throw error;
}

/** Whether an object that a statement names is missing, or one that it creates exists. */
export function isDrift(error: unknown): boolean {
  return DRIFTED.has(readSqlState(error) ?? "");
}

/** A message that did not end has written nothing on any node. */
export function nodeUnreachable(node: string, error: unknown): Problem {
  return new Problem("unavailable", {
    message: `Cannot push: node ${node} of the database cannot be reached; nothing was written`,
    cause: error instanceof Problem ? error.cause : error,
    retryAfterS: 1,
  });
}

export function incompatible(
  conflicts: readonly Conflict[],
  message = REJECTIONS.declarations(conflicts.length),
): Problem {
  return new Problem("incompatible_schema", {
    message,
    details: conflicts.map((conflict, index) => ({
      path:
        conflict.column === undefined
          ? `/${conflict.table}`
          : `/${conflict.table}/${conflict.column}`,
      message: conflict.message + printOnce(conflict, conflicts.slice(0, index)),
    })),
  });
}

/** The remedy, unless an earlier conflict of the same table has the same remedy. */
function printOnce({ table, remedy }: Conflict, earlier: readonly Conflict[]): string {
  const isStated = earlier.some((other) => other.table === table && other.remedy === remedy);
  return isStated ? "" : `: ${remedy}`;
}

/** The push would make the app grow beyond a limit. */
export function overQuota(details: Detail[]): Problem {
  return new Problem("invalid_schema", {
    message: "Cannot push: the app would exceed a limit; nothing was written",
    details,
  });
}

export function busy(): Problem {
  return new Problem("push_busy", { retryAfterS: 1 });
}

/** Existing rows violate the push. Never reveals the rows or their app. */
function brokenByRows(error: ViolationError, steps: readonly Step[]): Problem {
  // A push calls no function that rejects by a rule of an app.
  const { kind } = error.violation;
  const rule = BROKEN[kind === "rule" ? "value" : kind];
  const columns = steps.flatMap((step) => findBroken(step, error.violation));
  return new Problem("incompatible_schema", {
    message: REJECTIONS.rows(rule),
    details: columns.map((path) => ({ path, message: toSentence(rule.message) })),
    cause: error,
  });
}

function findBroken(step: Step, { table, column, constraint }: Violation): string[] {
  if (step.kind === "set_required" && step.table === table && step.column === column)
    return [`/${table}/${column}`];
  if (step.kind === "add_key" && isNamed(nameOf(step.key), constraint ?? ""))
    return step.key.columns.map((name) => `/${step.table}/${name}`);
  if (step.kind !== "add_reference" || table !== step.table.name) return [];
  const reference = findConstraint(step.table, constraint ?? "");
  return (reference?.columns ?? []).map((name) => `/${table}/${name}`);
}

export function drifted(cause: unknown): Problem {
  return new Problem("incompatible_schema", { message: REJECTIONS.drifted, cause });
}
