/**
 * The data endpoints: read the request, validate it, call the table's function once, return its text. The order of the
 * checks determines what a caller can learn, and is part of the contract.
 *
 * @module
 */
import { NO_MATCH } from "../catalog/mod.ts";
import {
  checkObject,
  encodeBody,
  isNamed,
  type KeyRequestContext,
  listTags,
  type ResponseOptions,
  type Route,
  readEncoding,
  readIfMatch,
  readIfNoneMatch,
  rejectQuery,
  respondEmpty,
  respondNotModified,
  respondTagged,
  respondWithBytes,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { callFunction, checkProof } from "./call.ts";
import { rowsTooLarge } from "./call_error.ts";
import { DATA_PATH, type DataDeps } from "./deps.ts";
import { findPage } from "./find_page.ts";
import { type Replay, readId, replayHeaders } from "./idempotency.ts";
import { CHANGES, openChanges } from "./open_changes.ts";
import { OPERATIONS } from "./operations.ts";
import { ONLY_LISTS } from "./query.ts";
import { checkBatch, readBatch } from "./read_batch.ts";
import { checkAccept, readRowRequest, requireTable } from "./read_request.ts";
import { readRow } from "./read_row.ts";
import { respondToReader, respondWithBatch, respondWithRow } from "./responses.ts";
import { findQueriedPage, readAskedList, toQueryTerms } from "./run_query.ts";
import { readSent, type SentWrite, write } from "./write.ts";

const LIST = `${DATA_PATH}/:table`;
const ROW = `${LIST}/:id`;
const READ = { access: "key", scope: "data:read" } as const;
const WRITE = { access: "key", scope: "data:write" } as const;

export const dataRoutes: readonly Route<DataDeps>[] = [
  {
    method: "GET",
    path: LIST,
    ...READ,
    operation: OPERATIONS.list,
    previewed: { filters: OPERATIONS.query },
    handle: listRows,
  },
  { method: "POST", path: LIST, ...WRITE, operation: OPERATIONS.create, handle: createRow },
  {
    method: "GET",
    path: ROW,
    ...READ,
    operation: OPERATIONS.get,
    previewedPaths: { live: { path: `${LIST}/${CHANGES}`, operation: OPERATIONS.changes } },
    handle: getRow,
  },
  { method: "PATCH", path: ROW, ...WRITE, operation: OPERATIONS.update, handle: updateRow },
  { method: "DELETE", path: ROW, ...WRITE, operation: OPERATIONS.delete, handle: deleteRow },
];

async function listRows(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const found = await requireTable(deps, context);
  checkAccept(context.request);
  const { table, page: asked, query } = await readAskedList(deps, context, found);
  const known = readIfNoneMatch(context.request);
  const encoding = readEncoding(context.request.headers.get("accept-encoding"));
  const { appId } = context.principal;
  const { limit, offset } = asked;
  const what = query === undefined ? `${limit} ${offset}` : toQueryTerms(query);
  const cacheKey = `${table.name} ${what} ${encoding}`;
  const stored = deps.listCache.find(appId, cacheKey);
  const tags = [listTags(known), stored?.tag].filter((tag) => tag !== undefined);
  // Without a body, the caller or the cache has the page.
  const { tag, body } =
    query === undefined
      ? await findPage(deps, context, { table, limit, offset, tags })
      : await findQueriedPage(deps, context, { table, query, tags });
  const page = body === undefined ? stored : { tag, ...(await encodeBody(body, encoding)) };
  if (page?.tag === tag && page !== stored) deps.listCache.keep(appId, cacheKey, page);
  if (isNamed(known, tag)) return respondNotModified(tag, known);
  if (page?.tag !== tag) throw new Error("A list function returned an unexpected tag");
  return respondTagged(page);
}

async function getRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const changes = await openChanges(deps, context);
  if (changes !== undefined) return changes;
  const table = await requireTable(deps, context);
  const id = readRowRequest(context);
  const known = readIfNoneMatch(context.request);
  const values = { id, bytes: deps.maxResponseBytes };
  return respondToReader(
    await callFunction(deps, context, { table, endpoint: "get", values }),
    known,
  );
}

async function createRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const table = await requireTable(deps, context);
  checkAccept(context.request);
  rejectQuery(context.query, ONLY_LISTS);
  const sent = await readSent(table, context);
  if (Array.isArray(sent.value)) return await createMany(deps, context, sent, sent.value);
  const row = checkObject(sent.value);
  const id = deps.makeId();
  const { path, found, replay } = await write(deps, context, sent, {
    read: (definition) => readRow(definition, row, { whole: true }),
    toCall: ({ text: body }, common) => ({ endpoint: "create", values: { id, body, ...common } }),
  });
  const created = replay === undefined ? id : readId(replay.body);
  const options = { status: 201, headers: { location: `${path}/${created}` } };
  return replay === undefined ? respondWithRow(found, options) : respondWithReplay(replay, options);
}

/** Creates all rows of a batch, or none. */
async function createMany(
  deps: DataDeps,
  context: KeyRequestContext,
  sent: SentWrite,
  value: readonly unknown[],
): Promise<Response> {
  const rows = checkBatch(value);
  // Sorted in case the clock went back: responses and lists have the order of the ids.
  const ids = rows.map(() => deps.makeId()).sort();
  const { found, replay } = await write(deps, context, sent, {
    rows: rows.length,
    read: (definition) => readBatch(definition, rows),
    check: async ({ leastBytes }, table) => {
      if (leastBytes <= deps.maxResponseBytes) return;
      await checkProof(deps, context, table);
      throw rowsTooLarge(deps.maxResponseBytes);
    },
    toCall: ({ text: bodies }, common) => ({
      endpoint: "create_many",
      values: { ids, bodies, ...common },
    }),
  });
  return replay === undefined
    ? respondWithBatch(found)
    : respondWithBatch(replay.body, replayHeaders(replay));
}

async function updateRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const table = await requireTable(deps, context);
  const id = readRowRequest(context);
  const match = listTags(readIfMatch(context.request)) ?? null;
  const sent = await readSent(table, context);
  const row = checkObject(sent.value);
  const { found, replay } = await write(deps, context, sent, {
    id,
    read: (definition) => readRow(definition, row, { whole: false }),
    toCall: ({ text: body }, common) => ({
      endpoint: "update",
      values: { id, body, match, ...common },
    }),
  });
  return replay === undefined ? respondWithRow(readMatched(found)) : respondWithReplay(replay);
}

function respondWithReplay(
  replay: Replay,
  { headers, ...options }: ResponseOptions = {},
): Response {
  const all = { ...options, headers: { ...headers, ...replayHeaders(replay) } };
  // The ids do not identify the states of the rows, so a short response has no tag.
  return replay.isShort ? respondWithBytes(replay.body, all) : respondWithRow(replay.body, all);
}

async function deleteRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const table = await requireTable(deps, context);
  const id = readRowRequest(context);
  const match = listTags(readIfMatch(context.request)) ?? null;
  const found = await callFunction(deps, context, {
    table,
    endpoint: "delete",
    values: { id, match },
  });
  if (readMatched(found) === null) throw new Problem("not_found");
  return respondEmpty();
}

/** The result of a write. @throws {Problem} precondition_failed — the row is in another state */
function readMatched(found: Uint8Array<ArrayBuffer> | null): Uint8Array<ArrayBuffer> | null {
  if (found?.length !== NO_MATCH.length) return found;
  throw new Problem("precondition_failed");
}
