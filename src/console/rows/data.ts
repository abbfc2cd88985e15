/**
 * The data endpoints of an app for the scripts of the Console: the same methods, paths below the table, queries, bodies and
 * responses. The visitor's cookies and form token replace the key, which never leaves this process. Only the endpoints in
 * {@linkcode ENDPOINTS} and only tables that the app declares can be called.
 *
 * @module
 */
import {
  acceptsEventStream,
  compressResponse,
  EVENT_STREAM_HEADERS,
  pumpEvents,
  type Route,
  readBody,
  readParameters,
} from "../../http/mod.ts";
import { CONSOLE_PATH, TOKEN_HEADER } from "../../identity/mod.ts";
import { Problem } from "../../problem.ts";
import { MAX_PAGE_BYTES } from "../../std/limits.ts";
import { isUuid } from "../../std/patterns.ts";
import { type ConsolePageDeps, enter, type Visit } from "../enter.tsx";
import { callRowsEndpoint, requestRows } from "./call.ts";
import { findSameFile, recordImport } from "./import_record.ts";
import { type RowsTable, readRowsTable } from "./table.tsx";

const TABLE = `${CONSOLE_PATH}/apps/:app/data/:table`;

type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** What the grid calls, and nothing else: no write of rows that a condition selects. */
const ENDPOINTS: readonly (readonly [path: string, methods: readonly Method[]])[] = [
  [TABLE, ["GET", "POST", "PATCH"]],
  [`${TABLE}/:id`, ["GET", "PATCH", "DELETE"]],
];

/** What the page of an import calls. */
const IMPORTS = [
  ["GET", async (visit: Visit) => await findSameFile(visit, await readRowsTable(visit))],
  [
    "POST",
    async (visit: Visit) =>
      await recordImport(visit, await readRowsTable(visit), await readText(visit.context.request)),
  ],
] as const;

export const gridRoutes: readonly Route<ConsolePageDeps>[] = [
  ...ENDPOINTS.flatMap(([path, methods]) =>
    methods.map((method) => ({
      ...{ method, path, access: "open" as const },
      handle: enter(path, handleData, {}, true),
    })),
  ),
  ...IMPORTS.map(([method, handle]) => ({
    ...{ method, path: `${TABLE}/imports`, access: "open" as const },
    handle: enter(`${TABLE}/imports`, handle, {}, true),
  })),
  {
    ...{ method: "GET", path: `${TABLE}/changes`, access: "open" },
    handle: enter(`${TABLE}/changes`, streamChanges, {}, true),
  },
];

/** Sent to the endpoints. */
const SENT = ["accept", "idempotency-key", "if-match", "prefer"] as const;
/** Returned to the script. */
const RETURNED = ["content-type", "etag", "idempotency-replayed", "retry-after"] as const;
/** The query of a list, because proxies log addresses. */
const QUERY = "rows-query";
/** The id of an act that several requests belong to. */
const ACT = "rows-act";

const SEALED = {
  "content-security-policy": "default-src 'none'; sandbox",
  "cross-origin-resource-policy": "same-origin",
};

async function handleData(visit: Visit): Promise<Response> {
  const { request, query, params } = visit.context;
  const isRead = request.method === "GET" || request.method === "HEAD";
  const { id } = params;
  // Other paths below a table do not name a row.
  if (id !== undefined && !isUuid(id)) throw new Problem("not_found");
  const { appId, table } = await readRowsTable(visit);
  const asked = request.headers.get(QUERY) ?? query;
  if (!isRead && request.method !== "POST" && asked !== "")
    throw new Problem("invalid_request", { message: "A change of rows has no query here" });
  const act = isRead ? null : request.headers.get(ACT);
  if (act !== null && !isUuid(act))
    throw new Problem("invalid_request", { message: `Header ${ACT} must be a UUID` });
  const body = isRead ? "" : await readText(request);
  const response = await requestRows(visit, {
    appId,
    method: isRead ? "GET" : toMethod(request.method),
    path: `${table}${id === undefined ? "" : `/${id}`}${asked === "" ? "" : `?${asked}`}`,
    headers: pick(request.headers, SENT),
    act: act ?? undefined,
    ...(body === "" ? {} : { body }),
  });
  // The token of later writes: in a header, because its size would be visible in a compressed body.
  const headers = {
    ...pick(response.headers, RETURNED),
    ...(isRead ? { [TOKEN_HEADER]: visit.token } : {}),
    ...{ ...SEALED, "cache-control": "no-store" },
  };
  const { status } = response;
  const text = await response.text();
  const answer = new Response(text === "" ? null : text, { status, headers });
  return isRead ? await compressResponse(answer, request) : answer;
}

async function readText(request: Request): Promise<string> {
  return new TextDecoder().decode(await readBody(request, MAX_PAGE_BYTES));
}

function toMethod(name: string): Method {
  return (["POST", "PATCH", "DELETE"] as const).find((method) => method === name) ?? "GET";
}

function pick(headers: Headers, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name) ?? ""]] : [])),
  );
}

/** The changes of a live app's table. The stream ends with the key that opened it. @throws {Problem} unknown_route */
async function streamChanges(visit: Visit): Promise<Response> {
  const { previews, draining, streamMemory } = visit.deps;
  const { request, query } = visit.context;
  if (!previews.includes("live")) throw new Problem("unknown_route");
  const { appId, table, cursor, isDisabled }: RowsTable = await readRowsTable(visit);
  const isAsked = acceptsEventStream(request.headers.get("accept"));
  // A response to HEAD has no body, so nothing would end the stream.
  if (cursor === null || isDisabled || !isAsked || request.method !== "GET")
    throw new Problem("unknown_route");
  if (draining.aborted) throw new Problem("unavailable", { retryAfterS: 1 });
  const since = new Map(readParameters(query)).get("since") ?? cursor;
  // Other text is not valid in a header. It causes a reset, like any unknown cursor.
  const isReadable = /^[\w.:,-]{1,4096}$/.test(since);
  const ending = new AbortController();
  const { body } = await callRowsEndpoint(visit, {
    appId,
    path: `${table}/changes`,
    headers: { accept: "text/event-stream", "last-event-id": isReadable ? since : "unknown" },
    signal: ending.signal,
  });
  if (body === null) throw new Error("The data endpoints sent an event stream without a body");
  const events = pumpEvents(body, streamMemory, {
    signal: AbortSignal.any([request.signal, draining]),
    onEnd: () => ending.abort(),
  });
  return new Response(events, { headers: { ...EVENT_STREAM_HEADERS, ...SEALED } });
}
