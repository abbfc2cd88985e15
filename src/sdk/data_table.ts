/** The methods of one table: their requests, and the checks of their responses. @module */

import { watchTable } from "./change_feed.ts";
import { type Batch, type CreateAllOptions, createAll } from "./create_all.ts";
import { type Call, type Connection, readObject, send, unreadable } from "./data_call.ts";
import { DataError } from "./data_error.ts";
import { findRow, listUnique } from "./find_row.ts";
import type { TableKinds } from "./matches.ts";
import { keepTag, type RowState, toIfMatch } from "./row_state.ts";
import { type Poll, watchPage } from "./watch_page.ts";
import { toConditionParameters, type Where } from "./where.ts";

/** Settings of one call. */
export type CallOptions = {
  /** Ends the call, which then rejects with the signal's reason, an `AbortError` by default. */
  readonly signal?: AbortSignal | undefined;
  /** Max milliseconds of this call, retries included. */
  readonly timeoutMs?: number | undefined;
};

/** The page of a table. */
export type ListOptions = CallOptions & {
  /** Maximum number of rows; the service never returns more than 1000, which is the default. */
  readonly limit?: number | undefined;
  /** Rows to skip. Default: 0. */
  readonly offset?: number | undefined;
};

/** A column of the sort order, and its direction. */
export type OrderKey<Row> = {
  [Column in Exclude<keyof Row & string, "app_id">]: { readonly [C in Column]: "asc" | "desc" };
}[Exclude<keyof Row & string, "app_id">];

/** The conditions and the order of a list. A service accepts these only if `PREVIEW` contains `filters`. */
export type QueryOptions<Row> = ListOptions & {
  /** Conditions that must all be true. */
  readonly where?: Where<Row> | undefined;
  /** Up to three columns. Equal rows sort in order of creation. Nulls sort last. */
  readonly orderBy?: readonly OrderKey<Row>[] | undefined;
  /** The `next` of an earlier page with the same conditions and order. */
  readonly after?: string | undefined;
  /** Whether the page includes `count`. */
  readonly count?: boolean | undefined;
};

/** The columns that `select` accepts. */
type Selectable<Row> = Exclude<keyof Row & string, "app_id">;

/** Settings of a call that changes a row. */
export type ChangeOptions = CallOptions & {
  /**
   * The expected state of the row: a row that `get`, `create` or `update` of this client returned, or a tag. If the row has
   * changed since, the call rejects with the code `precondition_failed`, and changes nothing.
   */
  readonly ifMatch?: RowState | undefined;
};

/** The page to watch, and the polling interval. */
export type WatchOptions<Row = AnyRow> = QueryOptions<Row> & {
  /** Milliseconds between two requests if changes are not streamed. Default: 2,000. */
  readonly everyMs?: number | undefined;
};

/** A page of a table, in order of creation. */
export type Page<Row> = {
  readonly rows: Row[];
  /** The applied limit. */
  readonly limit: number;
  readonly offset: number;
  /** Whether more rows may follow. */
  readonly hasMore: boolean;
  /** The cursor of the next page, for `after`; `null` on the last page. Absent unless `PREVIEW` contains `filters`. */
  readonly next?: string | null;
  /** The number of rows that match, if `count` was set; `null` if the service would have to read more than 10,000 rows. */
  readonly count?: number | null;
};

/** The types of a table's rows, inserts and updates, from `TablesOf` or the generated types. */
export type TableTypes = {
  readonly row: { readonly id: string };
  readonly insert: object;
  readonly update: object;
  /** The names of the columns that identify a row. Default: `id`. */
  readonly unique?: string;
};

/** The columns that each identify a row of the table. */
type UniqueColumn<Types extends TableTypes> = Extract<
  "id" | (Types extends { readonly unique: infer Names } ? Names : never),
  keyof Types["row"]
>;

/** The identity of one row: the values of one or more unique columns. */
export type UniqueValues<Types extends TableTypes> = {
  [Column in UniqueColumn<Types>]: {
    readonly [C in Column]: NonNullable<Types["row"][C]>;
  };
}[UniqueColumn<Types>];

/**
 * One table of the app. Every method rejects with a `DataError`, or with the reason of the caller's signal.
 *
 * Reads, deletes and creates are retried after a lost connection, 429, 502, 503 and 504. A create has an idempotency key,
 * so a retry does not create a second row. Updates are not retried.
 */
export interface TableClient<Types extends TableTypes> {
  /** A page of rows with the columns in `select`; `hasMore` is true if more rows may follow. */
  list<const Column extends Selectable<Types["row"]>>(
    options: QueryOptions<Types["row"]> & { readonly select: readonly Column[] },
  ): Promise<Page<Pick<Types["row"], Column>>>;
  /** A page of rows; `hasMore` is true if more rows may follow. */
  list(options?: QueryOptions<Types["row"]>): Promise<Page<Types["row"]>>;
  /**
   * The pages from `offset` on, read one by one. If the service returns `next`, no row is missed. Otherwise a delete during
   * the reads moves later rows up, and a row can be missed.
   */
  pages<const Column extends Selectable<Types["row"]>>(
    options: QueryOptions<Types["row"]> & { readonly select: readonly Column[] },
  ): AsyncGenerator<Page<Pick<Types["row"], Column>>, void, undefined>;
  pages(options?: QueryOptions<Types["row"]>): AsyncGenerator<Page<Types["row"]>, void, undefined>;
  /** The rows from `offset` on, read in pages of `limit`. */
  all<const Column extends Selectable<Types["row"]>>(
    options: QueryOptions<Types["row"]> & { readonly select: readonly Column[] },
  ): AsyncGenerator<Pick<Types["row"], Column>, void, undefined>;
  all(options?: QueryOptions<Types["row"]>): AsyncGenerator<Types["row"], void, undefined>;
  /**
   * The row with this value in a unique column, or `undefined`. A search that does not reach the end of the table within
   * 20 calls rejects with the code `needs_index`. A column that is not unique throws a `TypeError` if the client has the
   * schema. Requires that `PREVIEW` of the service contains `filters`.
   */
  find(where: UniqueValues<Types>, options?: CallOptions): Promise<Types["row"] | undefined>;
  /** The row. Rejects with the code `not_found` if the row does not exist. */
  get(id: Types["row"]["id"], options?: CallOptions): Promise<Types["row"]>;
  /** The new row with its id and its defaults. `undefined` values are not sent. */
  create(values: Types["insert"], options?: CallOptions): Promise<Types["row"]>;
  /**
   * The new rows, in the order of `values`. If the service rejects one row, it stores none. Max 1,000 rows and 100 KB
   * (102,400 bytes of JSON). The details of an error name the row: `/3/title`. An empty list sends no request.
   */
  createMany(values: readonly Types["insert"][], options?: CallOptions): Promise<Types["row"][]>;
  /**
   * Any number of new rows, sent in consecutive calls of max 1,000 rows and 100 KB. Each call stores all of its rows or
   * none. If a call fails, `stored` of the `DataError` contains the rows stored so far, and its details count from the
   * first row.
   */
  createAll(
    values: Iterable<Types["insert"]> | AsyncIterable<Types["insert"]>,
    options?: CreateAllOptions<Types["row"]>,
  ): Promise<Types["row"][]>;
  /** The updated row. Columns that are left out do not change. */
  update(
    id: Types["row"]["id"],
    values: Types["update"],
    options?: ChangeOptions,
  ): Promise<Types["row"]>;
  /** Deletes the row. Rejects with the code `not_found` if the row does not exist. */
  delete(id: Types["row"]["id"], options?: ChangeOptions): Promise<void>;
  /**
   * The current page, and the new page after each change, until the loop ends or `signal` aborts. If the app is live, the
   * client waits for the table's event stream. Otherwise it polls with the page's tag every `everyMs`. Temporary failures
   * do not end the loop.
   */
  watch(options?: WatchOptions<Types["row"]>): AsyncGenerator<Page<Types["row"]>, void, undefined>;
}

/** The columns of every table. */
type AnyRow = TableTypes["row"];

/** The column types after the checks. */
type AnyQuery = ListOptions & {
  readonly where?: object | undefined;
  readonly orderBy?: readonly object[] | undefined;
  readonly select?: readonly string[] | undefined;
  readonly after?: string | undefined;
  readonly count?: boolean | undefined;
};
type AnyWatch = AnyQuery & Pick<WatchOptions, "everyMs">;
type ListPage = (options: AnyQuery) => Promise<Page<AnyRow>>;

/** The parts of a call that its method sets. */
type Sent = Pick<Call, "method" | "body" | "key"> & { readonly id?: string };

/** The client of one table; `source` is the table in the schema, if the client has one. */
export function makeTable(
  connection: Connection,
  table: string,
  source?: TableKinds,
): TableClient<TableTypes> {
  const toCall = (verb: string, sent: Sent, options?: ChangeOptions): Call => {
    const name = `${table}.${verb}`;
    // Checks presence: an undefined id must fail, not turn into a call of the list.
    const segments = "id" in sent ? [table, sent.id] : [table];
    const path = `/v1/data/db/${segments.map((segment) => toSegment(segment, name)).join("/")}`;
    return { ...toBounds(options), ...sent, name, path };
  };
  const sendRow = async (call: Call) => {
    const { body, tag } = await send(connection, call);
    return keepTag(readRow(body, call), tag);
  };
  const pages = (options?: AnyQuery) => readPages(list, options);
  const all = (options?: AnyQuery) => readRows(pages(options));
  const toListCall = (options: AnyQuery): Call => {
    const call = toCall("list", { method: "GET" }, options);
    const prefer = options.count === true ? "count=bounded" : undefined;
    return { ...call, path: call.path + toQuery(options), prefer };
  };
  async function list(options: AnyQuery = {}): Promise<Page<AnyRow>> {
    const call = toListCall(options);
    return readPage(await sendList(connection, call), call, options);
  }
  const get: TableClient<TableTypes>["get"] = async (id, options) =>
    sendRow(toCall("get", { method: "GET", id }, options));
  const poll: Poll<Page<AnyRow>> = async (options, ifNoneMatch) => {
    const call = toListCall(options);
    const { body, tag, isSame } = await send(connection, { ...call, ifNoneMatch });
    return { page: isSame ? undefined : readPage(body, call, options), tag };
  };
  const sendBatch = async (verb: string, batch: Batch, options?: CallOptions) => {
    const sent = { method: "POST", body: batch.body, key: makeKey() } as const;
    const call = toCall(verb, sent, options);
    const { body, isShort } = await send(connection, call);
    const rows = readBatch(body, call, batch.count);
    return isShort ? await readAgain(rows, (id) => get(id, options)) : rows;
  };
  return Object.freeze<TableClient<TableTypes>>({
    list,
    pages,
    all,
    get,
    find: (where, options) =>
      findRow((search) => list({ ...options, ...search }), {
        table,
        where,
        unique: source && listUnique(source),
      }),
    create: async (values, options) => {
      const sent = { method: "POST", body: toJson(values), key: makeKey() } as const;
      const call = toCall("create", sent, options);
      const { body, tag, isShort } = await send(connection, call);
      const row = readRow(body, call);
      return isShort ? await get(row.id, options) : keepTag(row, tag);
    },
    createMany: async (values, options) =>
      values.length === 0
        ? []
        : await sendBatch("createMany", { body: toJson(values), count: values.length }, options),
    createAll: (values, { onStored, ...options } = {}) =>
      createAll(values, {
        toJson,
        send: (batch) => sendBatch("createAll", batch, options),
        onStored,
      }),
    update: async (id, values, options) =>
      sendRow(toCall("update", { method: "PATCH", id, body: toJson(values) }, options)),
    delete: async (id, options) => {
      await send(connection, toCall("delete", { method: "DELETE", id }, options));
    },
    watch: (options = {}) => watchPage(poll, options, () => watchTable(connection, table)),
  });
}

/** Rows per read. */
const AT_ONCE = 10;

/** Rows with only their ids. */
async function readAgain(
  known: readonly AnyRow[],
  get: (id: string) => Promise<AnyRow>,
): Promise<AnyRow[]> {
  const rows: AnyRow[] = [];
  while (rows.length < known.length) {
    const next = known.slice(rows.length, rows.length + AT_ONCE);
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
const MAX_KEPT = 100;

/** The page, from the cache if it is unchanged. */
async function sendList(connection: Connection, call: Call): Promise<object> {
  const { kept } = connection;
  const key = `${call.path} ${call.prefer ?? ""}`;
  if (kept === undefined) return (await send(connection, call)).body;
  const found = kept.get(key);
  const { body, text, tag, isSame } = await send(connection, { ...call, ifNoneMatch: found?.tag });
  kept.delete(key);
  const page = isSame ? found : tag === undefined ? undefined : { tag, text };
  if (page !== undefined) kept.set(key, page);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
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

async function* readRows(
  pages: AsyncIterable<Page<AnyRow>>,
): AsyncGenerator<AnyRow, void, undefined> {
  for await (const { rows } of pages) yield* rows;
}

function toBounds({
  signal,
  timeoutMs,
  ifMatch,
}: ChangeOptions = {}): Pick<Call, "signal" | "timeoutMs" | "ifMatch"> {
  return { signal, timeoutMs, ifMatch: toIfMatch(ifMatch) };
}

/** All parameters: the service must reject unknown parameters, so the client does not drop them. */
function toQuery({
  signal,
  timeoutMs,
  everyMs,
  count,
  where,
  orderBy,
  ...asked
}: AnyWatch): string {
  const order = orderBy?.flatMap((key) =>
    Object.entries(key).map(([name, way]) => `${name}.${way}`),
  );
  const given = Object.entries({ ...asked, order: order?.join(",") || undefined })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, `${value}`]);
  const query = new URLSearchParams([...toConditionParameters(where ?? {}), ...given]);
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

/** Values as JSON. @throws {TypeError} for values that JSON would drop or change */
function toJson(values: object): string {
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

function readPage(answer: object, call: Call, { select }: AnyQuery): Page<AnyRow> {
  const isPart = select !== undefined && !select.includes("id");
  if (isPage(answer, isPart ? isObject : isRow)) return answer;
  throw unreadable(call);
}

function readBatch(answer: object, call: Call, count: number): AnyRow[] {
  if (hasRows(answer, isRow) && answer.rows.length === count) return answer.rows;
  throw unreadable(call);
}

function readRow(answer: object, call: Call): AnyRow {
  if (isRow(answer)) return answer;
  throw unreadable(call);
}

function isPage(answer: object, isOne: (row: unknown) => boolean): answer is Page<AnyRow> {
  return hasRows(answer, isOne) && "hasMore" in answer && typeof answer.hasMore === "boolean";
}

function hasRows(answer: object, isOne: (row: unknown) => boolean): answer is { rows: AnyRow[] } {
  return "rows" in answer && Array.isArray(answer.rows) && answer.rows.every(isOne);
}

function isRow(value: unknown): value is AnyRow {
  return isObject(value) && "id" in value && typeof value.id === "string";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
