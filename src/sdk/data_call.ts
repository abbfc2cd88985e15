/** One call of the data client: sends it, retries it if that is safe, and reads the response. Independent of tables. @module */

import { DataError, type DataErrorDetail, type DataErrorParts, toLine } from "./data_error.ts";
import { type Deadline, startDeadline, until } from "./deadline.ts";
import type { StreamEvent } from "./event_stream.ts";
import { RETRY_WAIT_MAX_MS, readRetryAfter, toRetryWait } from "./retry_wait.ts";
import { toStrongTag } from "./row_state.ts";

/** The connection of a client to its service. */
export type Connection = {
  readonly baseUrl: string;
  /** The key of each request, or why there is none. A person's key lasts for minutes. */
  readonly authorize: () => Key | Promise<Key>;
  /** Forgets a rejected key. A call is repeated once with another. */
  readonly renew?: ((key: string) => void) | undefined;
  /** The error with what the service lacks for this call. */
  readonly explain?: ((error: DataError) => DataError) | undefined;
  readonly timeoutMs: number;
  readonly retries: number;
  /** Whether unknown columns in a write are errors. */
  readonly isStrict: boolean;
  /** Cached pages by path and preference, if the client caches pages. */
  readonly stored: Map<string, StoredPage> | undefined;
  /** Event streams of watched tables. */
  readonly feeds: Map<string, TableFeed>;
  /** Start every stream again, because the person has another role. */
  readonly restarts: Set<() => void>;
};

/** Receives an event, the end of the stream, and a start with another role. */
export type Listener = (event: StreamEvent | "end" | "restart") => void;

/** One table's stream, shared by its listeners in a client. */
export type TableFeed = {
  readonly listeners: Set<Listener>;
  /** Ends the current stream. */
  abort: AbortController;
  /** Whether the stream reports changes. If so, watchers do not poll. */
  isOpen: boolean;
  /** The id of its last event. */
  cursor: string | undefined;
  /** Why the service has no stream. */
  error: DataError | undefined;
};

/** The text of a key, or the error of the calls that need it. */
export type Key = string | DataError;

/** A page of a response, and its tag for conditional requests. */
export type StoredPage = { readonly tag: string; readonly text: string };

/** The request of one call, and its time limit. */
export type Call = {
  /** The call as in the caller's code: `todos.create`. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: string;
  /** The idempotency key: the call takes effect once, even if it is retried. */
  readonly key?: string | undefined;
  /** Whether it is a write that a repetition without a key would change again, although its method is DELETE. */
  readonly isOnce?: boolean;
  /** The tag of the expected state of the row. */
  readonly ifMatch?: string | undefined;
  /** The tag of the caller's state. */
  readonly ifNoneMatch?: string | undefined;
  /** Optional parts of the response, such as a count. */
  readonly prefer?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
};

type JsonObject = { readonly [key: string]: unknown };

/** A successful response: its JSON object, which is empty for a delete and for 304. */
export type DataResponse = {
  readonly body: JsonObject;
  readonly text: string;
  readonly tag: string | undefined;
  readonly isSame: boolean;
  /** Whether the response has only ids: it is a replay, and the original response was too large to store. */
  readonly isShort: boolean;
};

/** Of a header: `fetch` rejects others, as if the service could not be reached. */
export const VISIBLE = /^[\x21-\x7e]+$/;

/** Codes with the status of a temporary failure that last: an operator ends them. */
const LASTING: readonly string[] = ["read_only"];
/** Calls that are safe to retry without an idempotency key. */
const REPEATABLE: readonly string[] = ["GET", "DELETE"];
/** Codes that state that the service has done nothing. */
const NOTHING_DONE: readonly string[] = ["rate_limited", "unavailable", "overloaded"];

/**
 * A successful response.
 *
 * Reads, deletes and calls with an idempotency key are retried. If the response to a delete is lost, the row may already be
 * deleted: a retry that does not find the row then succeeds.
 *
 * @throws {DataError} every code
 * @throws the reason of the caller's signal
 */
export async function send(connection: Connection, call: Call): Promise<DataResponse> {
  const deadline = startDeadline({
    signal: call.signal,
    timeoutMs: checkTimeout(call.timeoutMs ?? connection.timeoutMs),
    makeTimeout: () => failWithout("timeout", call, "No response before the timeout"),
  });
  try {
    return await sendUntilDone(connection, call, deadline);
  } finally {
    deadline.end();
  }
}

/** @throws {TypeError} unless the time is above 0 */
export function checkTimeout(timeoutMs: number): number {
  if (timeoutMs > 0) return timeoutMs;
  throw new TypeError(`Cannot wait ${timeoutMs} ms: timeoutMs must be a number above 0`);
}

async function sendUntilDone(
  connection: Connection,
  call: Call,
  deadline: Deadline,
): Promise<DataResponse> {
  let mayBeDone = false;
  let hasRenewed = false;
  for (let attempt = 0; ; attempt++) {
    const asked = connection.authorize();
    const key = asked instanceof Promise ? await until(asked, deadline.signal) : asked;
    const result =
      key instanceof DataError
        ? fail(call, key.message, key)
        : await sendOnce(connection, call, deadline, key);
    if (!(result instanceof DataError)) return result;
    // A rejected key has written nothing.
    if (typeof key === "string" && isRejectedKey(result) && connection.renew && !hasRenewed) {
      connection.renew(key);
      hasRenewed = true;
      continue;
    }
    // Without a key the call is still possible, but only once.
    if (result.code === "idempotency_full" && call.key !== undefined)
      return await sendUntilDone(connection, { ...call, key: undefined }, deadline);
    if (mayBeDone && call.method === "DELETE" && result.code === "not_found") return DELETED;
    if (attempt >= connection.retries || !mayTryAgain(call, result))
      throw connection.explain?.(result) ?? result;
    const { retryAfterMs } = result;
    const waitMs = toRetryWait({ attempt, retryAfterMs, chance: Math.random() });
    if (waitMs > deadline.leftMs()) throw result;
    mayBeDone ||= typeof key === "string" && !NOTHING_DONE.includes(result.code);
    await deadline.sleep(waitMs);
  }
}

/** Whether the service does not know the key. A proxy's 401 has no code. */
export function isRejectedKey({ code }: DataError): boolean {
  return code === "unauthenticated";
}

/** The error of a call, with its name. */
export function fail(
  { name }: Pick<Call, "name">,
  reason: string,
  parts: DataErrorParts,
): DataError {
  return new DataError(`${name}: ${reason}`, parts);
}

const DELETED: DataResponse = { body: {}, text: "", tag: undefined, isSame: false, isShort: false };

function mayTryAgain(call: Call, error: DataError): boolean {
  const isSoon = (error.retryAfterMs ?? 0) <= RETRY_WAIT_MAX_MS;
  return isSoon && error.retryable && isRepeatable(call);
}

/** Whether a repeated call changes nothing. */
function isRepeatable({ method, key, isOnce = false }: Call): boolean {
  return (REPEATABLE.includes(method) && !isOnce) || key !== undefined;
}

const JSON_TYPE = "application/json";

async function sendOnce(
  { baseUrl, isStrict }: Connection,
  call: Call,
  { signal }: Deadline,
  key: string,
): Promise<DataResponse | DataError> {
  const { method, body } = call;
  const headers = new Headers({ accept: JSON_TYPE, authorization: `Bearer ${key}` });
  const given = {
    "content-type": body && JSON_TYPE,
    prefer: body && isStrict ? "handling=strict" : call.prefer,
    "idempotency-key": call.key,
    "if-match": call.ifMatch,
    "if-none-match": call.ifNoneMatch,
  };
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) headers.set(name, value);
  try {
    // fetch would follow a redirected POST with a GET.
    const init = { method, headers, body: body ?? null, signal, redirect: "manual" } as const;
    const response = await fetch(baseUrl + call.path, init);
    return readResponse(call, response, await response.text());
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const reason = `Cannot reach the data service at ${new URL(baseUrl).origin}`;
    return failWithout("network_error", call, reason, cause);
  }
}

export function readResponse(
  call: Call,
  response: Response,
  text: string,
): DataResponse | DataError {
  const tag = toStrongTag(response.headers.get("etag") ?? undefined);
  const isSame = response.status === 304 && call.ifNoneMatch !== undefined;
  const isShort =
    call.key !== undefined && response.headers.get("preference-applied") === "return=minimal";
  if (isSame) return { body: {}, text, tag, isSame, isShort };
  if (!response.ok) return readRejection(call, response, readObject(text) ?? {});
  const { status } = response;
  const body = call.method === "DELETE" && status === 204 ? {} : readObject(text);
  if (body !== undefined) return { body, text, tag, isSame, isShort };
  return unreadable(call, status);
}

/** A successful response that is not from the service. */
export function unreadable(call: Pick<Call, "name">, status = 200, setting = "baseUrl"): DataError {
  const reason = `Cannot read the response: ${setting} must be the URL of a Rowhouse gateway`;
  return fail(call, reason, { status, code: "unreadable_response" });
}

/** A response from an intermediary, such as a proxy, has no code: only its status is known. */
function readRejection(call: Call, { status, headers }: Response, body: JsonObject): DataError {
  const code = readText(body["error"]) ?? "request_failed";
  const isSafe = isRepeatable(call) || NOTHING_DONE.includes(code);
  const details = Array.isArray(body["details"]) ? body["details"].filter(isDetail) : [];
  const reason = readText(body["message"]) ?? explain(status);
  const [first = reason, ...more] = details.map(toLine);
  const rest = more.length > 0 ? ` (and ${more.length} more)` : "";
  return fail(call, first + rest, {
    status,
    code,
    details,
    requestId: readText(body["requestId"]) ?? headers.get("x-request-id") ?? undefined,
    // Proxies have statuses of their own, such as 521 of Cloudflare.
    retryable: (status === 429 || status > 501) && isSafe && !LASTING.includes(code),
    retryAfterMs: readRetryAfter(headers.get("retry-after"), Date.now()),
  });
}

function explain(status: number): string {
  // A browser hides the status of a redirect.
  if (status < 400)
    return "Cannot follow a redirect: baseUrl must be the URL of a Rowhouse gateway";
  const reason = `Received status ${status} without an error code`;
  return status === 404 ? `${reason}: baseUrl must be the URL of a Rowhouse gateway` : reason;
}

function failWithout(
  code: "timeout" | "network_error",
  call: Call,
  reason: string,
  cause?: unknown,
): DataError {
  return fail(call, reason, { status: 0, code, retryable: isRepeatable(call), cause });
}

/** The object in a JSON text; `undefined` for anything else. */
export function readObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // not JSON: the caller decides
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isDetail(value: unknown): value is DataErrorDetail {
  return (
    isObject(value) && typeof value["path"] === "string" && typeof value["message"] === "string"
  );
}
