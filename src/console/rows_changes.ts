/**
 * The changes of a table for the script of its page: the table's event stream with ids and tags only, without values of rows.
 * It ends with the key that opened it, at the latest after five minutes.
 *
 * @module
 */
import { acceptsEventStream, EVENT_STREAM_HEADERS, readParameters } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { isObject } from "../std/is_object.ts";
import { tryParseJson } from "../std/try_parse_json.ts";
import type { Visit } from "./enter.ts";
import { callRowsEndpoint, readRow } from "./rows_call.ts";
import { splitRows, tagOf } from "./rows_list.ts";
import { readRowsTable } from "./rows_table.ts";

/** A changed row with its new tag, or the id of a deleted row. */
type RowChange = { put: string; etag: string } | { delete: string };

/** @throws {Problem} unknown_route — the preview is off, the app is not live, or the request is not for a stream */
export async function streamRowsChanges(visit: Visit): Promise<Response> {
  const { hasLive, draining } = visit.deps;
  const { request, query } = visit.context;
  if (!hasLive) throw new Problem("unknown_route");
  const { appId, table, cursor, isDisabled } = await readRowsTable(visit);
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
  return new Response(toIdStream(body, { ending, until: [request.signal, draining] }), {
    headers: {
      ...EVENT_STREAM_HEADERS,
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}

type IdStream = {
  /** Ends the upstream stream. */
  ending: AbortController;
  /** Any of these ends both streams. */
  until: readonly AbortSignal[];
};

/** An event stream without the values of its rows. */
function toIdStream(
  events: ReadableStream<Uint8Array>,
  { ending, until }: IdStream,
): ReadableStream<Uint8Array> {
  const [reader, decoder, encoder] = [events.getReader(), new TextDecoder(), new TextEncoder()];
  let text = "";
  const finish = () => {
    for (const signal of until) signal.removeEventListener("abort", finish);
    ending.abort();
  };
  for (const signal of until) signal.addEventListener("abort", finish);
  // A signal that was aborted while the stream opened fires no event.
  if (until.some((signal) => signal.aborted)) finish();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    let blocks: string[] = [];
    while (blocks.length === 0) {
      // An interrupted stream ends like any other: the script opens another, from its last cursor.
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done) {
        finish();
        return controller.close();
      }
      const parts = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = parts.pop() ?? "";
      blocks = parts;
    }
    controller.enqueue(encoder.encode(blocks.map((block) => `${toIdBlock(block)}\n\n`).join("")));
  };
  return new ReadableStream({
    pull: (controller) =>
      pull(controller).catch((error: unknown) => {
        finish();
        throw error;
      }),
    cancel: finish,
  });
}

const DATA = "\ndata: ";

/** An event with only its ids; comments stay unchanged. */
function toIdBlock(block: string): string {
  const [head = "", events] = block.split(DATA);
  return events === undefined ? block : head + DATA + JSON.stringify(toRowChanges(events));
}

function toRowChanges(events: string): RowChange[] {
  const listed: unknown = tryParseJson(events);
  if (!Array.isArray(listed)) throw new Error("The data endpoints sent changes that are no list");
  const puts = splitRows(events).map((text) => {
    const row = readRow(text);
    return { put: row.id, etag: tagOf({ row, text }) };
  });
  const deletes = listed.flatMap((change: unknown) =>
    isObject(change) && typeof change["delete"] === "string" ? [{ delete: change["delete"] }] : [],
  );
  return [...puts, ...deletes];
}
