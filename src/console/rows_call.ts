/**
 * Calls the data endpoints like any client, with a key that is valid for five minutes: a page shows the app's data, and a form
 * gets the same errors as the app. These requests have a separate rate limit.
 *
 * @module
 */
import { ConsoleRejected, SignInTooOld } from "../accounts/actions/mod.ts";
import { parseJson } from "../http/mod.ts";
import { type Detail, PROBLEMS, Problem, type ProblemCode } from "../problem.ts";
import { isObject } from "../std/is_object.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import type { Visit } from "./enter.ts";
import { dropRowsKey, readRowsKey } from "./rows_keys.ts";

export type RowsCall = {
  appId: string;
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** Under the data endpoints, such as `todos?limit=50`. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** JSON. */
  body?: string;
  /** Exports use a separate key, which the audit log names. */
  isExport?: boolean;
  /** Ends a response that is a stream. */
  signal?: AbortSignal;
};

export type RowsResponse = {
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
  const first = await send(visit, call);
  // Retry: the key ended early, for example because the app was disabled and enabled again.
  const response = first.status === 401 ? await send(visit, call) : first;
  if (!response.ok) throw toProblem(response, await response.text());
  return response;
}

async function send(visit: Visit, call: RowsCall): Promise<Response> {
  const { appId, method = "GET", path, headers, body, isExport = false, signal } = call;
  const { callApi } = visit.deps;
  if (callApi === undefined) throw new Problem("not_implemented", { message: NO_GATEWAY });
  const use = { appId, isWrite: method !== "GET", usedFor: isExport ? "export" : "rows" };
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
  if (response.status === 401) dropRowsKey(visit, use);
  return response;
}

const NO_GATEWAY =
  "Cannot show rows: the identity service has no gateway URL. Set UPSTREAM_GATEWAY_URL";

function toProblem({ status, headers }: Response, text: string): Problem {
  const body = tryParseJson(text);
  const { error, message, details } = isObject(body) ? body : {};
  const retryAfterS = Number(headers.get("retry-after") ?? 0);
  return new Problem(isCode(error) ? error : status >= 500 ? "bad_gateway" : "request_failed", {
    ...(typeof message === "string" ? { message } : {}),
    ...(Array.isArray(details) ? { details: details.filter(isDetail) } : {}),
    ...(retryAfterS > 0 ? { retryAfterS } : {}),
  });
}

function isCode(code: unknown): code is ProblemCode {
  return typeof code === "string" && Object.hasOwn(PROBLEMS, code);
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

/** A row as the endpoints send it. */
export type Row = Readonly<Record<string, unknown>> & { readonly id: string };

export function readRow(text: string): Row {
  const row: unknown = parseJson(text);
  if (isObject(row) && typeof row["id"] === "string") return { ...row, id: row["id"] };
  throw new Error("The data endpoints sent a row without an id");
}
