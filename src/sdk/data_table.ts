/** The methods of one table: their requests, and the pages of lists. @module */

import { readChanges, watchPage } from "./change_feed.ts";
import { type AnyRows, createAll, findMaxBytes } from "./create_all.ts";
import { type Call, type Connection, readObject, send, unreadable } from "./data_call.ts";
import { DataError } from "./data_error.ts";
import { endable } from "./deadline.ts";
import { findRow } from "./find_row.ts";
import { toGroupQuery, toManyQuery, toQueryParameters } from "./query_text.ts";
import type { TableSources } from "./related.ts";
import { keepTag, type RowState, toIfMatch } from "./row_state.ts";
import type {
  AnyQuery,
  AnyRow,
  AnyWatch,
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

/** @throws {DataError} the response is not from the service */
function check(call: Call, isExpected: boolean): asserts isExpected {
  if (!isExpected) throw unreadable(call);
}

function readPage(body: object, call: Call, { select }: AnyQuery): Page<AnyRow> {
  const isPart = select !== undefined && !select.includes("id");
  check(call, isPage(body, isPart ? isObject : isRow));
  return body;
}

const RESULTS: readonly unknown[] = ["created", "updated", "unchanged", "ignored", "missing"];

function areResults(value: unknown, count: number): value is UpsertResult[] {
  return (
    Array.isArray(value) && value.length === count && value.every((item) => RESULTS.includes(item))
  );
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

type AnyMany = CallOptions & Parameters<typeof toManyQuery>[0];
type ListPage = (options: AnyQuery) => Promise<Page<AnyRow>>;

/** The parts of a call that its method sets. */
type Sent = Pick<Call, "method" | "body" | "key" | "isOnce" | "prefer"> & {
  /** The segment after the table: a row's id, or what is asked of the table. */
  readonly segment?: string;
  /** Undefined values are left out. */
  readonly query?: Iterable<readonly [name: string, value: unknown]>;
};

/** The client of one table; `sources` are the tables of the schema, if the client has one. */
export function makeTable(
  connection: Connection,
  table: string,
  sources?: TableSources,
): TableClient<TableTypes> {
  const toCall = (verb: string, sent: Sent, options: ChangeOptions = {}): Call => {
    const name = `${table}.${verb}`;
    // Checks presence: an undefined id must fail, not turn into a call of the list.
    const segments = "segment" in sent ? [table, sent.segment] : [table];
    const query = new URLSearchParams();
    for (const [name, value] of sent.query ?? [])
      if (value !== undefined) query.append(name, `${value}`);
    const path = `/v1/data/db/${segments.map((segment) => toSegment(segment, name)).join("/")}`;
    const { signal, timeoutMs, ifMatch } = options;
    const limits = { signal, timeoutMs, ifMatch: toIfMatch(ifMatch) };
    return { ...limits, ...sent, name, path: `${query}` ? `${path}?${query}` : path };
  };
  const sendRow = async (verb: string, sent: Sent, options?: ChangeOptions): Promise<AnyRow> => {
    const call = toCall(verb, sent, options);
    const { body, tag, isShort } = await send(connection, call);
    check(call, isRow(body));
    return isShort ? await get(body.id, options) : keepTag(body, tag);
  };
  const sendBatch = async (verb: string, sent: Sent, count: number, options?: CallOptions) => {
    if (count === 0) return { rows: [], results: [] };
    const call = toCall(verb, sent, options);
    const { body, isShort } = await send(connection, call);
    const { results } = body;
    check(call, verb !== "upsert" || areResults(results, count));
    const found = (results as UpsertResult[] | undefined)?.filter((one) => one !== "missing");
    check(call, hasRows(body, isRow) && body.rows.length === (found?.length ?? count));
    const rows = isShort ? await readAgain(body.rows, (id) => get(id, options)) : body.rows;
    return { rows, results: results as UpsertResult[] };
  };
  const get: TableClient<TableTypes>["get"] = async (id, options) =>
    await sendRow("get", { method: "GET", segment: id }, options);
  const toListCall = (verb: string, options: AnyWatch): Call => {
    const prefer = options.count && `count=${options.count}`;
    return toCall(verb, { method: "GET", query: toQuery(options), prefer }, options);
  };
  const list = async (options: AnyQuery = {}): Promise<Page<AnyRow>> => {
    const call = toListCall("list", options);
    return readPage(await sendList(connection, call), call, options);
  };
  const requestPage = async (options: AnyWatch, sent: Pick<Call, "signal" | "ifNoneMatch">) => {
    const call = toListCall("watch", options);
    const { body, tag, isSame } = await send(connection, { ...call, ...sent });
    return { page: isSame ? undefined : readPage(body, call, options), tag };
  };
  const pages = (options?: AnyQuery) => readPages(list, options);
  async function* all(options?: AnyQuery): AsyncGenerator<AnyRow, void, undefined> {
    for await (const { rows } of pages(options)) yield* rows;
  }
  function upsert(values: readonly object[], options: UpsertOptions): Promise<Upserted<AnyRow>>;
  function upsert(values: object, options: UpsertOptions): Promise<AnyRow>;
  async function upsert(
    values: object,
    { onConflict, existing, ...options }: UpsertOptions,
  ): Promise<AnyRow | Upserted<AnyRow>> {
    const sent = { ...toPost(values), query: Object.entries({ onConflict, existing }) };
    return Array.isArray(values)
      ? await sendBatch("upsert", sent, values.length, options)
      : await sendRow("upsert", sent, options);
  }
  const storeAll = async (
    verb: "createAll" | "updateAll",
    values: AnyRows,
    { onStored, ...options }: CreateAllOptions = {},
  ) => {
    const method = verb === "updateAll" ? "PATCH" : "POST";
    return await createAll(values, {
      toJson: (value: object & { ifMatch?: RowState }) =>
        toJson(
          value.ifMatch === undefined ? value : { ...value, ifMatch: toIfMatch(value.ifMatch) },
        ),
      send: async ({ body, count }) =>
        (await sendBatch(verb, { method, body, key: makeKey() }, count, options)).rows,
      findMaxBytes: () => findMaxBytes(connection),
      onStored,
    });
  };
  const writeMany = async (verb: string, asked: AnyMany, sent: Sent) => {
    const query = toManyQuery(asked, `${table}.${verb}`);
    const call = toCall(verb, { ...sent, query, key: makeKey() }, asked);
    const { body } = await send(connection, call);
    check(call, typeof body["count"] === "number");
    return body as Counted;
  };
  return Object.freeze<TableClient<TableTypes>>({
    list,
    pages,
    all,
    get,
    groups: async (options: CallOptions = {}) => {
      const sent = { method: "GET", segment: "groups", query: toGroupQuery(options) } as const;
      const call = toCall("groups", sent, options);
      const { groups } = (await send(connection, call)).body;
      check(call, Array.isArray(groups));
      return groups;
    },
    find: async (where, options) => {
      const search = (page: AnyQuery) => list({ ...options, ...page });
      return await findRow(search, { table, where, source: sources?.[table] });
    },
    create: async (values, options) => await sendRow("create", toPost(values), options),
    createMany: async (values, options) =>
      (await sendBatch("createMany", toPost(values), values.length, options)).rows,
    createAll: (values, options) => storeAll("createAll", values, options),
    updateAll: (values, options) => storeAll("updateAll", values, options),
    upsert,
    updateMany: async (values, options) =>
      await writeMany("updateMany", options, { method: "PATCH", body: toJson(values) }),
    deleteMany: (options) => writeMany("deleteMany", options, { method: "DELETE", isOnce: true }),
    update: async (id, values, options) =>
      await sendRow("update", { method: "PATCH", segment: id, body: toJson(values) }, options),
    delete: async (id, options) => {
      await send(connection, toCall("delete", { method: "DELETE", segment: id }, options));
    },
    watch: (options: AnyWatch = {}) =>
      endable(options.signal, (signal) =>
        watchPage({ connection, table, sources, request: requestPage }, { ...options, signal }),
      ),
    changes: (options = {}) =>
      endable(options.signal, (signal) => readChanges(connection, table, { ...options, signal })),
  });
}

/** A write that takes effect once, even if it is repeated. */
function toPost(values: object): Sent {
  return { method: "POST", body: toJson(values), key: makeKey() };
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
function toQuery({
  signal,
  timeoutMs,
  everyMs,
  count,
  where,
  orderBy,
  select,
  ...given
}: AnyWatch): [name: string, value: unknown][] {
  return [...toQueryParameters({ where, orderBy, select }), ...Object.entries(given)];
}

/** The empty text, dots, and text that is not valid UTF-16. */
const NO_SEGMENT = /^\.{0,2}$|\p{Cs}/u;

/** One segment of a path. An empty segment or dots would change the path, such as an id's path to that of the list. */
function toSegment(text: string | undefined, call: string): string {
  if (typeof text === "string" && !NO_SEGMENT.test(text)) return encodeURIComponent(text);
  const message = `${call}: Cannot use "${text}" as an id: must be the uuid of a row`;
  throw new DataError(message, { status: 0, code: "invalid_id" });
}
