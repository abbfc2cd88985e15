/**
 * The service's log: one JSON line per event, written to an injected sink. All fields are defined in one type. Callers must
 * not log secrets; as a last resort, the text of unexpected errors is scrubbed.
 *
 * @module
 */
import { isOutage } from "./problem.ts";
import { errorCode } from "./std/network.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** All fields of log lines. No field contains a header, a body, a row or a connection string. */
export type LogFields = Partial<ResponseRecord> & {
  /** A fixed sentence, or the scrubbed message of an unexpected error. */
  message?: string | undefined;
  /** An unexpected error's name, or the type of a thrown non-error. */
  error?: string;
  stack?: string | undefined;
  /** The background work that failed. */
  during?: string;
  /** Requests that failed during an outage. */
  rejected?: number;
  /** Why a signature was rejected. */
  reason?: string;
  /** The process's address, role and version. */
  host?: string;
  port?: number;
  role?: string;
  worker?: string | undefined;
  version?: string;
  /** A queued email and its outcome. */
  mailId?: number;
  template?: string;
  outcome?: string;
  exitCode?: number;
};
export type Log = (level: LogLevel, event: string, fields?: LogFields) => void;

/** A log that writes lines of level `least` and above to `write`. */
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

/** Formats times; caches the text of the last millisecond. */
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

/** The log record of a response. No field comes from a header, a body or a row. */
export type ResponseRecord = {
  requestId: string;
  method: string;
  /** The route's template, never the path. */
  route: string;
  status: number;
  /** The error code of an error response. */
  code: string | undefined;
  /** The cause: an SQLSTATE, a socket's error code, or an error's name. */
  cause: string | undefined;
  ms: number;
  /** The database's share of `ms`. */
  dbMs: number | undefined;
  bytes: number | undefined;
  appId: string | undefined;
  keyId: string | undefined;
  /** Set if the Console called an endpoint for its pages of rows. */
  isOfConsole: true | undefined;
  traceId: string | undefined;
  spanId: string | undefined;
  /** The caller's span. */
  parentSpanId: string | undefined;
};

/** A trace, with this process's span. */
export type Trace = {
  traceId: string;
  spanId: string;
  /** The caller's span; `undefined` if the trace starts here. */
  parentSpanId: string | undefined;
  flags: string;
};

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})($|-)/;
const VERSION = "00";
const VERSION_LENGTH = 55;
const SAMPLED = 1;

/**
 * The caller's trace with a new span; a new trace if the header is malformed. Without the header there is no trace, which
 * saves the cost of random ids.
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

/** In later versions of the standard, only this flag is known. */
function toFlags(version: string | undefined, flags: string): string {
  return version === VERSION ? flags : `0${Number.parseInt(flags, 16) & SAMPLED}`;
}

/** The header for the next hop; this process's span is the parent. */
export function toTraceparent({ traceId, spanId, flags }: Trace): string {
  return `${VERSION}-${traceId}-${spanId}-${flags}`;
}

/** Logs failed background work, except outages: requests report those. */
export function logError(log: Log, during: string): (error: unknown) => void {
  return (error) => {
    if (!isOutage(error)) log("error", "bug", { during, ...toLogFields(error) });
  };
}

/** Log fields of an unexpected error: name, message and stack, never the query or its values. */
export function toLogFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = errorCode(error);
  // A driver error's message can quote a row's values: only its SQLSTATE is safe to log.
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

/** The cause of an error as one code: the service's, PostgreSQL's or the socket's. Never a message or a stack. */
export function toCause(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const code = errorCode(cause) ?? cause.name;
  return /^\w{1,40}$/.test(code) ? code : "Error";
}

/** Removed from error texts: connection strings, keys with any prefix, bearer tokens. */
const SECRETS: readonly [pattern: RegExp, instead: string][] = [
  [/\b([a-z][a-z0-9+.-]*):\/\/[^\s/@"'`]*:[^\s"'`]*@[^\s"'`]*/gi, "$1://(removed)"],
  [/\bpostgres(ql)?:\/\/[^\s"'`]*/gi, "postgres://(removed)"],
  [/\b([A-Za-z0-9-]{1,40}_[a-z0-9]{1,40})\.[0-9A-Za-z]{20,}/g, "$1.(removed)"],
  [/\bbearer\s+[^\s"'`]+/gi, "Bearer (removed)"],
];

function scrub(text: string): string {
  return SECRETS.reduce((left, [pattern, instead]) => left.replace(pattern, instead), text);
}
