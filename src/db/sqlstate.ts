/**
 * Maps errors of PostgreSQL and the driver to the service's errors, with one table of SQLSTATEs. Messages, details and
 * hints are never passed on: they quote other apps' values.
 *
 * @module
 */
import { Problem, type ProblemCode } from "../problem.ts";
import { errorCode, isConnectFailure } from "../std/network.ts";
import { toConditionMessage } from "./conditions.ts";
import {
  findLostNode,
  findNodeError,
  isMisrouted,
  isOutdated,
  isUnconnected,
  readShardNames,
  type ShardNames,
} from "./node_errors.ts";
import { SIGNAL_START, SIGNALS } from "./signals.ts";

/** A violated constraint of a table, with the data to identify the field. */
export type Violation = {
  kind: "unique" | "reference" | "required" | "value" | "rule";
  /** The name of the constraint or index, or the column if PostgreSQL names it. */
  constraint: string | undefined;
  table: string | undefined;
  column: string | undefined;
  /** The row of a batch, counted from 0. */
  row: number | undefined;
};

/** The database rejected a value; a module turns it into a Problem that names the fields. */
export class ViolationError extends Error {
  readonly violation: Violation;
  readonly sqlState: string;
  constructor(violation: Violation, sqlState: string) {
    super(`A ${violation.kind} constraint was violated`);
    this.name = "ViolationError";
    this.violation = violation;
    this.sqlState = sqlState;
  }
}

/** An error that the service's own SQL raised deliberately, by its SQLSTATE in `SIGNALS`. */
export class SignalError extends Error {
  readonly signal: string;
  /** The detail from the service's own SQL, if any. */
  readonly detail: string | undefined;
  constructor(signal: string, detail?: string) {
    super(`Signal ${signal}`);
    this.name = "SignalError";
    this.signal = signal;
    this.detail = detail;
  }
}

/** Neither the statement nor its cancellation got a response. */
export class SilenceError extends Error {
  constructor() {
    super("The database did not respond in time");
    this.name = "SilenceError";
  }
}

/** The connection was lost before anything of the statement was sent. */
export class UnsentError extends Error {
  constructor() {
    super("The connection was lost before the statement was sent");
    this.name = "UnsentError";
  }
}

const VIOLATIONS: Readonly<Record<string, Violation["kind"]>> = {
  "23505": "unique",
  "23503": "reference",
  "23001": "reference",
  "23502": "required",
  "23514": "value",
  "22P02": "value",
  "22003": "value",
  "22007": "value",
  "22008": "value",
  "22021": "value",
  "22P05": "value",
  // Raised by functions of people, in the class of constraints: see db/code/apps/rules.sql.
  "23R01": "rule",
};

type ErrorMapping = { code: ProblemCode; retryAfterS?: number };

/** By SQLSTATE, otherwise by its class (two characters). */
const ERROR_MAPPINGS: Readonly<Record<string, ErrorMapping>> = {
  "25006": { code: "unavailable", retryAfterS: 5 },
  "08": { code: "unavailable", retryAfterS: 1 },
  "40": { code: "unavailable", retryAfterS: 1 },
  "53": { code: "unavailable", retryAfterS: 5 },
  "55": { code: "unavailable", retryAfterS: 1 },
  "57": { code: "unavailable", retryAfterS: 1 },
  "58": { code: "unavailable", retryAfterS: 5 },
};

/** Lost a conflict with another statement: rolled back, can be retried. */
const LOST_RACES = new Set(["40001", "40P01"]);
/** Canceled by a client, a limit of the server, or a conflict on a standby: rolled back. */
const CANCELED = new Set(["57014", "25P03", "25P04"]);
/** The server ended the session before the statement was complete: rolled back. */
const SESSION_ENDED = "57P01";
/** After these errors, a write can have been committed: a crash, or a pooler that lost its server. */
const UNREPORTED = ["08", "40003", "57P02"];

/** The driver's own codes for a lost connection. */
const CUT = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "CONNECTION_ENDED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
]);

/** How a statement ended: at its time limit, canceled by the service, or earlier. */
export type Failure = {
  error: unknown;
  retry: "safe" | "unsafe";
  /** Whether the statement ran on another node of a cluster: a cancellation on the coordinator can arrive after its end. */
  isHandedOver: boolean;
  isTimedOut: boolean;
  isAsked: boolean;
  isEarly: boolean;
};

/** Returns whether PostgreSQL reported the error and rolled the statement back. */
export function isRolledBack(error: unknown): boolean {
  const code = errorCode(error) ?? "";
  return (
    readField(error, "severity") !== undefined &&
    !UNREPORTED.some((start) => code.startsWith(start))
  );
}

/** Returns whether a failed statement certainly had no effect and can succeed if repeated. */
export function isWorthAnother(failure: Failure, attempt: number): boolean {
  const { error } = failure;
  const code = errorCode(error) ?? "";
  if (LOST_RACES.has(code)) return true;
  if (failure.isAsked) return false;
  // Canceled by another client: a pooler's delayed cancellation, an administrator, a conflict on a standby.
  if (CANCELED.has(code)) return failure.isEarly && !isOnNode(failure) && attempt === 1;
  if (code === SESSION_ENDED || isMisrouted(error) || isOutdated(error)) return true;
  if (error instanceof UnsentError) return true;
  return failure.retry === "safe" && (CUT.has(code) || code.startsWith("08"));
}

/** The error for a failed statement. */
export function toDatabaseError(
  error: unknown,
  call: Pick<Failure, "retry" | "isTimedOut" | "isEarly" | "isHandedOver">,
): Error {
  const code = readCode(error) ?? "";
  const isSilent = error instanceof SilenceError;
  if (isSilent || CANCELED.has(code)) {
    // Without a response to the cancellation, the write can still happen.
    if ((isSilent && call.retry === "unsafe") || isOnNode(call)) return unknownOutcome(error);
    if (call.isTimedOut || !call.isEarly) return new Problem("timeout", { cause: error });
    return new Problem("unavailable", { message: CANCELED_TEXT, cause: error, retryAfterS: 1 });
  }
  if (code === SIGNALS.writesStopped) return new Problem("read_only", { cause: error });
  if (code.startsWith(SIGNAL_START)) return new SignalError(code, readField(error, "detail"));
  const kind = VIOLATIONS[code];
  if (kind !== undefined) return new ViolationError(toViolation(kind, error), code);
  const isUnsent = error instanceof UnsentError || isConnectFailure(error);
  if (isUnsent || isMisrouted(error) || isUnconnected(error)) return toUnavailable(error);
  if (findLostNode(error) !== undefined) return toUnavailable(error);
  if (CUT.has(code)) return call.retry === "safe" ? toUnavailable(error) : unknownOutcome(error);
  if (call.retry === "unsafe" && UNREPORTED.some((start) => code.startsWith(start)))
    return unknownOutcome(error);
  const mapping = ERROR_MAPPINGS[code] ?? ERROR_MAPPINGS[code.slice(0, 2)];
  if (mapping === undefined)
    return error instanceof Error ? error : new Error("The driver threw no error");
  return new Problem(mapping.code, {
    ...toConditionMessage({ code }),
    cause: error,
    retryAfterS: mapping.retryAfterS,
  });
}

const CANCELED_TEXT = "The database canceled the statement";

/** Returns whether only the coordinator canceled a write: a hanging node still executes the received statements. */
function isOnNode({ retry, isHandedOver }: Pick<Failure, "retry" | "isHandedOver">): boolean {
  return retry === "unsafe" && isHandedOver;
}

/** The SQLSTATE or driver code that caused an error of this module, from the failed node; `undefined` for other errors. */
export function readSqlState(error: unknown): string | undefined {
  if (error instanceof ViolationError) return error.sqlState;
  return readCode(error instanceof Problem ? error.cause : error);
}

function readCode(error: unknown): string | undefined {
  return findNodeError(error)?.code ?? errorCode(error);
}

export function toUnavailable(cause: unknown): Problem {
  return new Problem("unavailable", { ...toConditionMessage(cause), cause, retryAfterS: 1 });
}

function unknownOutcome(cause: unknown): Problem {
  return new Problem("unknown_outcome", { cause, retryAfterS: 1 });
}

function toViolation(kind: Violation["kind"], error: unknown): Violation {
  const { constraint, table, column } = readNames(kind, error);
  const hint = readField(error, "hint");
  // A function that creates several rows reports the position; PostgreSQL's own hints are sentences.
  const row = hint !== undefined && /^\d+$/.test(hint) ? Number(hint) : undefined;
  return { kind, constraint, table, column, row };
}

function readNames(kind: Violation["kind"], error: unknown): ShardNames {
  const constraint = readField(error, "constraint_name");
  const table = readField(error, "table_name");
  const column = readField(error, "column_name");
  const message = readField(error, "message");
  if (kind === "value" || message === undefined || (constraint ?? column) !== undefined)
    return { constraint, table, column };
  return readShardNames(kind, message);
}

function readField(error: unknown, name: string): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const value: unknown = Reflect.get(error, name);
  // A function that rethrows an error cannot omit a field.
  return typeof value === "string" && value !== "" ? value : undefined;
}
