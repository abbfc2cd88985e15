/**
 * A page of rows as JSON for the search script: the response of the list endpoint, errors included. The script sends conditions
 * in a header, because proxies log addresses.
 *
 * @module
 */
import { compressResponse } from "../../http/mod.ts";
import type { Visit } from "../enter.tsx";
import { callRows, toRejection } from "./call.ts";
import { readRowsTable } from "./cells.tsx";

const QUERY_HEADER = "rows-query";

export async function handleRowsJson(visit: Visit): Promise<Response> {
  const { appId, table } = await readRowsTable(visit);
  const { request, query } = visit.context;
  const path = `${table}?${request.headers.get(QUERY_HEADER) ?? query}`;
  try {
    const { text } = await callRows(visit, { appId, path });
    return await compressResponse(toJsonResponse(text, 200), request);
  } catch (error) {
    const { code, message, status, headers } = toRejection(error);
    return toJsonResponse(JSON.stringify({ error: code, message }), status, headers);
  }
}

function toJsonResponse(
  text: string,
  status: number,
  headers: Record<string, string> = {},
): Response {
  return new Response(text, {
    status,
    headers: {
      ...headers,
      "content-type": "application/json",
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}
