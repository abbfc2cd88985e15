/**
 * Problem: an error that callers can read. The server, docs/data.md and the tests share one table of codes, statuses,
 * meanings and remedies. Never contains PostgreSQL's messages: they quote other apps' rows.
 *
 * @module
 */
import type { Found } from "./std/found.ts";
import { MAX_BODY_DEPTH } from "./std/json_depth.ts";
import { IDEMPOTENCY_HOURS, MAX_BATCH, MAX_GROUPS, MAX_ROWS } from "./std/limits.ts";

/** A validation error of one field: `path` is a JSON pointer into the request body, with names for tables and columns of a push. */
export type Detail = { path: string; message: string };

/** Every error code with its HTTP status, its meaning, and what to do, in sentences. */
export const PROBLEMS = {
  invalid_json: {
    status: 400,
    when: `the body is not JSON, not UTF-8, nested deeper than ${MAX_BODY_DEPTH}, or not an object (or, to create rows, a list of 1 to ${MAX_BATCH.toLocaleString("en-US")} objects)`,
    fix: "Send UTF-8 JSON in the shape that the endpoint's example shows.",
  },
  invalid_query: {
    status: 400,
    when: "a query parameter is malformed or repeated",
    fix: "Correct the parameter that the message names, and send it once.",
  },
  unsupported_query: {
    status: 400,
    when: "the query parameter is not supported: lists accept only `limit` and `offset`",
    fix: "Omit the parameter, and filter the rows in your program. With `PREVIEW=filters`, lists can filter, sort and search.",
  },
  needs_index: {
    status: 400,
    when: "conditions on referenced rows find more than 10,000, or the order of related rows has no index; the message names the remedy, such as an index to declare (with `PREVIEW=filters`)",
    fix: "Declare the index that the message names and push it, or narrow the conditions.",
  },
  too_many_groups: {
    status: 400,
    when: `the rows have more than ${MAX_GROUPS.toLocaleString("en-US")} groups (with \`PREVIEW=filters\`)`,
    fix: "Narrow the conditions, or group by a column with fewer values.",
  },
  invalid_id: {
    status: 400,
    when: "the id in the path is not a UUID",
    fix: "Send the `id` of a row unchanged, as a response returned it.",
  },
  invalid_precondition: {
    status: 400,
    when: "`If-Match` or `If-None-Match` is neither `*` nor a list of entity tags, or `Idempotency-Key` is not 1 to 255 printable ASCII characters",
    fix: "Send the `ETag` of a response unchanged, with its quotes. `crypto.randomUUID()` makes an `Idempotency-Key`.",
  },
  invalid_request: {
    status: 400,
    when: "`Host`, an identity endpoint's parameter or a form field is malformed, missing or repeated; or a rule forbids a change from the Console or `rowhouse admin`, and the message names the rule",
    fix: "Correct what the message names. The same request is rejected again.",
  },
  unauthenticated: {
    status: 401,
    when: "the API key or the session is missing, malformed, unknown, revoked or expired",
    fix: "Check that the program sends the whole key, and that the Console shows the key as active. If the session has ended, the person signs in again.",
  },
  invalid_signature: {
    status: 401,
    when: "a service behind a gateway received a request without a valid gateway signature",
    fix: "Call the gateway instead of the service. If you did, an operator gives both the same `INTERNAL_HMAC_SECRET`.",
  },
  forbidden: {
    status: 403,
    when: "the key lacks the scope, or the person has no role on this app",
    fix: "Issue a key with the scope in the message, or grant the person a role on the app.",
  },
  unknown_table: {
    status: 404,
    when: "this app has no table with that name",
    fix: "Check the spelling and whose app the key is. If the table is new, push the schema.",
  },
  not_found: {
    status: 404,
    when: "this app has no row with that id",
    fix: "Check whose app the key is: a key finds only rows of its app. Otherwise the row was deleted.",
  },
  unknown_route: {
    status: 404,
    when: "no endpoint has that path: rows are at `/v1/data/db/{table}`",
    fix: "Compare the path with the endpoints of the API reference.",
  },
  unknown_app: {
    status: 404,
    when: "no app has that slug",
    fix: "Check the slug: `rowhouse admin list-apps` lists all apps.",
  },
  method_not_allowed: {
    status: 405,
    when: "the path does not support this method; `Allow` lists the supported methods",
    fix: "Use a method from `Allow`.",
  },
  not_acceptable: {
    status: 406,
    when: "`Accept` does not allow `application/json`",
    fix: "Omit `Accept`, or send `application/json`.",
  },
  unique_violation: {
    status: 409,
    when: "another row of this app already has these values",
    fix: "Change the row that has these values, or send other values.",
  },
  too_many_rows: {
    status: 409,
    when: `the conditions of an update or a delete match more than ${MAX_ROWS.toLocaleString("en-US")} rows; nothing was written: send \`limit\` (with \`PREVIEW=filters\`)`,
    fix: "Send `limit`, and repeat the request until no row matches.",
  },
  still_referenced: {
    status: 409,
    when: "other rows reference this row: change or delete them first",
    fix: "Delete the referencing rows first, or declare the reference with `onDelete`.",
  },
  incompatible_schema: {
    status: 409,
    when: "the pushed definition conflicts with the recorded tables",
    fix: "Read `details`, and run `rowhouse db plan`: it names the command for each conflict.",
  },
  edited_migration: {
    status: 409,
    when: "an applied migration differs from its record",
    fix: "Restore the migration file from version control. Describe further changes in a new migration.",
  },
  diverged_history: {
    status: 409,
    when: "the project and this app each have migrations that the other lacks; `details` lists them, and `rowhouse db resolve` merges them",
    fix: "Run `rowhouse db resolve`, review the files, and push again.",
  },
  push_busy: {
    status: 409,
    when: "another push is in progress, or the operator upgrades the service; retry after `Retry-After` seconds",
    fix: "Wait for `Retry-After` seconds, and push again.",
  },
  precondition_failed: {
    status: 412,
    when: "the row has changed since the version in `If-Match`; nothing was written: fetch the row again",
    fix: "Fetch the row, apply your change to its new values, and send its new `ETag`.",
  },
  body_too_large: {
    status: 413,
    when: "the body exceeds the route's limit, or the response to a batch would exceed `MAX_RESPONSE_BYTES`; nothing was written",
    fix: "Send fewer rows per request. Store files elsewhere, and only their addresses in rows.",
  },
  journal_full: {
    status: 413,
    when: "the migrations of this app would exceed their limit; an operator's push (`rowhouse db push --app`) has no limit of bytes",
    fix: "Ask an operator to push with `rowhouse db push --app`.",
  },
  unsupported_media_type: {
    status: 415,
    when: "the body is not plain `application/json`",
    fix: "Send `Content-Type: application/json`, without an encoding of the body.",
  },
  validation_failed: {
    status: 422,
    when: "values are invalid for their columns; `details` lists every issue",
    fix: "Correct each field in `details`: its message names the expected value.",
  },
  idempotency_mismatch: {
    status: 422,
    when: `the \`Idempotency-Key\` was used with another request in the last ${IDEMPOTENCY_HOURS} hours`,
    fix: "Use a new `Idempotency-Key` for each write. Use the same key only to repeat the same request.",
  },
  invalid_schema: {
    status: 422,
    when: "the pushed definition is invalid; `details` lists every issue",
    fix: "Correct each issue in `details`: its path names the table and the column.",
  },
  idempotency_full: {
    status: 429,
    when: `this app's storage for idempotency keys of the last ${IDEMPOTENCY_HOURS} hours is full: wait, or omit the key; an operator can raise the limit (\`IDEMPOTENCY_BYTES\`)`,
    fix: "Wait, or omit the key for writes that may happen twice.",
  },
  rate_limited: {
    status: 429,
    when: "too many requests; retry after `Retry-After` seconds",
    fix: "Wait for `Retry-After` seconds. A list or a batch replaces many single requests; an operator can raise the limits of the app.",
  },
  request_failed: {
    status: 500,
    when: "internal error; the log has the details under the request ID",
    fix: "Send the request ID to an operator, who finds the reason in the log. Check whether a write happened before you repeat it.",
  },
  response_too_large: {
    status: 500,
    when: "the row, or the first row of the page, exceeds `MAX_RESPONSE_BYTES`, and the message names its id; or the app has too many tables for one description",
    fix: "Store smaller values in the row, or ask an operator to raise `MAX_RESPONSE_BYTES`.",
  },
  not_implemented: {
    status: 501,
    when: "the feature is not supported yet, such as event streams",
    fix: "Use the alternative in the guide “What Rowhouse does not do”.",
  },
  bad_gateway: {
    status: 502,
    when: "a service behind the gateway closed the connection before the end of its response",
    fix: "Repeat reads. Check whether a write happened before you repeat it, or send it with an `Idempotency-Key`.",
  },
  unavailable: {
    status: 503,
    when: "the database cannot be reached, or canceled the statement",
    ofWrite: "nothing was written",
    fix: "Repeat the request after `Retry-After` seconds. If the error persists, an operator runs `rowhouse doctor`.",
  },
  overloaded: {
    status: 503,
    when: "the queue is full; nothing was started",
    fix: "Repeat the request after `Retry-After` seconds, with fewer requests at a time.",
  },
  unknown_outcome: {
    status: 503,
    when: "the connection was lost after a write was sent: the write may or may not have completed",
    fix: "Read the row to see the outcome. A write with an `Idempotency-Key` can be repeated: it happens once.",
  },
  read_only: {
    status: 503,
    when: "the app is read-only: an operator has stopped its writes and pushes for now; nothing was written",
    fix: "Repeat the write later. An administrator ends the state in the app's settings in the Console.",
  },
  timeout: {
    status: 504,
    when: "execution took longer than 30 s, with conditions or an order 5 s, or 1 s if no index serves them; the statement was canceled",
    fix: "Request less at a time: a smaller `limit`, or fewer rows in a batch. Declare the index that the message names.",
  },
} as const satisfies Readonly<
  Record<string, { status: number; when: string; fix: string; ofWrite?: string }>
>;

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
  /** The class of the value at each path of the first details. Never in a response: the database stores it. */
  found: readonly Found[] | undefined;
  /** The query parameters that are invalid, one that was given twice as two. Never in a response, whose message names them: the database stores their names. */
  parameters: readonly string[] | undefined;
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
