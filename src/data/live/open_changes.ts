/** The stream of a table's changes: checks its request, and calls the function that reads the changes. @module */
import { acceptsEventStream, type KeyRequestContext, rejectQuery } from "../../http/mod.ts";
import { Problem } from "../../problem.ts";
import { MAX_CHANGES, MAX_EVENT_BYTES } from "../../std/limits.ts";
import { callFunction } from "../call.ts";
import type { DataDeps } from "../deps.ts";
import { checkAge, findNewTable } from "../read_request.ts";
import type { News, ReadNews } from "./change_hub.ts";

/**
 * A stream of the table's changes; `undefined` if the app is not live, or the caller wants no stream.
 *
 * @throws {Problem} unknown_table; not_implemented — the database has no event streams; unsupported_query; rate_limited; unavailable
 */
export async function openChanges(
  deps: DataDeps,
  context: KeyRequestContext,
): Promise<Response | undefined> {
  const { request, params, principal, query } = context;
  const { changeFeed, catalog } = deps;
  if (changeFeed === undefined || request.method !== "GET") return undefined;
  if (!acceptsEventStream(request.headers.get("accept"))) return undefined;
  const name = params["table"] ?? "";
  await checkAge(deps);
  if (catalog.findFor(principal, name) === undefined) await findNewTable(deps, context);
  const { lacks } = catalog.dialect();
  if (lacks !== undefined) throw new Problem("not_implemented", { message: lacks.eventStreams });
  const read: ReadNews = (reader, since) => readNews(deps, reader, { name, since });
  if (query !== "" && (await read(context, null)) !== undefined)
    rejectQuery(query, "an event stream has all changes of its table");
  const since = request.headers.get("last-event-id");
  return await changeFeed.open(context, { table: name, since, read });
}

async function readNews(
  deps: DataDeps,
  context: KeyRequestContext,
  { name, since }: { name: string; since: string | null },
): Promise<News | undefined> {
  const table = deps.catalog.findFor(context.principal, name);
  if (table === undefined) return undefined;
  const bytes = Math.min(deps.maxResponseBytes, MAX_EVENT_BYTES);
  const values = { since, limit: MAX_CHANGES, bytes };
  const found = await callFunction(deps, context, { table, endpoint: "changes", values });
  if (found === null) return undefined;
  const text = new TextDecoder().decode(found);
  const [position = "", kind = ""] = text.split("\n", 2);
  const events = text.slice(position.length + kind.length + 2);
  // The database measures compressed values, and the text is escaped.
  if (found.byteLength > MAX_EVENT_BYTES) return { position, kind: "reset", events: "[]" };
  return { position, kind: kind as News["kind"], events };
}
