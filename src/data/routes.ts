/**
 * The data endpoints: read the request, validate it, call the table's function once, return its text. The order of the
 * checks determines what a caller can learn, and is part of the contract.
 *
 * @module
 */
import {
  acceptsEventStream,
  checkObject,
  isNamed,
  type KeyRequestContext,
  listTags,
  type NamedTags,
  type Route,
  readIfMatch,
  readIfNoneMatch,
  rejectQuery,
  respondEmpty,
  respondNotModified,
  respondTagged,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { isObject } from "../std/json.ts";
import { MAX_CHANGES, MAX_EVENT_BYTES } from "../std/limits.ts";
import { callFunction, rowsTooLarge } from "./call.ts";
import { allowsQueries, DATA_PATH, type DataDeps } from "./deps.ts";
import type { News, ReadNews } from "./live/change_hub.ts";
import { OPERATIONS } from "./operations.ts";
import { type FoundBody, findGroups, findListed, readAskedList } from "./query/find_pages.ts";
import {
  checkAccept,
  checkAge,
  findNewTable,
  readRowRequest,
  readTableRequest,
  rejectIfMatch,
  requireTable,
} from "./read_request.ts";
import {
  type Body,
  checkBatch,
  makeNewIds,
  readBatch,
  readRow,
  readStored,
  readUpdates,
} from "./read_row.ts";
import {
  readMatched,
  respondToReader,
  respondWithBatch,
  respondWithCreated,
  respondWithUpdated,
  respondWithUpdates,
} from "./responses.ts";
import { hasWriteQuery, upsertRows } from "./upsert.ts";
import { readSent, type SentWrite, write } from "./write.ts";
import { deleteWhere, updateWhere, withoutCondition } from "./write_where.ts";

const LIST = `${DATA_PATH}/:table`;
const ROW = `${LIST}/:id`;
const READ = { access: "key", scope: "data:read", acceptsPeople: true } as const;
const WRITE = { access: "key", scope: "data:write", acceptsPeople: true } as const;

export const dataRoutes: readonly Route<DataDeps>[] = [
  {
    method: "GET",
    path: LIST,
    ...READ,
    operation: OPERATIONS.list,
    previewed: { filters: OPERATIONS.query, browser: OPERATIONS.ruledList },
    handle: listRows,
  },
  {
    method: "POST",
    path: LIST,
    ...WRITE,
    operation: OPERATIONS.create,
    previewed: { filters: OPERATIONS.upsert },
    handle: createRows,
  },
  {
    method: "PATCH",
    path: LIST,
    ...WRITE,
    operation: OPERATIONS.updateMany,
    previewed: { filters: OPERATIONS.updateWhere },
    handle: updateRows,
  },
  {
    method: "DELETE",
    path: LIST,
    preview: "filters",
    ...WRITE,
    previewed: { filters: OPERATIONS.deleteWhere },
    handle: deleteWhere,
  },
  { method: "GET", path: ROW, ...READ, operation: OPERATIONS.get, handle: getRow },
  {
    method: "GET",
    path: `${LIST}/changes`,
    ...READ,
    previewed: { live: OPERATIONS.changes },
    handle: streamChanges,
  },
  {
    method: "GET",
    path: `${LIST}/groups`,
    isAlsoValue: true,
    ...READ,
    previewed: { filters: OPERATIONS.groups },
    handle: groupRows,
  },
  { method: "PATCH", path: ROW, ...WRITE, operation: OPERATIONS.update, handle: updateRow },
  { method: "DELETE", path: ROW, ...WRITE, operation: OPERATIONS.delete, handle: deleteRow },
];

async function listRows(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const table = await requireTable(deps, context);
  checkAccept(context.request);
  const asked = await readAskedList(deps, context, table);
  const known = readIfNoneMatch(context.request);
  return respondToLister(await findListed(deps, context, asked, known), known);
}

function respondToLister({ tag, page }: FoundBody, known: NamedTags | undefined): Response {
  if (isNamed(known, tag)) return respondNotModified(tag, known);
  if (page?.tag !== tag) throw new Error("A list function returned an unexpected tag");
  return respondTagged(page);
}

/** Without the preview, `groups` is an id that is not valid. */
async function groupRows(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  if (!allowsQueries(deps, context.principal)) return await getRow(deps, context);
  const table = await requireTable(deps, context);
  checkAccept(context.request);
  const known = readIfNoneMatch(context.request);
  return respondToLister(await findGroups(deps, context, table, known), known);
}

/** Without a live app, `changes` is an id that is not valid. */
async function streamChanges(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  return (await openChanges(deps, context)) ?? (await getRow(deps, context));
}

async function getRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const { table, id } = await readRowRequest(deps, context);
  const known = readIfNoneMatch(context.request);
  const values = { id, bytes: deps.maxResponseBytes };
  const row = await callFunction(deps, context, { table, endpoint: "get", values });
  return respondToReader(row, known);
}

async function createRows(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  if (hasWriteQuery(deps, context)) return await upsertRows(deps, context);
  const sent = await readSent(deps, await readTableRequest(deps, context), context);
  const { value } = sent;
  return Array.isArray(value)
    ? await createMany(deps, context, sent, checkBatch(value))
    : await createRow(deps, context, sent, checkObject(value));
}

function createRow(deps: DataDeps, context: KeyRequestContext, sent: SentWrite, row: Body) {
  const [id = ""] = makeNewIds(deps, context, [row]);
  return write(deps, context, sent, {
    read: (definition) => readRow(definition, row, { whole: true }),
    toCall: ({ text: body }, common) => ({ endpoint: "create", values: { id, body, ...common } }),
    respond: respondWithCreated,
  });
}

/** Creates all rows of a batch, or none. */
function createMany(
  deps: DataDeps,
  context: KeyRequestContext,
  sent: SentWrite,
  rows: readonly Body[],
) {
  const { maxResponseBytes } = deps;
  const ids = makeNewIds(deps, context, rows);
  const stored = readStored(deps, context, sent.text);
  return write(deps, context, sent, {
    rows: rows.length,
    read: (definition) => readBatch(definition, rows, { stored }),
    reject: ({ leastBytes }) =>
      leastBytes > maxResponseBytes ? rowsTooLarge(maxResponseBytes) : undefined,
    toCall: ({ text: bodies }, common) => ({
      endpoint: "create_many",
      values: { ids, bodies, ...common },
    }),
    respond: respondWithBatch,
  });
}

async function updateRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const { table, id } = await readRowRequest(deps, context);
  const match = listTags(readIfMatch(context.request)) ?? null;
  const sent = await readSent(deps, table, context);
  const row = checkObject(sent.value);
  return await write(deps, context, sent, {
    id,
    read: (definition) => readRow(definition, row, { whole: false }),
    toCall: ({ text: body }, common) => ({
      endpoint: "update",
      values: { id, body, match, ...common },
    }),
    respond: respondWithUpdated,
  });
}

async function updateRows(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  if (hasWriteQuery(deps, context)) return await updateWhere(deps, context);
  const table = await readTableRequest(deps, context);
  rejectIfMatch(context.request, "a list: give each row its tag as ifMatch");
  const sent = await readSent(deps, table, context);
  if (allowsQueries(deps, context.principal) && isObject(sent.value)) throw withoutCondition();
  const rows = checkBatch(sent.value);
  const stored = readStored(deps, context, sent.text);
  return await write(deps, context, sent, {
    rows: rows.length,
    read: (definition) => readUpdates(definition, rows, stored),
    toCall: ({ ids, text: bodies }, common) => ({
      endpoint: "update_many",
      values: { ids, bodies, ...common },
    }),
    respond: respondWithUpdates,
  });
}

async function deleteRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const { table, id } = await readRowRequest(deps, context);
  const match = listTags(readIfMatch(context.request)) ?? null;
  const values = { id, match };
  const found = await callFunction(deps, context, { table, endpoint: "delete", values });
  if (readMatched(found) === null) throw new Problem("not_found");
  return respondEmpty();
}

/**
 * A stream of the table's changes; `undefined` if the app is not live, or the caller wants no stream.
 *
 * @throws {Problem} unknown_table; not_implemented — the database has no event streams; unsupported_query; rate_limited; unavailable
 */
async function openChanges(
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
