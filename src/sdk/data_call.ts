/** One call of the data client: sent, tried again where that is safe, and read. Knows nothing of tables. @module */
import { DataError, type DataErrorDetail, toLine } from "./data_error.ts";
import { type Deadline, startDeadline } from "./deadline.ts";
import { RETRY_WAIT_MAX_MS, readRetryAfter, toRetryWait } from "./retry_wait.ts";

/** How a client reaches its service. */
export type Connection = {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly timeoutMs: number;
  readonly retries: number;
  /** Pages by their path and preference, where the client keeps them. */
  readonly kept: Map<string, KeptPage> | undefined;
  /** Event streams of tables that are watched. */
  readonly feeds: Map<string, TableFeed>;
};

/** One table's stream, which all watchers of a client share. */
export type TableFeed = {
  readonly watchers: Set<() => void>;
  readonly abort: AbortController;
  /** Whether changes are reported, so that no watcher polls. */
  isOpen: boolean;
};

/** A page as it was answered, and the tag by which the service knows whether it is still right. */
export type KeptPage = { readonly tag: string; readonly text: string };

/** What one call sends, and how long it may take. */
export type Call = {
  /** As the caller writes it: `todos.create`. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: string;
  /** A key by which the service knows the call when it is sent again: it then happens once. */
  readonly key?: string | undefined;
  /** The tag of the state that the row must be in. */
  readonly ifMatch?: string | undefined;
  /** The tag of the state that the caller has. */
  readonly ifNoneMatch?: string | undefined;
  /** What the answer may have besides, such as a count. */
  readonly prefer?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
};

type JsonObject = { readonly [key: string]: unknown };

/** A successful answer: its JSON object, which is empty for a delete and for a state that the caller has. */
export type Answer = {
  readonly body: JsonObject;
  readonly text: string;
  readonly tag: string | undefined;
  readonly isSame: boolean;
  /** Whether only ids were answered, because the call had happened before and its answer was too large to be kept. */
  readonly isShort: boolean;
};

/** Statuses that pass by themselves. */
const TEMPORARY: readonly number[] = [429, 502, 503, 504];
/** Calls that need no key for that. */
const REPEATABLE: readonly string[] = ["GET", "DELETE"];
/** The service's word that it has done nothing. */
const NOTHING_DONE: readonly string[] = ["rate_limited", "unavailable", "overloaded"];

/**
 * A successful answer.
 *
 * Reads, deletes and calls with a key are tried again. A delete whose answer was lost may have been carried out: when the next try
 * finds no such row, the row is gone, which is all that was asked for.
 *
 * @throws {DataError} every code
 * @throws the reason of the caller's signal
 */
export async function send(connection: Connection, call: Call): Promise<Answer> {
  const deadline = startDeadline({
    signal: call.signal,
    timeoutMs: checkTimeout(call.timeoutMs ?? connection.timeoutMs),
    makeTimeout: () => failWithout("timeout", call, "No response before the timeout"),
  });
  try {
    return await sendUntilAnswered(connection, call, deadline);
  } finally {
    deadline.end();
  }
}

/** @throws {TypeError} for no time at all */
export function checkTimeout(timeoutMs: number): number {
  if (timeoutMs > 0) return timeoutMs;
  throw new TypeError(`Cannot wait ${timeoutMs} ms: timeoutMs must be a number above 0`);
}

async function sendUntilAnswered(
  connection: Connection,
  call: Call,
  deadline: Deadline,
): Promise<Answer> {
  let mayBeDone = false;
  for (let attempt = 0; ; attempt++) {
    const answer = await sendOnce(connection, call, deadline);
    if (!(answer instanceof DataError)) return answer;
    // Without a key the call can be made all the same, but only once.
    if (answer.code === "idempotency_full" && call.key !== undefined)
      return await sendUntilAnswered(connection, { ...call, key: undefined }, deadline);
    if (mayBeDone && call.method === "DELETE" && answer.code === "not_found") return DELETED;
    if (attempt >= connection.retries || !mayTryAgain(call, answer)) throw answer;
    const { retryAfterMs } = answer;
    const waitMs = toRetryWait({ attempt, retryAfterMs, chance: Math.random() });
    if (waitMs > deadline.leftMs()) throw answer;
    mayBeDone ||= !NOTHING_DONE.includes(answer.code);
    await deadline.sleep(waitMs);
  }
}

const DELETED: Answer = { body: {}, text: "", tag: undefined, isSame: false, isShort: false };

function mayTryAgain(call: Call, error: DataError): boolean {
  const isSoon = (error.retryAfterMs ?? 0) <= RETRY_WAIT_MAX_MS;
  return isSoon && error.retryable && isRepeatable(call);
}

/** Whether the call does no more when it is made twice. */
function isRepeatable({ method, key }: Call): boolean {
  return REPEATABLE.includes(method) || key !== undefined;
}

async function sendOnce(
  { baseUrl, apiKey }: Connection,
  call: Call,
  { signal }: Deadline,
): Promise<Answer | DataError> {
  const headers: Record<string, string> = {
    accept: "application/json",
    authorization: `Bearer ${apiKey}`,
  };
  if (call.body !== undefined) headers["content-type"] = "application/json";
  if (call.key !== undefined) headers["idempotency-key"] = call.key;
  if (call.ifMatch !== undefined) headers["if-match"] = call.ifMatch;
  if (call.ifNoneMatch !== undefined) headers["if-none-match"] = call.ifNoneMatch;
  if (call.prefer !== undefined) headers["prefer"] = call.prefer;
  try {
    const response = await fetch(baseUrl + call.path, {
      method: call.method,
      headers,
      signal,
      // Followed, a redirected POST would arrive as a GET.
      redirect: "manual",
      ...(call.body === undefined ? {} : { body: call.body }),
    });
    return readAnswer(call, response, await response.text());
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const reason = `Cannot reach the data service at ${new URL(baseUrl).origin}`;
    return failWithout("network_error", call, reason, cause);
  }
}

function readAnswer(call: Call, response: Response, text: string): Answer | DataError {
  const tag = response.headers.get("etag") ?? undefined;
  const isSame = response.status === 304 && call.ifNoneMatch !== undefined;
  const isShort = response.headers.get("preference-applied") === "return=minimal";
  if (isSame) return { body: {}, text, tag, isSame, isShort };
  if (!response.ok) return readRefusal(call, response, readObject(text) ?? {});
  const { status } = response;
  const body = call.method === "DELETE" && status === 204 ? {} : readObject(text);
  if (body !== undefined) return { body, text, tag, isSame, isShort };
  return unreadable(call, status);
}

/** A success that is not in the service's words. */
export function unreadable({ name }: Pick<Call, "name">, status = 200): DataError {
  const message = `${name}: Cannot read the response: baseUrl must be the URL of a Rowhouse gateway`;
  return new DataError(message, { status, code: "unreadable_answer" });
}

/** An answer of someone in between has no code: only its status speaks. */
function readRefusal(call: Call, { status, headers }: Response, body: JsonObject): DataError {
  const code = readText(body["error"]) ?? "request_failed";
  const isSafe = isRepeatable(call) || NOTHING_DONE.includes(code);
  const details = Array.isArray(body["details"]) ? body["details"].filter(isDetail) : [];
  const reason = readText(body["message"]) ?? explain(status);
  const [first = reason, ...more] = details.map(toLine);
  const rest = more.length > 0 ? ` (and ${more.length} more)` : "";
  return new DataError(`${call.name}: ${first}${rest}`, {
    status,
    code,
    details,
    requestId: readText(body["requestId"]) ?? headers.get("x-request-id") ?? undefined,
    retryable: TEMPORARY.includes(status) && isSafe,
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
  const retryable = isRepeatable(call);
  return new DataError(`${call.name}: ${reason}`, { status: 0, code, retryable, cause });
}

/** The object in a JSON text; `undefined` if it is none. */
export function readObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // not JSON: the caller says what that means
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
