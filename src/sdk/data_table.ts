/** The methods of one table: what each sends, and what it takes for an answer. Never trusts an answer unread. @module */

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
  /** Ends the call, which then rejects with the signal's reason: an `AbortError` unless told otherwise. */
  readonly signal?: AbortSignal | undefined;
  /** How long this call may take, retries included. */
  readonly timeoutMs?: number | undefined;
};

/** Which page of a table. */
export type ListOptions = CallOptions & {
  /** Maximum number of rows; the service never returns more than 1000, which is the default. */
  readonly limit?: number | undefined;
  /** Rows to skip. Default: 0. */
  readonly offset?: number | undefined;
};

/** A column of the order, and its direction. */
export type OrderKey<Row> = {
  [Column in Exclude<keyof Row & string, "app_id">]: { readonly [C in Column]: "asc" | "desc" };
}[Exclude<keyof Row & string, "app_id">];

/** Which rows of a table, in which order. A service accepts these only where `PREVIEW` names filters. */
export type QueryOptions<Row> = ListOptions & {
  /** Conditions that must all be true. */
  readonly where?: Where<Row> | undefined;
  /** Up to three columns; rows that are equal in them come in the order of creation. Nulls come last. */
  readonly orderBy?: readonly OrderKey<Row>[] | undefined;
  /** The `next` of an earlier page with the same conditions and order. */
  readonly after?: string | undefined;
  /** Whether the page has `count`. */
  readonly count?: boolean | undefined;
};

/** The columns of a row that can be selected. */
type Selectable<Row> = Exclude<keyof Row & string, "app_id">;

/** Settings of a call that changes a row. */
export type ChangeOptions = CallOptions & {
  /**
   * The state that the row must still be in: a row that `get`, `create` or `update` of this client returned, or a tag. If
   * someone has changed the row since, the call is a `DataError` with code `precondition_failed`, and changes nothing.
   */
  readonly ifMatch?: RowState | undefined;
};

/** Which page to watch, and how often to ask. */
export type WatchOptions<Row = AnyRow> = QueryOptions<Row> & {
  /** Milliseconds between two requests where changes are not streamed. Default: 2,000. */
  readonly everyMs?: number | undefined;
};

/** A page of a table, in order of creation. */
export type Page<Row> = {
  readonly rows: Row[];
  /** The limit that was used. */
  readonly limit: number;
  readonly offset: number;
  /** Whether more rows may follow. */
  readonly hasMore: boolean;
  /** Where the next page begins, for `after`; `null` on the last page. Absent where `PREVIEW` does not name filters. */
  readonly next?: string | null;
  /** How many rows fulfill the conditions, if `count` was set; `null` if more than 10,000 would have to be read. */
  readonly count?: number | null;
};

/** The types of a table's rows, inserts and updates, as `TablesOf` and the generated types give them. */
export type TableTypes = {
  readonly row: { readonly id: string };
  readonly insert: object;
  readonly update: object;
  /** The names of the columns that identify a row; `id` if it is left out. */
  readonly unique?: string;
};

/** The columns of a table that identify a row by themselves. */
type UniqueColumn<Types extends TableTypes> = Extract<
  "id" | (Types extends { readonly unique: infer Names } ? Names : never),
  keyof Types["row"]
>;

/** What identifies one row: the value of a unique column, or of several. */
export type UniqueValues<Types extends TableTypes> = {
  [Column in UniqueColumn<Types>]: {
    readonly [C in Column]: NonNullable<Types["row"][C]>;
  };
}[UniqueColumn<Types>];

/**
 * One table of the app. Every method rejects with a `DataError`, or with the reason of the caller's signal.
 *
 * Reads, deletes and creates are retried after a lost connection, 429, 502, 503 and 504: a create carries a key by which
 * the service knows it again, so that it happens once. A call that changes a row is sent once.
 */
export interface TableClient<Types extends TableTypes> {
  /** A page of rows with the columns in `select`; `hasMore` says whether more may follow. */
  list<const Column extends Selectable<Types["row"]>>(
    options: QueryOptions<Types["row"]> & { readonly select: readonly Column[] },
  ): Promise<Page<Pick<Types["row"], Column>>>;
  /** A page of rows; `hasMore` says whether more may follow. */
  list(options?: QueryOptions<Types["row"]>): Promise<Page<Types["row"]>>;
  /**
   * The pages from `offset` on, read one by one. Where the service returns `next`, no row is missed; else later rows move up
   * if a row is deleted meanwhile, and one may be missed.
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
   * The row with this value in a unique column, or `undefined` if there is none. A search that has not reached the end of the
   * table after 20 calls is a `DataError` with code `needs_index`; a column that is not unique is a `TypeError` if the
   * client has the schema. A service searches only where `PREVIEW` names filters.
   */
  find(where: UniqueValues<Types>, options?: CallOptions): Promise<Types["row"] | undefined>;
  /** The row; a missing one is a `DataError` with code `not_found`. */
  get(id: Types["row"]["id"], options?: CallOptions): Promise<Types["row"]>;
  /** The new row with its id and its defaults. A value that is `undefined` is not sent. */
  create(values: Types["insert"], options?: CallOptions): Promise<Types["row"]>;
  /**
   * The new rows, in the order of `values`: all of them or, if one is rejected, none. Max 1,000 rows and 100 KB (102,400 bytes
   * of JSON); the details of an error name the row: `/3/title`. For no values there is no call.
   */
  createMany(values: readonly Types["insert"][], options?: CallOptions): Promise<Types["row"][]>;
  /**
   * The new rows, however many: sent one call after the other, each of at most 1,000 rows and 100 KB. The rows of a call are
   * all stored or none. If a call fails, the `DataError` has the rows that are stored in `stored`, and its details count from
   * the first row.
   */
  createAll(
    values: Iterable<Types["insert"]> | AsyncIterable<Types["insert"]>,
    options?: CreateAllOptions<Types["row"]>,
  ): Promise<Types["row"][]>;
  /** The updated row; columns that are left out stay as they are. */
  update(
    id: Types["row"]["id"],
    values: Types["update"],
    options?: ChangeOptions,
  ): Promise<Types["row"]>;
  /** Nothing; a missing row is a `DataError` with code `not_found`. */
  delete(id: Types["row"]["id"], options?: ChangeOptions): Promise<void>;
  /**
   * The page now, and again whenever it has changed, until the loop is left or `signal` ends it. Where the app is live, the
   * client waits for the table's event stream; elsewhere it requests the page every `everyMs`, by its tag. Temporary
   * failures are waited out.
   */
  watch(options?: WatchOptions<Types["row"]>): AsyncGenerator<Page<Types["row"]>, void, undefined>;
}

/** What every row has, whatever its table. */
type AnyRow = TableTypes["row"];

/** What the types of a table's columns have become, once they are checked. */
type AnyQuery = ListOptions & {
  readonly where?: object | undefined;
  readonly orderBy?: readonly object[] | undefined;
  readonly select?: readonly string[] | undefined;
  readonly after?: string | undefined;
  readonly count?: boolean | undefined;
};
type AnyWatch = AnyQuery & Pick<WatchOptions, "everyMs">;
type ListPage = (options: AnyQuery) => Promise<Page<AnyRow>>;

/** What a method adds to a call. */
type Sent = Pick<Call, "method" | "body" | "key"> & { readonly id?: string };

/** The client of one table; `source` is the table in the schema, if the client has one. */
export function makeTable(
  connection: Connection,
  table: string,
  source?: TableKinds,
): TableClient<TableTypes> {
  const toCall = (verb: string, sent: Sent, options?: ChangeOptions): Call => {
    const name = `${table}.${verb}`;
    // By presence: an id that is undefined must be refused, not become a call of the list.
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

/** How many rows are read at once. */
const AT_ONCE = 10;

/** The rows of which only the ids are known. */
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

/** A key that no one else has. `crypto.randomUUID` is not there on pages without TLS. */
function makeKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** How many pages a client keeps. */
const MAX_KEPT = 100;

/** The page, which is not sent again where the client has kept it and it is still the same. */
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
  // Read again, because the caller may have changed what it was given before.
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
    // With a limit of 0 there is always more, and never any nearer.
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

/** All that was given: a parameter that the types do not know is the service's to refuse, not ours to drop. */
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

/** Nothing, dots, and text that UTF-8 cannot say. */
const NO_SEGMENT = /^\.{0,2}$|\p{Cs}/u;

/** One segment of a path. An empty one or dots would make it another path: that of the list, for an id. */
function toSegment(text: string | undefined, call: string): string {
  if (typeof text === "string" && !NO_SEGMENT.test(text)) return encodeURIComponent(text);
  const message = `${call}: Cannot use "${text}" as an id: must be the uuid of a row`;
  throw new DataError(message, { status: 0, code: "invalid_id" });
}

/** Values as JSON, without those that JSON would drop or turn into something else. */
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
