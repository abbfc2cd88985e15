/** The error of a failed call of the data client. Never contains the API key. @module */

/** An invalid value: `path` is a JSON pointer such as `/title`. */
export type DataErrorDetail = { readonly path: string; readonly message: string };

/**
 * The error code. Codes of the service:
 *
 * - 400 `invalid_json` · `invalid_query` · `unsupported_query` · `needs_index` · `invalid_id` · `invalid_precondition`
 * - 401 `unauthenticated` · 403 `forbidden`
 * - 404 `not_found` (no such row in this app) · `unknown_table` (the app has not pushed it) · `unknown_route`
 * - 405 `method_not_allowed` · 406 `not_acceptable` · 413 `body_too_large` · 415 `unsupported_media_type`
 * - 409 `unique_violation` · `still_referenced` · `too_many_rows` · 422 `validation_failed`: `details` name the columns
 * - 412 `precondition_failed`: the row is not in the state that `ifMatch` names
 * - 429 `rate_limited` · 500 `request_failed` · 501 `not_implemented`
 * - 502 `bad_gateway` · 503 `unavailable` · `overloaded` · `unknown_outcome` · 504 `timeout`
 * - 503 `read_only`: the app accepts no writes for now
 *
 * Codes of the client:
 *
 * - `network_error`, status 0: no complete response arrived; `cause` is the error of `fetch`
 * - `timeout`, status 0: `timeoutMs` passed
 * - `invalid_id`, status 0: an id that cannot be part of a path; no request was sent
 * - `request_failed`, any status: an error from an intermediary, such as a proxy
 * - `needs_index`, status 0: `find` did not reach the end of the table, which only services of older releases cause
 * - `unreadable_response`: a successful response that is not from a data service; `baseUrl` is probably wrong
 */
export type DataErrorCode =
  | "invalid_json"
  | "invalid_query"
  | "unsupported_query"
  | "needs_index"
  | "invalid_id"
  | "invalid_precondition"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "unknown_table"
  | "unknown_route"
  | "method_not_allowed"
  | "not_acceptable"
  | "body_too_large"
  | "unsupported_media_type"
  | "unique_violation"
  | "still_referenced"
  | "too_many_rows"
  | "validation_failed"
  | "precondition_failed"
  | "idempotency_mismatch"
  | "idempotency_full"
  | "rate_limited"
  | "request_failed"
  | "not_implemented"
  | "bad_gateway"
  | "unavailable"
  | "overloaded"
  | "unknown_outcome"
  | "read_only"
  | "timeout"
  | "network_error"
  | "unreadable_response"
  // A newer service can have more codes.
  | (string & {});

/** The parts of a `DataError`. */
export type DataErrorParts = Pick<DataError, "status" | "code"> &
  Partial<Omit<DataError, "name" | "message" | "stack" | "issues">>;

/**
 * A failed call. If the caller's `AbortSignal` ends a call, the call throws the signal's reason instead.
 *
 * @example
 * ```ts
 * import { createDataClient, DataError } from "rowhouse/data";
 * import { defineSchema, t } from "rowhouse/schema";
 *
 * const schema = defineSchema({ todos: { title: t.string().required() } });
 * const baseUrl = process.env["ROWHOUSE_URL"] ?? "";
 * const apiKey = process.env["ROWHOUSE_API_KEY"] ?? "";
 * const db = createDataClient({ baseUrl, apiKey, schema });
 *
 * const failure = await db.todos.get(crypto.randomUUID()).catch((error: unknown) => error);
 * if (!(failure instanceof DataError)) throw new Error("Every failure of the service is a DataError");
 * expect(failure).toMatchObject({ status: 404, code: "not_found", retryable: false });
 * expect(failure.requestId).toBeString();
 * ```
 */
export class DataError extends Error {
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  /** The error code. */
  readonly code: DataErrorCode;
  /** Every invalid value; empty if there are none. */
  declare readonly details: readonly DataErrorDetail[];
  /** The details as text, one line each, for consoles. */
  readonly issues: readonly string[];
  /** The request's id in the service's log, if the response has an id. */
  readonly requestId: string | undefined;
  /** Whether a retry is safe and can succeed. */
  readonly retryable: boolean;
  /** The milliseconds to wait before a retry, as requested by the service. */
  readonly retryAfterMs: number | undefined;
  /** The rows that `createAll` stored before the error; empty for other calls. */
  declare readonly stored: readonly { readonly id: string }[];

  constructor(message: string, parts: DataErrorParts) {
    super(message, parts.cause === undefined ? {} : { cause: parts.cause });
    this.name = "DataError";
    this.status = parts.status;
    this.code = parts.code;
    const details = parts.details ?? [];
    // Some consoles print objects in a list as [Object ...], so only the lines are shown.
    Object.defineProperty(this, "details", { value: details });
    Object.defineProperty(this, "stored", { value: parts.stored ?? [] });
    this.issues = details.map(toLine);
    this.requestId = parts.requestId;
    this.retryable = parts.retryable ?? false;
    this.retryAfterMs = parts.retryAfterMs;
    // Browsers print the stack, and no other property.
    this.stack = [this.stack, ...this.issues].join("\n  ");
  }
}

/** An invalid value in one line: `/title` and `Must be a string` form a sentence. */
export function toLine({ path, message }: DataErrorDetail): string {
  return path + message.replace(/^./, (letter) => ` ${letter.toLowerCase()}`);
}
