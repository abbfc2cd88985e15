/**
 * The data endpoints: read the request, validate it, call the table's function once, pass its text on. The order of the
 * checks determines what a caller learns, and is part of the contract.
 *
 * @module
 */
import {
  type Catalog,
  callText,
  type Endpoint,
  type EndpointCall,
  NO_MATCH,
  ofAnotherRelease,
  RETRY,
  type RecordedTable,
  toParameters,
} from "../catalog/mod.ts";
import {
  type Database,
  MAX_KEPT_ANSWER_BYTES,
  readSqlState,
  SIGNALS,
  SignalError,
  ViolationError,
} from "../db/mod.ts";
import type { TableDefinition } from "../dsl/mod.ts";
import {
  acceptsEventStream,
  acceptsJson,
  answerEmpty,
  checkJsonBody,
  checkObject,
  isNamed,
  type KeyRequestContext,
  keyRefused,
  listTags,
  type Route,
  readEncoding,
  readIfMatch,
  readIfNoneMatch,
  readText,
  refuseQuery,
} from "../http/mod.ts";
import { type Detail, Problem } from "../problem.ts";
import { isUuid } from "../std/is_uuid.ts";
import { TABLE_PATTERN } from "../std/stored_text.ts";
import {
  answerBatch,
  answerPage,
  answerReader,
  answerRow,
  answerSame,
  checkMatch,
  readFound,
} from "./answers.ts";
import {
  type IdempotencyRoom,
  KEY_BYTES,
  type Replay,
  readIdempotencyKey,
  readReplay,
  replayHeaders,
  toClaim,
} from "./idempotency.ts";
import type { ListCache } from "./list_cache.ts";
import { ONLY_PAGES, readPage } from "./query.ts";
import { checkBatch, readBatch } from "./read_batch.ts";
import { readJson } from "./read_json.ts";
import { readRow } from "./read_row.ts";
import { isKnown, toInvalid, toProblem } from "./violation.ts";

export type DataDeps = {
  db: Database;
  catalog: Catalog;
  /** A new UUIDv7: ids are in order of creation. */
  makeId: () => string;
  /** Maximum size of an answer in bytes: of a row exactly, of a list give or take a row. */
  maxResponseBytes: number;
  /** Pages that were answered, for as long as the database says that they are right. */
  listCache: ListCache;
  /** How much room each app has left for idempotency keys. */
  idempotencyRoom: IdempotencyRoom;
};

/** Maximum size of a body in bytes, the service's documented limit: 100 KB. */
export const MAX_BODY = 102_400;

/** How much memory pages may take that are kept, unless the operator sets another. */
export const LIST_CACHE_BYTES = 16_777_216;

/** Maximum size of an answer in bytes, unless the operator sets another. */
export const LIST_BYTES = 8_388_608;

const LIST = "/v1/data/db/:table";
const ROW = "/v1/data/db/:table/:id";

export const dataRoutes: readonly Route<DataDeps>[] = [
  { method: "GET", path: LIST, access: "key", scope: "data:read", handle: listRows },
  { method: "POST", path: LIST, access: "key", scope: "data:write", handle: createRow },
  { method: "GET", path: ROW, access: "key", scope: "data:read", handle: getRow },
  { method: "PATCH", path: ROW, access: "key", scope: "data:write", handle: updateRow },
  { method: "DELETE", path: ROW, access: "key", scope: "data:write", handle: deleteRow },
];

async function listRows(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const table = findTable(deps, context) ?? (await findNewTable(deps, context));
  checkAccept(context.request);
  const { limit, offset } = readPage(context.query);
  const known = readIfNoneMatch(context.request);
  const encoding = readEncoding(context.request.headers.get("accept-encoding"));
  const { appId } = context.principal;
  const words = `${table.name} ${limit} ${offset} ${encoding}`;
  const kept = deps.listCache.find(appId, words);
  const tags = [listTags(known), kept?.tag].filter((tag) => tag !== undefined);
  const values = { limit, offset, bytes: deps.maxResponseBytes, known: tags.join(",") };
  const found = await callFunction(deps, context, { table, endpoint: "list", values });
  const { tag, page = kept } = await readFound(found, encoding);
  if (page?.tag === tag && page !== kept) deps.listCache.keep(appId, words, page);
  if (known !== undefined && isNamed(known, tag)) return answerSame(tag, known);
  if (page?.tag !== tag) throw new Error("A list function returned a tag that nobody has");
  return answerPage(page);
}

async function getRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const table = findTable(deps, context) ?? (await findNewTable(deps, context));
  const id = readRowRequest(context);
  const known = readIfNoneMatch(context.request);
  return answerReader(await readOne(deps, context, { table, id }), known);
}

async function createRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const found = findTable(deps, context) ?? (await findNewTable(deps, context));
  checkAccept(context.request);
  refuseQuery(context.query, ONLY_PAGES);
  const key = readIdempotencyKey(context.request);
  const { text, value } = await readBody(context.request);
  if (Array.isArray(value)) return await createMany(deps, context, { found, key, text, value });
  const sent = checkObject(value);
  const { table, read } = await readValues(deps, context, {
    table: found,
    read: (definition) => readRow(definition, sent, { whole: true }),
  });
  const path = `/v1/data/db/${table.name}`;
  const id = deps.makeId();
  const made = await callFunction(deps, context, {
    table,
    endpoint: "create",
    values: {
      id,
      body: read.text,
      bytes: deps.maxResponseBytes,
      claim: claimFor(deps, context, { key, path, body: text }),
    },
  });
  const replay = takeReplay(deps, context, { key, found: made });
  if (replay === undefined)
    return answerRow(made, { status: 201, headers: { location: `${path}/${id}` } });
  const location = `${path}/${readId(replay.body)}`;
  const headers = { location, ...replayHeaders(replay) };
  return answerRow(replay.body, { status: 201, headers });
}

type SentBatch = {
  found: RecordedTable;
  key: string | undefined;
  text: string;
  value: readonly unknown[];
};

/** All rows of a batch, or none. */
async function createMany(
  deps: DataDeps,
  context: KeyRequestContext,
  { found, key, text, value }: SentBatch,
): Promise<Response> {
  const rows = checkBatch(value);
  const { table, read } = await readValues(deps, context, {
    table: found,
    read: (definition) => readBatch(definition, rows),
  });
  const bytes = deps.maxResponseBytes;
  if (read.leastBytes > bytes) {
    await checkProof(deps, context, table);
    throw answerTooLarge(bytes);
  }
  // Sorted, should the clock have gone back: the rows are answered, and listed, in the order of their ids.
  const ids = Array.from({ length: read.count }, () => deps.makeId()).sort();
  const path = `/v1/data/db/${table.name}`;
  const claim = claimFor(deps, context, { key, path, body: text });
  const values = { ids, bodies: read.text, bytes, claim };
  const made = await callFunction(deps, context, { table, endpoint: "create_many", values });
  const replay = takeReplay(deps, context, { key, found: made });
  return replay === undefined ? answerBatch(made) : answerBatch(replay.body, replayHeaders(replay));
}

async function updateRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const found = findTable(deps, context) ?? (await findNewTable(deps, context));
  const id = readRowRequest(context);
  const wanted = readIfMatch(context.request);
  const key = readIdempotencyKey(context.request);
  const { text, value } = await readBody(context.request);
  const sent = checkObject(value);
  const { table, read } = await readValues(deps, context, {
    table: found,
    read: (definition) => readRow(definition, sent, { whole: false }),
  });
  if (read.known === 0)
    return answerRow(checkMatch(await readOne(deps, context, { table, id }), wanted));
  const path = `/v1/data/db/${table.name}/${id}`;
  const updated = await callFunction(deps, context, {
    table,
    endpoint: "update",
    values: {
      id,
      body: read.text,
      bytes: deps.maxResponseBytes,
      match: listTags(wanted) ?? null,
      claim: claimFor(deps, context, { key, path, body: text }),
    },
  });
  const replay = takeReplay(deps, context, { key, found: updated });
  return replay === undefined
    ? answerRow(takeMatched(updated))
    : answerRow(replay.body, { headers: replayHeaders(replay) });
}

async function deleteRow(deps: DataDeps, context: KeyRequestContext): Promise<Response> {
  const table = findTable(deps, context) ?? (await findNewTable(deps, context));
  const id = readRowRequest(context);
  const match = listTags(readIfMatch(context.request)) ?? null;
  const found = await callFunction(deps, context, {
    table,
    endpoint: "delete",
    values: { id, match },
  });
  if (takeMatched(found) === null) throw new Problem("not_found");
  return answerEmpty();
}

async function readOne(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, id }: { table: RecordedTable; id: string },
): Promise<Uint8Array<ArrayBuffer> | null> {
  const values = { id, bytes: deps.maxResponseBytes };
  return await callFunction(deps, context, { table, endpoint: "get", values });
}

type KeyedRequest = { key: string | undefined; path: string; body: string };

/** What a function claims for a request with an idempotency key. */
function claimFor(
  { idempotencyRoom }: DataDeps,
  context: KeyRequestContext,
  { key, path, body }: KeyedRequest,
): Uint8Array | null {
  if (key === undefined) return null;
  const hasRoom = idempotencyRoom.hasRoom(context.principal.appId);
  return toClaim(context, { key, path, body, hasRoom });
}

type Answered = { key: string | undefined; found: Uint8Array<ArrayBuffer> | null; rows?: number };

/** The first answer to this key, if this is not it. */
function takeReplay(
  { idempotencyRoom }: DataDeps,
  { principal }: KeyRequestContext,
  { key, found, rows = 1 }: Answered,
): Replay | undefined {
  if (key === undefined) return undefined;
  const replay = readReplay(found);
  if (replay === undefined && found !== null)
    idempotencyRoom.add(principal.appId, countKept(found.length, rows) + KEY_BYTES);
  return replay;
}

/** How many bytes of an answer are recorded. */
function countKept(bytes: number, rows: number): number {
  return bytes <= MAX_KEPT_ANSWER_BYTES ? bytes : rows * (ID_START + ID_LENGTH + '"},'.length);
}

/** The id at the start of a row's text. */
function readId(row: Uint8Array): string {
  return new TextDecoder().decode(row.subarray(ID_START, ID_START + ID_LENGTH));
}

const ID_START = '{"id":"'.length;
const ID_LENGTH = 36;

/** What a write returned. @throws {Problem} precondition_failed — that the row is in another state */
function takeMatched(found: Uint8Array<ArrayBuffer> | null): Uint8Array<ArrayBuffer> | null {
  if (found?.length !== NO_MATCH.length) return found;
  throw new Problem("precondition_failed");
}

/** The table in the path, if this app has pushed it and this process already knows. */
function findTable(
  { catalog }: DataDeps,
  { request, principal, params }: KeyRequestContext,
): RecordedTable | undefined {
  const accept = request.headers.get("accept");
  if (acceptsEventStream(accept) && !acceptsJson(accept)) {
    throw new Problem("not_implemented", {
      message: "Event streams are not supported yet: read the list instead",
    });
  }
  return catalog.find(principal.appId, params["table"] ?? "");
}

/** Another process may have just pushed the table: it is unknown only after one look. */
async function findNewTable(
  { catalog }: DataDeps,
  { principal, params }: KeyRequestContext,
): Promise<RecordedTable> {
  const name = params["table"] ?? "";
  if (TABLE_NAME.test(name)) await catalog.refresh();
  const table = catalog.find(principal.appId, name);
  if (table === undefined) throw new Problem("unknown_table");
  return table;
}

const TABLE_NAME = new RegExp(TABLE_PATTERN);

function checkAccept(request: Request): void {
  if (acceptsJson(request.headers.get("accept"))) return;
  throw new Problem("not_acceptable", { message: "Rows are served as application/json only" });
}

/** The id of a request for one row, after what is checked before it. */
function readRowRequest({ request, query, params }: KeyRequestContext): string {
  checkAccept(request);
  refuseQuery(query, ONLY_PAGES);
  const id = params["id"] ?? "";
  if (!isUuid(id))
    throw new Problem("invalid_id", { message: "The id in the path must be a uuid" });
  return id.toLowerCase();
}

/** The body as it was sent, and as a JSON value. */
async function readBody(request: Request): Promise<{ text: string; value: unknown }> {
  checkJsonBody(request);
  const text = await readText(request, MAX_BODY);
  return { text, value: readJson(text) };
}

/** What was made of a body by a table's columns. */
type Read = { hasUnknown: boolean; faults: Detail[] };

/**
 * The values that were sent; nothing is refused or dropped until the catalog is known to be current. What does not fit tells
 * of columns and of values of enums, so that it is told only to a proven key.
 */
async function readValues<R extends Read>(
  deps: DataDeps,
  context: KeyRequestContext,
  { table, read: readBy }: { table: RecordedTable; read: (definition: TableDefinition) => R },
): Promise<{ table: RecordedTable; read: R }> {
  const { catalog } = deps;
  let current = table;
  let read = readBy(table.definition);
  if (read.hasUnknown || read.faults.length > 0) {
    await catalog.refresh();
    current = catalog.find(context.principal.appId, table.name) ?? table;
    if (current.definition !== table.definition) read = readBy(current.definition);
  }
  if (read.faults.length > 0) {
    await checkProof(deps, context, current);
    throw toInvalid(read.faults);
  }
  return { table: current, read };
}

/** No row has it: ids are made by the service. */
const NO_ROW = "00000000-0000-0000-0000-000000000000";

/**
 * Asks the database about the key of a write that is refused without it: by the write's own function, of no row.
 *
 * @throws {Problem} unauthenticated — the key is not proven
 */
async function checkProof(
  deps: DataDeps,
  context: KeyRequestContext,
  table: RecordedTable,
): Promise<void> {
  const values = { id: NO_ROW, body: "{}", bytes: deps.maxResponseBytes, match: null, claim: null };
  await callFunction(deps, context, { table, endpoint: "update", values });
}

type TableCall = EndpointCall & { readonly table: RecordedTable };

/** What the table's function returns for this app, as UTF-8: one statement, which is all of a request's work. */
async function callFunction(
  deps: DataDeps,
  context: KeyRequestContext,
  call: TableCall,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { table, endpoint } = call;
  const { appId, proof } = context.principal;
  const { meter } = context;
  // A write that is known by its key happens once, however often it is sent.
  const isKeyed = "claim" in call.values && call.values.claim !== null;
  const retry = isKeyed ? "safe" : RETRY[endpoint];
  const isOwn = call.endpoint === "get" ? makeIsRow(appId, call.values.id) : undefined;
  const options = { retry, caller: context.request, queue: appId, meter, isOwn };
  const parameters = toParameters({ app: appId, proof }, call);
  try {
    return await deps.db.bytes(textsOf(table)[endpoint], parameters, options);
  } catch (error) {
    if (readSqlState(error) === NO_SUCH_FUNCTION) {
      const newer = await findNewer(deps, appId, table);
      if (newer !== undefined) return await callFunction(deps, context, { ...call, table: newer });
    }
    if (!(error instanceof ViolationError)) throw toCallError(error, deps, call);
    const { violation } = error;
    // Another process has just pushed a constraint that this one does not know yet.
    if (!isKnown(table, violation)) await deps.catalog.refresh();
    const current = deps.catalog.find(appId, table.name) ?? table;
    throw toProblem(violation, { table: current, isDelete: endpoint === "delete" });
  }
}

/** Whether what a get was answered is this row of this app: every row begins with both ids. */
function makeIsRow(app: string, id: string): (row: Uint8Array<ArrayBuffer>) => boolean {
  const start = `{"id":"${id}","app_id":"${app}"`;
  return (row) =>
    Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString("latin1", 0, start.length) ===
    start;
}

const NO_SUCH_FUNCTION = "42883";

/**
 * The table, if the app is now served other columns: then the functions that are gone are not the ones to call, and the
 * body that was read is still right, because an app only gains columns.
 */
async function findNewer(
  { catalog }: DataDeps,
  appId: string,
  { name, definition }: RecordedTable,
): Promise<RecordedTable | undefined> {
  await catalog.refresh();
  const current = catalog.find(appId, name);
  return current?.definition === definition ? undefined : current;
}

/**
 * The database itself refuses a key that has just ended, as the gateway does from then on. A process whose release differs
 * from that of the functions says so; callers who wait for the deployment to end are served.
 */
function toCallError(
  error: unknown,
  { maxResponseBytes }: DataDeps,
  { endpoint }: EndpointCall,
): unknown {
  const signal = error instanceof SignalError ? error.signal : undefined;
  if (signal === SIGNALS.keyRefused) return keyRefused(error);
  const refuseWrite = TOO_LARGE[endpoint];
  if (error instanceof SignalError && signal === SIGNALS.rowTooLarge)
    return refuseWrite?.(maxResponseBytes) ?? tooLarge(error.detail);
  const state = readSqlState(error);
  if (state === PROGRAM_LIMIT) return refuseWrite?.(maxResponseBytes) ?? tooLarge();
  return state === NO_SUCH_FUNCTION ? ofAnotherRelease(error) : error;
}

/** PostgreSQL builds no value of a gigabyte, so such a row cannot even be measured. */
const PROGRAM_LIMIT = "54000";

const TOO_LARGE: Readonly<Partial<Record<Endpoint, (most: number) => Problem>>> = {
  create: wouldBeTooLarge,
  create_many: answerTooLarge,
  update: wouldBeTooLarge,
};

function answerTooLarge(most: number): Problem {
  return new Problem("body_too_large", {
    message: `The rows would be larger than ${most} bytes as JSON, the maximum size of an answer; nothing was written: send fewer at a time`,
  });
}

function wouldBeTooLarge(most: number): Problem {
  return new Problem("validation_failed", {
    message: `The row would be larger than ${most} bytes as JSON, the maximum size of an answer; nothing was written`,
  });
}

function tooLarge(id?: string): Problem {
  const message =
    id === undefined
      ? "A row of this page is too large for an answer: ask for fewer rows, down to limit=1, to find it and skip it"
      : `The row ${id} is too large for an answer: skip it with an offset one higher, or make it smaller`;
  return new Problem("response_too_large", { message });
}

type Texts = Readonly<Record<Endpoint, string>>;

/** Made once per definition, because every request needs it. */
const texts = new WeakMap<TableDefinition, Texts>();

function textsOf({ definition }: RecordedTable): Texts {
  const found = texts.get(definition);
  if (found !== undefined) return found;
  const of = (endpoint: Endpoint) => callText(definition, endpoint);
  const made: Texts = {
    list: of("list"),
    get: of("get"),
    create: of("create"),
    create_many: of("create_many"),
    update: of("update"),
    delete: of("delete"),
  };
  texts.set(definition, made);
  return made;
}
