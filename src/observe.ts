/**
 * The service's log: one JSON line per event, written to a sink that comes in through `deps`. All fields are named in one
 * list. Callers put no secret into any of them; as a last resort, the text of unexpected errors is scrubbed.
 *
 * @module
 */

import { isOutage } from "./problem.ts";
import { errorCode } from "./std/error_code.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Every field that a log line may have. None holds a header, a body, a row or a connection string. */
export type LogFields = Partial<AnswerRecord> & {
  /** A sentence of our own, or the scrubbed message of an unexpected error. */
  message?: string | undefined;
  /** An unexpected error's name, or the type of what was thrown instead of one. */
  error?: string;
  stack?: string | undefined;
  /** Which background work failed. */
  during?: string;
  /** Requests that were refused while something lasted. */
  refused?: number;
  /** Why a signature was refused. */
  reason?: string;
  /** Where a process listens, and in which role. */
  host?: string;
  port?: number;
  role?: string;
  worker?: string | undefined;
  /** A mail in the queue, and what became of it. */
  mailId?: number;
  template?: string;
  outcome?: string;
  /** How a process ended. */
  exitCode?: number;
};
/** Logs an event; its name is a few plain words. */
export type Log = (level: LogLevel, event: string, fields?: LogFields) => void;

/** A log that writes lines of level `least` and above to `write`; the clock comes in so that tests can set it. */
export function makeLog(
  least: LogLevel,
  options: { write: (line: string) => void; now: () => Date },
): Log {
  const threshold = LOG_LEVELS.indexOf(least);
  const toTime = makeTimeText();
  return (level, event, fields) => {
    if (LOG_LEVELS.indexOf(level) < threshold) return;
    const head = `{"time":"${toTime(options.now())}","level":"${level}","event":"${event}"`;
    const rest = fields === undefined ? "{}" : JSON.stringify(fields);
    options.write(rest === "{}" ? `${head}}` : `${head},${rest.slice(1)}`);
  };
}

/** Writes down times; of many lines in one millisecond only the first costs anything. */
function makeTimeText(): (time: Date) => string {
  let at = Number.NaN;
  let text = "";
  return (time) => {
    if (time.getTime() !== at) {
      at = time.getTime();
      text = time.toISOString();
    }
    return text;
  };
}

/** What is logged about an answer: each field by name, none taken from a header, a body or a row. */
export type AnswerRecord = {
  requestId: string;
  method: string;
  /** The route's template, never the path. */
  route: string;
  status: number;
  /** The problem's code, if the answer is a refusal. */
  code: string | undefined;
  /** Its cause: an SQLSTATE, a socket's error code, or an error's name. */
  cause: string | undefined;
  ms: number;
  /** How many of these milliseconds the database took. */
  dbMs: number | undefined;
  bytes: number | undefined;
  appId: string | undefined;
  keyId: string | undefined;
  traceId: string | undefined;
  spanId: string | undefined;
  /** The caller's span. */
  parentSpanId: string | undefined;
};

/** A trace, and this process's span in it. */
export type Trace = {
  traceId: string;
  spanId: string;
  /** The caller's span; `undefined` if the trace begins here. */
  parentSpanId: string | undefined;
  flags: string;
};

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})($|-)/;
const VERSION = "00";
const VERSION_LENGTH = 55;
const SAMPLED = 1;

/**
 * The caller's trace, continued by a span of ours; a new trace if the header is malformed. Without the header there is no
 * trace, so that no request costs randomness that no one asked for.
 *
 * @see https://www.w3.org/TR/trace-context/#mutating-the-traceparent-field
 */
export function readTrace(traceparent: string | null, makeSpanId: () => string): Trace | undefined {
  if (traceparent === null) return undefined;
  const [, version, traceId, parentSpanId, flags = "00"] = TRACEPARENT.exec(traceparent) ?? [];
  const isLong = traceparent.length > VERSION_LENGTH;
  if (traceId === undefined || (version === VERSION && isLong))
    return {
      traceId: makeSpanId() + makeSpanId(),
      spanId: makeSpanId(),
      parentSpanId: undefined,
      flags: "00",
    };
  return { traceId, spanId: makeSpanId(), parentSpanId, flags: toFlags(version, flags) };
}

/** Of a later version of the standard, only this flag is known. */
function toFlags(version: string | undefined, flags: string): string {
  return version === VERSION ? flags : `0${Number.parseInt(flags, 16) & SAMPLED}`;
}

/** The header by which the next hop continues a trace: our span is its parent. */
export function toTraceparent({ traceId, spanId, flags }: Trace): string {
  return `${VERSION}-${traceId}-${spanId}-${flags}`;
}

/** Logs a failure of background work, except an outage: the requests that meet it will report it. */
export function noteFault(log: Log, during: string): (error: unknown) => void {
  return (error) => {
    if (!isOutage(error)) log("error", "bug", { during, ...toLogFields(error) });
  };
}

/** What the log has about an unexpected error: its name, message and stack, never the query or its values. */
export function toLogFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = errorCode(error);
  // A driver error's message may quote values of a row: only its SQLSTATE and place are safe to write down.
  const fromDatabase = "severity" in error || "routine" in error;
  return fromDatabase
    ? { error: "PostgresError", code }
    : {
        error: error.name,
        code,
        message: scrub(error.message),
        stack: error.stack === undefined ? undefined : scrub(error.stack),
      };
}

/** The cause of a refusal as one code of ours, PostgreSQL's or the socket's: never a message, never a stack. */
export function toCause(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const code = errorCode(cause) ?? cause.name;
  return /^\w{1,40}$/.test(code) ? code : "Error";
}

/** What must be removed from an error's text: connection strings, keys of any prefix, bearer tokens. */
const SECRETS: readonly [pattern: RegExp, instead: string][] = [
  [/\b([a-z][a-z0-9+.-]*):\/\/[^\s/@"'`]*:[^\s"'`]*@[^\s"'`]*/gi, "$1://(removed)"],
  [/\bpostgres(ql)?:\/\/[^\s"'`]*/gi, "postgres://(removed)"],
  [/\b([A-Za-z0-9-]{1,40}_[a-z0-9]{1,40})\.[0-9A-Za-z]{20,}/g, "$1.(removed)"],
  [/\bbearer\s+[^\s"'`]+/gi, "Bearer (removed)"],
];

function scrub(text: string): string {
  return SECRETS.reduce((left, [pattern, instead]) => left.replace(pattern, instead), text);
}
