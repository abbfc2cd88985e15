/** The methods of one table: their requests, and the pages of lists. @module */

import type * as Feed from "./change_feed.ts";
import type { AnyRows } from "./create_all.ts";
import { type Call, type Connection, readObject, send, unreadable } from "./data_call.ts";
import { DataError } from "./data_error.ts";
import { endable } from "./deadline.ts";
import { findRow, listUnique } from "./find_row.ts";
import type * as Query from "./query_text.ts";
import type { TableSources } from "./related.ts";
import { keepTag, type RowState, toIfMatch } from "./row_state.ts";
import type {
  AnyQuery,
  AnyRow,
  CallOptions,
  ChangeOptions,
  Counted,
  CreateAllOptions,
  Page,
  TableClient,
  TableTypes,
  Upserted,
  UpsertOptions,
  UpsertResult,
  WatchOptions,
} from "./table_client.ts";

// The bodies of a table's calls: values as JSON, and the checks of rows and pages in responses.

/** Values as JSON. @throws {TypeError} for values that JSON would drop or change */
export function toJson(values: object): string {
  return JSON.stringify(values, (key, value: unknown) => {
    if (typeof value === "bigint") {
      throw new TypeError(`Cannot send a bigint as "${key}": use a string and t.decimal()`);
    }
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new TypeError(`Cannot send ${value} as "${key}": must be a finite number`);
    }
    return value;
  });
}

export function readPage(body: object, call: Call, { select }: AnyQuery): Page<AnyRow> {
  const isPart = select !== undefined && !select.includes("id");
  if (isPage(body, isPart ? isObject : isRow)) return body;
  throw unreadable(call);
}

export function readBatch(body: object, call: Call, count: number): AnyRow[] {
  if (hasRows(body, isRow) && body.rows.length === count) return body.rows;
  throw unreadable(call);
}

const RESULTS: readonly UpsertResult[] = ["created", "updated", "unchanged", "ignored"];

function readResults(
  { results }: { results?: unknown },
  call: Call,
  count: number,
): UpsertResult[] {
  const known = Array.isArray(results)
    ? results.flatMap((text: unknown) => RESULTS.find((result) => result === text) ?? [])
    : [];
  if (known.length === count) return known;
  throw unreadable(call);
}

export function readRow(body: object, call: Call): AnyRow {
  if (isRow(body)) return body;
  throw unreadable(call);
}

function isPage(body: object, isRow: (row: unknown) => boolean): body is Page<AnyRow> {
  return hasRows(body, isRow) && "hasMore" in body && typeof body.hasMore === "boolean";
}

function hasRows(body: object, isRow: (row: unknown) => boolean): body is { rows: AnyRow[] } {
  return "rows" in body && Array.isArray(body.rows) && body.rows.every(isRow);
}

function isRow(value: unknown): value is AnyRow {
  return isObject(value) && "id" in value && typeof value.id === "string";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

type AnyWatch = AnyQuery & Pick<WatchOptions, "everyMs">;
type AnyMany = CallOptions & Parameters<typeof Query.toManyQuery>[0];
type ListPage = (options: AnyQuery) => Promise<Page<AnyRow>>;

/** The parts of a call that its method sets. */
type Sent = Pick<Call, "method" | "body" | "key" | "isOnce"> & { readonly id?: string };

/** The client of one table; `sources` are the tables of the schema, if the client has one. */
export function makeTable(
  connection: Connection,
  table: string,
  sources?: TableSources,
): TableClient<TableTypes> {
  const source = sources?.[table];
  const toCall = (verb: string, sent: Sent, options: ChangeOptions = {}): Call => {
    const name = `${table}.${verb}`;
    // Checks presence: an undefined id must fail, not turn into a call of the list.
    const segments = "id" in sent ? [table, sent.id] : [table];
    const path = `/v1/data/db/${segments.map((segment) => toSegment(segment, name)).join("/")}`;
    const { signal, timeoutMs, ifMatch } = options;
    return { signal, timeoutMs, ifMatch: toIfMatch(ifMatch), ...sent, name, path };
  };
  const sendRow = async (call: Call) => {
    const { body, tag } = await send(connection, call);
    return keepTag(readRow(body, call), tag);
  };
  const pages = (options?: AnyQuery) => readPages(list, options);
  async function* all(options?: AnyQuery): AsyncGenerator<AnyRow, void, undefined> {
    for await (const { rows } of pages(options)) yield* rows;
  }
  const toListCall = async (verb: string, options: AnyQuery): Promise<Call> => {
    const call = toCall(verb, { method: "GET" }, options);
    const prefer = options.count && `count=${options.count}`;
    return { ...call, path: call.path + (await toQuery(options)), prefer };
  };
  async function list(options: AnyQuery = {}): Promise<Page<AnyRow>> {
    const call = await toListCall("list", options);
    return readPage(await sendList(connection, call), call, options);
  }
  const get: TableClient<TableTypes>["get"] = async (id, options) =>
    sendRow(toCall("get", { method: "GET", id }, options));
  const requestPage = async (options: AnyWatch, sent: Pick<Call, "signal" | "ifNoneMatch">) => {
    const call = await toListCall("watch", options);
    const { body, tag, isSame } = await send(connection, { ...call, ...sent });
    return { page: isSame ? undefined : readPage(body, call, options), tag };
  };
  const toWrite = (method: "POST" | "PATCH", verb: string, body: string, options?: CallOptions) =>
    toCall(verb, { method, body, key: makeKey() }, options);
  const toPost = (verb: string, body: string, options?: CallOptions) =>
    toWrite("POST", verb, body, options);
  const sendNew = async (call: Call, options?: CallOptions) => {
    const { body, tag, isShort } = await send(connection, call);
    const row = readRow(body, call);
    return isShort ? await get(row.id, options) : keepTag(row, tag);
  };
  const sendBatch = async (call: Call, count: number, options?: CallOptions) => {
    const { body, isShort } = await send(connection, call);
    const known = readBatch(body, call, count);
    const rows = isShort ? await readAgain(known, (id) => get(id, options)) : known;
    return { rows, body };
  };
  function upsert(values: readonly object[], options: UpsertOptions): Promise<Upserted<AnyRow>>;
  function upsert(values: object, options: UpsertOptions): Promise<AnyRow>;
  async function upsert(
    values: object,
    { onConflict, existing, ...options }: UpsertOptions,
  ): Promise<AnyRow | Upserted<AnyRow>> {
    if (Array.isArray(values) && values.length === 0) return { rows: [], results: [] };
    const query = new URLSearchParams({ onConflict: `${onConflict}` });
    if (existing !== undefined) query.set("existing", existing);
    const call = toPost("upsert", toJson(values), options);
    const asked = { ...call, path: `${call.path}?${query}` };
    if (!Array.isArray(values)) return await sendNew(asked, options);
    const { rows, body } = await sendBatch(asked, values.length, options);
    return { rows, results: readResults(body, call, rows.length) };
  }
  const storeAll = async (
    verb: "createAll" | "updateAll",
    values: AnyRows,
    { onStored, ...options }: CreateAllOptions = {},
  ) => {
    const { createAll, findMaxBytes } = await import("./create_all.ts");
    return await createAll(values, {
      toJson: (value: object & { ifMatch?: RowState }) =>
        toJson(
          value.ifMatch === undefined ? value : { ...value, ifMatch: toIfMatch(value.ifMatch) },
        ),
      send: async ({ body, count }) => {
        const method = verb === "updateAll" ? "PATCH" : "POST";
        return (await sendBatch(toWrite(method, verb, body, options), count, options)).rows;
      },
      findMaxBytes: () => findMaxBytes(connection),
      onStored,
    });
  };
  const writeMany = async (verb: "updateMany" | "deleteMany", asked: AnyMany, values?: object) => {
    const { toManyQuery } = await import("./query_text.ts");
    const query = toManyQuery(asked, `${table}.${verb}`);
    const sent =
      values === undefined
        ? { method: "DELETE" as const, isOnce: true }
        : { method: "PATCH" as const, body: toJson(values) };
    const call = toCall(verb, { ...sent, key: makeKey() }, asked);
    const { body } = await send(connection, { ...call, path: call.path + query });
    if (typeof body["count"] === "number") return body as Counted;
    throw unreadable(call);
  };
  const groups = async (options: CallOptions = {}) => {
    const { toGroupQuery } = await import("./query_text.ts");
    const call = toCall("groups", { method: "GET" }, options);
    const path = `${call.path}/groups${toGroupQuery(options)}`;
    const { body } = await send(connection, { ...call, path });
    if (Array.isArray(body["groups"])) return body["groups"];
    throw unreadable(call);
  };
  return Object.freeze<TableClient<TableTypes>>({
    list,
    pages,
    all,
    get,
    groups,
    find: (where, options) =>
      findRow((search) => list({ ...options, ...search }), {
        table,
        where,
        unique: source && listUnique(source),
      }),
    create: async (values, options) => sendNew(toPost("create", toJson(values), options), options),
    createMany: async (values, options) =>
      values.length === 0
        ? []
        : (await sendBatch(toPost("createMany", toJson(values), options), values.length, options))
            .rows,
    createAll: (values, options) => storeAll("createAll", values, options),
    updateAll: (values, options) => storeAll("updateAll", values, options),
    upsert,
    updateMany: (values, options) => writeMany("updateMany", options, values),
    deleteMany: (options) => writeMany("deleteMany", options),
    update: async (id, values, options) =>
      sendRow(toCall("update", { method: "PATCH", id, body: toJson(values) }, options)),
    delete: async (id, options) => {
      await send(connection, toCall("delete", { method: "DELETE", id }, options));
    },
    watch: (options = {}) =>
      follow(options, ({ watchPage }, followed) =>
        watchPage({ connection, table, sources, request: requestPage }, followed),
      ),
    changes: (options = {}) =>
      follow(options, ({ readChanges }, followed) => readChanges(connection, table, followed)),
  });
}

/** Loads the code of event streams only when it is used. `return()` also ends a wait. */
function follow<Options extends CallOptions, Value>(
  options: Options,
  run: (
    feed: typeof Feed,
    options: Options & { signal: AbortSignal },
  ) => AsyncGenerator<Value, void, undefined>,
): AsyncGenerator<Value, void, undefined> {
  return endable(options.signal, async function* (signal) {
    yield* run(await import("./change_feed.ts"), { ...options, signal });
  });
}

/** Rows per read. */
const CONCURRENT = 10;

/** Rows with only their ids. */
async function readAgain(
  known: readonly AnyRow[],
  get: (id: string) => Promise<AnyRow>,
): Promise<AnyRow[]> {
  const rows: AnyRow[] = [];
  while (rows.length < known.length) {
    const next = known.slice(rows.length, rows.length + CONCURRENT);
    rows.push(...(await Promise.all(next.map(({ id }) => get(id)))));
  }
  return rows;
}

/** A unique key. `crypto.randomUUID` does not exist on pages without TLS. */
function makeKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Max cached pages of a client. */
const MAX_STORED = 100;

/** The page, from the cache if it is unchanged. */
async function sendList(connection: Connection, call: Call): Promise<object> {
  const { stored } = connection;
  const key = `${call.path} ${call.prefer ?? ""}`;
  if (stored === undefined) return (await send(connection, call)).body;
  const found = stored.get(key);
  const { body, text, tag, isSame } = await send(connection, { ...call, ifNoneMatch: found?.tag });
  stored.delete(key);
  const page = isSame ? found : tag === undefined ? undefined : { tag, text };
  if (page !== undefined) stored.set(key, page);
  const [oldest] = stored.keys();
  if (stored.size > MAX_STORED && oldest !== undefined) stored.delete(oldest);
  // Parsed again, because the caller may have changed the earlier object.
  return isSame && found !== undefined ? (readObject(found.text) ?? {}) : body;
}

async function* readPages(
  list: ListPage,
  options: AnyQuery = {},
): AsyncGenerator<Page<AnyRow>, void, undefined> {
  let position: Pick<AnyQuery, "offset" | "after"> =
    options.after === undefined ? { offset: options.offset ?? 0 } : {};
  for (;;) {
    const page = await list({ ...options, ...position });
    yield page;
    // With a limit of 0, hasMore stays true and the position does not advance.
    if (!page.hasMore || options.limit === 0) return;
    if (typeof page.next === "string") position = { offset: undefined, after: page.next };
    else if (page.rows.length === 0) return;
    else position = { offset: (position.offset ?? 0) + page.rows.length };
  }
}

/** All parameters: the service must reject unknown parameters, so the client does not drop them. */
async function toQuery({
  signal,
  timeoutMs,
  everyMs,
  count,
  where,
  orderBy,
  select,
  ...given
}: AnyWatch): Promise<string> {
  const query = new URLSearchParams();
  // Most lists have no such part, and do not need the code for it.
  if (where ?? orderBy ?? select) {
    const { toQueryParameters } = await import("./query_text.ts");
    for (const [name, text] of toQueryParameters({ where, orderBy, select }))
      query.append(name, text);
  }
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) query.append(name, `${value}`);
  return query.size === 0 ? "" : `?${query}`;
}

/** The empty text, dots, and text that is not valid UTF-16. */
const NO_SEGMENT = /^\.{0,2}$|\p{Cs}/u;

/** One segment of a path. An empty segment or dots would change the path, such as an id's path to that of the list. */
function toSegment(text: string | undefined, call: string): string {
  if (typeof text === "string" && !NO_SEGMENT.test(text)) return encodeURIComponent(text);
  const message = `${call}: Cannot use "${text}" as an id: must be the uuid of a row`;
  throw new DataError(message, { status: 0, code: "invalid_id" });
}
