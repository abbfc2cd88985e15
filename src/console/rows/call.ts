/**
 * Calls the data endpoints like any client, with a key that expires soon: a page shows the app's data, and a form
 * gets the same errors as the app. These requests have a separate rate limit.
 *
 * @module
 */

import { type Detail, isProblemCode, Problem } from "../../problem.ts";
import { ConsoleRejected, SignInTooOld } from "../../records/actions/mod.ts";
import { openRows, type RowsKey } from "../../records/console/mod.ts";
import { BoundedMap } from "../../std/bounded.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import type { Visit } from "../enter.tsx";

type RowsCall = {
  appId: string;
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** Under the data endpoints, such as `todos?limit=50`. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** JSON. */
  body?: string;
  /** The act that this request is a part of: it has its own key, by which the history undoes it as a whole. */
  act?: string | undefined;
  /** Exports use a separate key, which the audit log names. */
  isExport?: boolean;
  /** Ends a response that is a stream. */
  signal?: AbortSignal;
};

type RowsResponse = {
  text: string;
  etag: string;
  /** Whether this is the replayed response of an earlier request with the same key. */
  isReplay: boolean;
};

/** The data endpoints' response. @throws {Problem} their rejection, with the issues of each field */
export async function callRows(visit: Visit, call: RowsCall): Promise<RowsResponse> {
  const response = await callRowsEndpoint(visit, call);
  const { headers } = response;
  const isReplay = headers.get("idempotency-replayed") === "true";
  return { text: await response.text(), etag: headers.get("etag") ?? "", isReplay };
}

/** The data endpoints' response, whose body is not read yet. @throws {Problem} as {@linkcode callRows} */
export async function callRowsEndpoint(visit: Visit, call: RowsCall): Promise<Response> {
  const response = await requestRows(visit, call);
  if (!response.ok) throw toProblem(response, await response.text());
  return response;
}

/** The data endpoints' response, also if it is a rejection. */
export async function requestRows(visit: Visit, call: RowsCall): Promise<Response> {
  const first = await send(visit, call);
  // Retry: the key ended early, for example because the app was disabled and enabled again.
  return first.status === 401 ? await send(visit, call) : first;
}

const MAX_WAITS = 5;
/** Sockets are closed after a longer silence. */
const MAX_WAIT_S = 20;

/** Calls again as long as the rate limit is reached. */
export async function patiently<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let waited = 0; ; waited++) {
    try {
      return await run();
    } catch (error) {
      const { code, headers } = toRejection(error);
      if (code !== "rate_limited" || waited === MAX_WAITS) throw error;
      await Bun.sleep(Math.min(Number(headers["retry-after"] ?? 1), MAX_WAIT_S) * 1000);
    }
  }
}

async function send(visit: Visit, call: RowsCall): Promise<Response> {
  const { appId, method = "GET", path, headers, body, act, isExport = false, signal } = call;
  const { callApi } = visit.deps;
  if (callApi === undefined) throw new Problem("not_implemented", { message: NO_GATEWAY });
  const use = { appId, isWrite: method !== "GET", usedFor: isExport ? "export" : "rows", act };
  const { text } = await readRowsKey(visit, use);
  const response = await callApi(
    new Request(`http://gateway/v1/data/db/${path}`, {
      method,
      headers: {
        ...headers,
        authorization: `Bearer ${text}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    }),
  );
  if (response.status === 401) visit.deps.rowsKeys.delete(toName(visit, use));
  return response;
}

const NO_GATEWAY =
  "Cannot show rows: the identity service has no gateway URL. Set UPSTREAM_GATEWAY_URL";

const MAX_KEYS = 1000;

/** The keys of this process, per visitor. When the store is full, the oldest key is evicted. */
export function makeRowsKeys(): Map<string, RowsKey> {
  return new BoundedMap(MAX_KEYS);
}

/** A key that expires within this time is not used. */
const MARGIN_MS = 10_000;

type RowsUse = {
  appId: string;
  isWrite: boolean;
  /** `rows` or `export`, for the audit log. */
  usedFor: string;
  act: string | undefined;
};

/** A key of the app for this visitor: cached, or new and recorded in the audit log. */
async function readRowsKey(visit: Visit, use: RowsUse): Promise<RowsKey> {
  const { deps } = visit;
  const name = toName(visit, use);
  const found = deps.rowsKeys.get(name);
  if (found !== undefined && found.endsAt - MARGIN_MS > deps.now()) return found;
  const { appId, isWrite, usedFor, act } = use;
  const scopes = isWrite ? (["data:read", "data:write"] as const) : (["data:read"] as const);
  const created = await openRows(deps, { appId, scopes, usedFor, act });
  deps.rowsKeys.set(name, created);
  return created;
}

/** A digest of the cookies, so that no cookie stays in memory. */
function toName({ deps: { cookies } }: Visit, { appId, isWrite, usedFor, act }: RowsUse): string {
  const parts = [cookies.session, cookies.identity, appId, String(isWrite), usedFor, act];
  return Bun.CryptoHasher.hash("sha256", parts.join("\n"), "base64");
}

function toProblem({ status, headers }: Response, text: string): Problem {
  const body = tryParseJson(text);
  const { error, message, details } = isObject(body) ? body : {};
  const retryAfterS = Number(headers.get("retry-after") ?? 0);
  return new Problem(
    isProblemCode(error) ? error : status >= 500 ? "bad_gateway" : "request_failed",
    {
      ...(typeof message === "string" ? { message } : {}),
      ...(Array.isArray(details) ? { details: details.filter(isDetail) } : {}),
      ...(retryAfterS > 0 ? { retryAfterS } : {}),
    },
  );
}

function isDetail(detail: unknown): detail is Detail {
  return (
    isObject(detail) && typeof detail["path"] === "string" && typeof detail["message"] === "string"
  );
}

/** The endpoint's rejection, for the form to display. @throws any other error, and a rejection of the visitor */
export function toRejection(error: unknown): Problem {
  const isOfVisitor = error instanceof ConsoleRejected || error instanceof SignInTooOld;
  if (!(error instanceof Problem) || isOfVisitor) throw error;
  return error;
}

/** Whether the rejection is about a row: other rows can be written all the same. */
export function isAboutRow({ code, details = [] }: Problem): boolean {
  return details.length > 0 || ABOUT_ROW.has(code);
}

const ABOUT_ROW: ReadonlySet<string> = new Set([
  ...["not_found", "unique_violation", "still_referenced", "precondition_failed"],
  ...["validation_failed", "body_too_large", "response_too_large"],
]);
