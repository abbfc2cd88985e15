/**
 * Problem: a refusal that a caller may read. One table of codes, statuses and meanings serves the server, the
 * docs/data.md and the tests. Never carries what PostgreSQL said: that quotes other people's rows.
 *
 * @module
 */

/** What is wrong with one field: `path` is a JSON pointer into the body that was sent. */
export type Detail = { path: string; message: string };

/** Every error code of the service with its HTTP status and when it is raised. */
export const PROBLEMS = {
  invalid_json: {
    status: 400,
    when: "the body is not JSON, not UTF-8, nested deeper than 64, or not an object (or, to create rows, a list of 1 to 1,000 objects)",
  },
  invalid_query: { status: 400, when: "a query parameter cannot be read, or is given twice" },
  unsupported_query: {
    status: 400,
    when: "a query parameter is not supported: only `limit` and `offset` on a list are",
  },
  needs_index: {
    status: 400,
    when: "a list would read more than 10,000 rows; the message names the index to declare (with `PREVIEW=filters`)",
  },
  invalid_id: { status: 400, when: "the id in the path is not a UUID" },
  invalid_precondition: {
    status: 400,
    when: "`If-Match` or `If-None-Match` is neither `*` nor a list of entity tags, or `Idempotency-Key` is not 1 to 255 printable ASCII characters",
  },
  invalid_request: {
    status: 400,
    when: "`Host`, a parameter of an identity endpoint or a field of a form is malformed, missing or given twice; or a rule forbids what a Console form or `rowhouse admin` asks for, and the message says which",
  },
  unauthenticated: {
    status: 401,
    when: "the API key or the session is missing, malformed, unknown, revoked or expired",
  },
  invalid_signature: {
    status: 401,
    when: "a service behind a gateway got a request that the gateway did not sign",
  },
  forbidden: {
    status: 403,
    when: "the key lacks the scope, or the person has no role on this app",
  },
  unknown_table: { status: 404, when: "this app has not pushed a table of that name" },
  not_found: { status: 404, when: "this app has no row with that id" },
  unknown_route: {
    status: 404,
    when: "no endpoint has that path: rows are at `/v1/data/db/{table}`",
  },
  unknown_app: { status: 404, when: "no app has that slug" },
  method_not_allowed: {
    status: 405,
    when: "the path exists, but not for this method; `Allow` lists the methods that it has",
  },
  not_acceptable: { status: 406, when: "`Accept` does not allow `application/json`" },
  unique_violation: { status: 409, when: "another row of this app already has these values" },
  still_referenced: {
    status: 409,
    when: "a row that other rows refer to cannot be deleted: delete or change those first",
  },
  incompatible_schema: {
    status: 409,
    when: "the pushed definition does not fit the recorded tables",
  },
  edited_migration: { status: 409, when: "an applied migration differs from its record" },
  diverged_history: {
    status: 409,
    when: "the project and this app each have migrations that the other lacks; `details` lists both, and `rowhouse db resolve` joins them",
  },
  push_busy: { status: 409, when: "another push is under way; retry after `Retry-After` seconds" },
  precondition_failed: {
    status: 412,
    when: "the row has changed since the state that `If-Match` names; nothing was written: get it again",
  },
  body_too_large: {
    status: 413,
    when: "the body is larger than the route allows, or the rows of a batch than `MAX_RESPONSE_BYTES` as an answer; nothing was written",
  },
  journal_full: {
    status: 413,
    when: "the migrations of this app would exceed their limit; an operator can raise it (`JOURNAL_BYTES`)",
  },
  unsupported_media_type: { status: 415, when: "the body is not plain `application/json`" },
  validation_failed: {
    status: 422,
    when: "values do not fit their columns; `details` names every one",
  },
  idempotency_mismatch: {
    status: 422,
    when: "the `Idempotency-Key` was used with another request in the last 24 hours",
  },
  invalid_schema: {
    status: 422,
    when: "the pushed definition has faults; `details` names every one",
  },
  idempotency_full: {
    status: 429,
    when: "this app has used up its room for idempotency keys of the last 24 hours: send none, or wait; an operator can give it more (`IDEMPOTENCY_BYTES`)",
  },
  rate_limited: { status: 429, when: "too many requests; retry after `Retry-After` seconds" },
  request_failed: {
    status: 500,
    when: "an internal error; the log has it under the request id",
  },
  response_too_large: {
    status: 500,
    when: "the row, or the first row of the page, is larger than `MAX_RESPONSE_BYTES`; the message names its id. Or the app's tables are more than one description can hold",
  },
  not_implemented: { status: 501, when: "something that is not served yet, such as event streams" },
  bad_gateway: { status: 502, when: "a service behind the gateway broke off its answer" },
  unavailable: {
    status: 503,
    when: "the database cannot be reached, or canceled the statement",
    ofWrite: "nothing was written",
  },
  overloaded: { status: 503, when: "the queue is full; nothing was started" },
  unknown_outcome: {
    status: 503,
    when: "the connection was lost after a write was sent: it may or may not have happened",
  },
  timeout: { status: 504, when: "execution took longer than 30 s; the statement was canceled" },
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

export type ProblemOptions = {
  /** One sentence: capital first, no full stop. Default: what the code means. */
  message?: string;
  details?: Detail[];
  headers?: Record<string, string>;
  /** Seconds after which a retry makes sense: the header `Retry-After`. */
  retryAfterS?: number | undefined;
  cause?: unknown;
};

/** A refusal with a stable code; `service/fetch.ts` turns it into an answer. */
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

/** Whether the database or a service was away, late or full: callers are told, and there is no bug to fix. */
export function isOutage(error: unknown): error is Problem {
  return error instanceof Problem && error.status > 500;
}

/** The message for the caller; for a write it also says what became of it. */
export function toMessage({ code, message }: Problem, method: string): string {
  const row: { status: number; ofWrite?: string } = PROBLEMS[code];
  const isRead = method === "GET" || method === "HEAD";
  const isSaid = row.ofWrite === undefined || message.endsWith(row.ofWrite);
  return isSaid || isRead ? message : `${message}; ${row.ofWrite}`;
}

export function toSentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
