/**
 * Problem: an error that callers can read. The server, docs/data.md and the tests share one table of codes, statuses and
 * meanings. Never contains PostgreSQL's messages: they quote other apps' rows.
 *
 * @module
 */
import { MAX_BODY_DEPTH } from "./std/json.ts";
import { IDEMPOTENCY_HOURS, MAX_BATCH, MAX_COUNTED, MAX_GROUPS, MAX_ROWS } from "./std/limits.ts";

/** A validation error of one field: `path` is a JSON pointer into the request body, with names for tables and columns of a push. */
export type Detail = { path: string; message: string };

/** Every error code with its HTTP status and its meaning. */
export const PROBLEMS = {
  invalid_json: {
    status: 400,
    when: `the body is not JSON, not UTF-8, nested deeper than ${MAX_BODY_DEPTH}, or not an object (or, to create rows, a list of 1 to ${MAX_BATCH.toLocaleString("en-US")} objects)`,
  },
  invalid_query: { status: 400, when: "a query parameter is malformed or repeated" },
  unsupported_query: {
    status: 400,
    when: "the query parameter is not supported: lists accept only `limit` and `offset`",
  },
  needs_index: {
    status: 400,
    when: `a list would read more than 10,000 rows, groups more than ${MAX_COUNTED.toLocaleString("en-US")}, or compare too much text; the message names the remedy, such as an index to declare (with \`PREVIEW=filters\`)`,
  },
  too_many_groups: {
    status: 400,
    when: `the rows have more than ${MAX_GROUPS.toLocaleString("en-US")} groups (with \`PREVIEW=filters\`)`,
  },
  invalid_id: { status: 400, when: "the id in the path is not a UUID" },
  invalid_precondition: {
    status: 400,
    when: "`If-Match` or `If-None-Match` is neither `*` nor a list of entity tags, or `Idempotency-Key` is not 1 to 255 printable ASCII characters",
  },
  invalid_request: {
    status: 400,
    when: "`Host`, an identity endpoint's parameter or a form field is malformed, missing or repeated; or a rule forbids a change from the Console or `rowhouse admin`, and the message names the rule",
  },
  unauthenticated: {
    status: 401,
    when: "the API key or the session is missing, malformed, unknown, revoked or expired",
  },
  invalid_signature: {
    status: 401,
    when: "a service behind a gateway received a request without a valid gateway signature",
  },
  forbidden: {
    status: 403,
    when: "the key lacks the scope, or the person has no role on this app",
  },
  unknown_table: { status: 404, when: "this app has no table with that name" },
  not_found: { status: 404, when: "this app has no row with that id" },
  unknown_route: {
    status: 404,
    when: "no endpoint has that path: rows are at `/v1/data/db/{table}`",
  },
  unknown_app: { status: 404, when: "no app has that slug" },
  method_not_allowed: {
    status: 405,
    when: "the path does not support this method; `Allow` lists the supported methods",
  },
  not_acceptable: { status: 406, when: "`Accept` does not allow `application/json`" },
  unique_violation: { status: 409, when: "another row of this app already has these values" },
  too_many_rows: {
    status: 409,
    when: `the conditions of an update or a delete match more than ${MAX_ROWS.toLocaleString("en-US")} rows; nothing was written: send \`limit\` (with \`PREVIEW=filters\`)`,
  },
  still_referenced: {
    status: 409,
    when: "other rows reference this row: change or delete them first",
  },
  incompatible_schema: {
    status: 409,
    when: "the pushed definition conflicts with the recorded tables",
  },
  edited_migration: { status: 409, when: "an applied migration differs from its record" },
  diverged_history: {
    status: 409,
    when: "the project and this app each have migrations that the other lacks; `details` lists them, and `rowhouse db resolve` merges them",
  },
  push_busy: {
    status: 409,
    when: "another push is in progress, or the operator upgrades the service; retry after `Retry-After` seconds",
  },
  precondition_failed: {
    status: 412,
    when: "the row has changed since the version in `If-Match`; nothing was written: fetch the row again",
  },
  body_too_large: {
    status: 413,
    when: "the body exceeds the route's limit, or the response to a batch would exceed `MAX_RESPONSE_BYTES`; nothing was written",
  },
  journal_full: {
    status: 413,
    when: "the migrations of this app would exceed their limit; an operator can raise it (`JOURNAL_BYTES`)",
  },
  unsupported_media_type: { status: 415, when: "the body is not plain `application/json`" },
  validation_failed: {
    status: 422,
    when: "values are invalid for their columns; `details` lists every issue",
  },
  idempotency_mismatch: {
    status: 422,
    when: `the \`Idempotency-Key\` was used with another request in the last ${IDEMPOTENCY_HOURS} hours`,
  },
  invalid_schema: {
    status: 422,
    when: "the pushed definition is invalid; `details` lists every issue",
  },
  idempotency_full: {
    status: 429,
    when: `this app's storage for idempotency keys of the last ${IDEMPOTENCY_HOURS} hours is full: wait, or omit the key; an operator can raise the limit (\`IDEMPOTENCY_BYTES\`)`,
  },
  rate_limited: { status: 429, when: "too many requests; retry after `Retry-After` seconds" },
  request_failed: {
    status: 500,
    when: "internal error; the log has the details under the request ID",
  },
  response_too_large: {
    status: 500,
    when: "the row, or the first row of the page, exceeds `MAX_RESPONSE_BYTES`, and the message names its id; or the app has too many tables for one description",
  },
  not_implemented: { status: 501, when: "the feature is not supported yet, such as event streams" },
  bad_gateway: {
    status: 502,
    when: "a service behind the gateway closed the connection before the end of its response",
  },
  unavailable: {
    status: 503,
    when: "the database cannot be reached, or canceled the statement",
    ofWrite: "nothing was written",
  },
  overloaded: { status: 503, when: "the queue is full; nothing was started" },
  unknown_outcome: {
    status: 503,
    when: "the connection was lost after a write was sent: the write may or may not have completed",
  },
  read_only: {
    status: 503,
    when: "the app is read-only: an operator has stopped its writes and pushes for now; nothing was written",
  },
  timeout: { status: 504, when: "execution took longer than 30 s; the statement was canceled" },
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

export function isProblemCode(text: unknown): text is ProblemCode {
  return typeof text === "string" && Object.hasOwn(PROBLEMS, text);
}

type ProblemOptions = {
  /** One sentence without a final period. Default: the meaning of the code. */
  message?: string;
  details?: Detail[];
  headers?: Record<string, string>;
  /** Seconds until a retry can succeed: the `Retry-After` header. */
  retryAfterS?: number | undefined;
  cause?: unknown;
};

/** An error with a stable code; `service/fetch.ts` turns it into a response. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly details: Detail[] | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    super(options.message ?? toSentence(PROBLEMS[code].when), { cause: options.cause });
    this.name = "Problem";
    this.code = code;
    this.status = PROBLEMS[code].status;
    this.details = options.details;
    const { headers = {}, retryAfterS } = options;
    this.headers =
      retryAfterS === undefined ? headers : { ...headers, "retry-after": String(retryAfterS) };
  }
}

/** Responses of 5xx that the service intends: a feature that is missing, a setting of an operator. */
export const INTENDED: readonly ProblemCode[] = ["not_implemented", "read_only"];

type Outcome = { status: number; code?: string | null | undefined };

/** Whether the service failed. Any other response from 400 is a rejection of the caller's request. */
export function isFailure({ status, code }: Outcome): boolean {
  return status >= 500 && !INTENDED.some((intended) => intended === code);
}

export function isRejected(response: Outcome): boolean {
  return response.status >= 400 && !isFailure(response);
}

/** Returns whether the database or a service was unavailable, too slow or at its limit. Such an error is not a bug. */
export function isOutage(error: unknown): error is Problem {
  return error instanceof Problem && error.status > 500;
}

/** The message for the caller; for a write it also states the outcome. */
export function toMessage({ code, message }: Problem, method: string): string {
  const row: { status: number; ofWrite?: string } = PROBLEMS[code];
  const isRead = method === "GET" || method === "HEAD";
  const isStated = row.ofWrite === undefined || message.endsWith(row.ofWrite);
  return isStated || isRead ? message : `${message}; ${row.ofWrite}`;
}

export function toSentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
