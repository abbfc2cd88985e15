/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The changes of a table for the script of its page: the table's event stream with ids and tags only, without values of rows.
 * It ends with the key that opened it.
 *
 * @module
 */

import {
  acceptsEventStream,
  EVENT_STREAM_HEADERS,
  pumpEvents,
  readParameters,
} from "../../http/mod.ts";
import { shortenId } from "../../kinds/mod.ts";
import { type Part, redirect, renderForm } from "../../pages/mod.ts";
import { Problem } from "../../problem.ts";
import { isObject, tryParseJson } from "../../std/json.ts";
import { splitList, splitObject } from "../../std/json_text.ts";
import { readHeaderValue, toMessages, type Visit } from "../enter.tsx";
import { renderCancel, renderError, renderSnippet } from "../parts.tsx";
import { callRows, callRowsEndpoint, readRow, toRejection } from "./call.ts";
import {
  type RowsTable,
  readRowsTable,
  renderCell,
  respondWithRowsPage,
  toRowPath,
} from "./cells.tsx";
import { toRowJson } from "./copy.tsx";
import { type FoundRow, findRow, respondWithNoRow } from "./edit.tsx";
import { readPosition, tagOf, withPosition } from "./list.ts";

/** A changed row with its new tag, or the id of a deleted row. */
type RowChange = { put: string; etag: string } | { delete: string };

/** @throws {Problem} unknown_route — the preview is off, the app is not live, or the request is not for a stream */
export async function streamRowsChanges(visit: Visit): Promise<Response> {
  const { hasLive, draining, streamMemory } = visit.deps;
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
  const events = pumpEvents(body, streamMemory, {
    signal: AbortSignal.any([request.signal, draining]),
    onEnd: () => ending.abort(),
    toSent: makeToIds(),
  });
  return new Response(events, {
    headers: {
      ...EVENT_STREAM_HEADERS,
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin",
    },
  });
}

/** Keeps incomplete events, and returns complete ones without the values of their rows. */
function makeToIds(): (bytes: Uint8Array) => Uint8Array {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  let text = "";
  return (bytes) => {
    const blocks = (text + decoder.decode(bytes, { stream: true })).split("\n\n");
    text = blocks.pop() ?? "";
    return encoder.encode(blocks.map((block) => `${toIdBlock(block)}\n\n`).join(""));
  };
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
  const puts = splitList(events).flatMap((event) => {
    const text = splitObject(event).get("put");
    if (text === undefined) return [];
    const row = readRow(text);
    return [{ put: row.id, etag: tagOf({ row, text }) }];
  });
  const deletes = listed.flatMap((change: unknown) =>
    isObject(change) && typeof change["delete"] === "string" ? [{ delete: change["delete"] }] : [],
  );
  return [...puts, ...deletes];
}

// Deletes a row after a confirmation, unless the row has changed since.

export async function handleRowDeletionForm(visit: Visit, table: RowsTable): Promise<Response> {
  try {
    await callRows(visit, {
      appId: table.appId,
      method: "DELETE",
      path: `${table.table}/${visit.context.params["row"] ?? ""}`,
      headers: { "if-match": readHeaderValue(visit.fields.get("etag")) },
    });
  } catch (error) {
    const problem = toRejection(error);
    // Already deleted by another user.
    if (problem.code !== "not_found") return await handleRowDeletion(visit, table, problem);
  }
  return redirect(withPosition(table.path, readPosition(visit), { deleted: "yes" }));
}

export async function handleRowDeletion(
  visit: Visit,
  table: RowsTable,
  problem?: Problem,
): Promise<Response> {
  const found = await findRow(visit, table);
  if (found === undefined) return respondWithNoRow(table);
  const { row, etag } = found;
  const position = readPosition(visit);
  const path = toRowPath(table.path, row.id);
  const tone = "danger";
  const form = renderForm({
    action: withPosition(`${path}/delete`, position),
    token: visit.token,
    hidden: { etag },
    fields: [
      <p>
        This cannot be undone. Rows that reference it with “on delete cascade” are deleted too; with
        “on delete set null”, their reference is cleared.
      </p>,
      renderValues(table, found),
      <details>
        <summary>Copy the row as JSON first</summary>
        {renderSnippet({ id: "row-json", name: "the row as JSON", text: toRowJson(row) })}
      </details>,
    ],
    button: "Delete the row",
    tone,
    cancel: renderCancel(withPosition(path, position), tone),
  });
  return respondWithRowsPage(table, {
    title: `Delete row ${shortenId(row.id)}`,
    body: [problem && renderRejection(problem), form],
    status: problem?.status ?? 200,
  });
}

function renderRejection(problem: Problem): Part {
  return problem.code === "precondition_failed"
    ? renderError("Not deleted: the row has changed.", ["Review changes"])
    : renderError("The row was not deleted.", toMessages(problem));
}

const VISIBLE_COLUMNS = 6;

/** Enough values to recognize the row. */
function renderValues({ definition, slug }: RowsTable, { row }: FoundRow): Part {
  const some = definition.columns.slice(0, VISIBLE_COLUMNS);
  return (
    <table class="row-values">
      <tbody>
        {some.map((column) => (
          <tr>
            <th scope="row">
              <bdi>{column.name}</bdi>
            </th>
            {renderCell(column, row, { slug })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
