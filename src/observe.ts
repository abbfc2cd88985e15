/**
 * What the service says of itself: one JSON line an event, to a sink that comes in through `deps`. Every field has a
 * name in one list. Callers put no secret into any; what an unexpected error says is scrubbed as the last net.
 *
 * @module
 */

import { isOutage } from "./problem.ts";
import { errorCode } from "./std/error_code.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Every field that a log line may have: none of a header, a body, a row or a connection string. */
export type LogFields = Partial<AnswerRecord> & {
  /** A sentence of our own, or what is left of an unexpected error's. */
  message?: string | undefined;
  /** An unexpected error's name, or the type of what was thrown instead of one. */
  error?: string;
  stack?: string | undefined;
  /** What was being done in the background. */
  during?: string;
  /** Requests that were refused while something lasted. */
  refused?: number;
  /** Why a signature was refused. */
  reason?: string;
  /** Where a process listens, and as what. */
  host?: string;
  port?: number;
  role?: string;
  worker?: string | undefined;
  /** How a process ended. */
  exitCode?: number;
};
/** Notes an event; its name is one of ours, plain words. */
export type Log = (level: LogLevel, event: string, fields?: LogFields) => void;

/** A log that writes lines of at least `least` to `write`; the clock comes in so that tests can fix it. */
export function makeLog(
  least: LogLevel,
  options: { write: (line: string) => void; now: () => Date },
): Log {
  const threshold = LOG_LEVELS.indexOf(least);
  return (level, event, fields) => {
    if (LOG_LEVELS.indexOf(level) < threshold) return;
    const head = `{"time":"${options.now().toISOString()}","level":"${level}","event":"${event}"`;
    const rest = fields === undefined ? "{}" : JSON.stringify(fields);
    options.write(rest === "{}" ? `${head}}` : `${head},${rest.slice(1)}`);
  };
}

/** What is noted of an answer: each field by name, none of them from a header's, a body's or a row's text. */
export type AnswerRecord = {
  requestId: string;
  method: string;
  /** The route's template, never the path. */
  route: string;
  status: number;
  /** Code of the refusal, where the answer is one. */
  code: string | undefined;
  /** What lay under it: an SQLSTATE, a code of the socket, or an error's name. */
  cause: string | undefined;
  ms: number;
  /** Milliseconds of them that the database took. */
  dbMs: number | undefined;
  bytes: number | undefined;
  appId: string | undefined;
  keyId: string | undefined;
  traceId: string | undefined;
  spanId: string | undefined;
  /** The caller's span. */
  parentSpanId: string | undefined;
};

/** A trace, and the span of it that this process's work on a request is. */
export type Trace = {
  traceId: string;
  spanId: string;
  /** The caller's span; none where the trace begins here. */
  parentSpanId: string | undefined;
  flags: string;
};

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})($|-)/;
const VERSION = "00";
const VERSION_LENGTH = 55;
const SAMPLED = 1;

/**
 * The caller's trace, continued by a span of ours; a fresh one where the header is not as the standard has it. Who
 * sends none gets none: a request costs no randomness that nobody asked for.
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

/** Of a later version of the standard only the one flag is known. */
function toFlags(version: string | undefined, flags: string): string {
  return version === VERSION ? flags : `0${Number.parseInt(flags, 16) & SAMPLED}`;
}

/** The header by which the next hop continues a trace: our span is its parent. */
export function toTraceparent({ traceId, spanId, flags }: Trace): string {
  return `${VERSION}-${traceId}-${spanId}-${flags}`;
}

/** Notes what work in the background met; an outage is left to those requests that meet it too. */
export function noteFault(log: Log, during: string): (error: unknown) => void {
  return (error) => {
    if (!isOutage(error)) log("error", "bug", { during, ...toLogFields(error) });
  };
}

/** What an unexpected error says of itself in the log: its name, message and stack, never the query or its values. */
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

/** What lay under a refusal, in one word of ours, PostgreSQL's or the socket's: never a message, never a stack. */
export function toCause(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const code = errorCode(cause) ?? cause.name;
  return /^\w{1,40}$/.test(code) ? code : "Error";
}

/** What the text of an error must not carry on: a string that connects, a key of any prefix, a bearer of anything. */
const SECRETS: readonly [pattern: RegExp, instead: string][] = [
  [/\b([a-z][a-z0-9+.-]*):\/\/[^\s/@"'`]*:[^\s"'`]*@[^\s"'`]*/gi, "$1://(removed)"],
  [/\bpostgres(ql)?:\/\/[^\s"'`]*/gi, "postgres://(removed)"],
  [/\b([A-Za-z0-9-]{1,40}_[a-z0-9]{1,40})\.[0-9A-Za-z]{20,}/g, "$1.(removed)"],
  [/\bbearer\s+[^\s"'`]+/gi, "Bearer (removed)"],
];

function scrub(text: string): string {
  return SECRETS.reduce((left, [pattern, instead]) => left.replace(pattern, instead), text);
}
