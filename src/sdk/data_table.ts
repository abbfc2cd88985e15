/** The methods of one table: what each sends, and what it takes for an answer. Never trusts an answer unread. @module */
import { type Call, type Connection, readObject, send, unreadable } from "./data_call.ts";
import { DataError } from "./data_error.ts";
import { keepTag, type RowState, toIfMatch } from "./row_state.ts";
import { type Poll, watchPage } from "./watch_page.ts";

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

/** Settings of a call that changes a row. */
export type ChangeOptions = CallOptions & {
  /**
   * The state that the row must still be in: a row that `get`, `create` or `update` of this client returned, or a tag. If
   * somebody has changed the row since, the call is a `DataError` with code `precondition_failed`, and changes nothing.
   */
  readonly ifMatch?: RowState | undefined;
};

/** Which page to watch, and how often to ask. */
export type WatchOptions = ListOptions & {
  /** Milliseconds between two questions. Default: 2,000. */
  readonly everyMs?: number | undefined;
};

/** A page of a table, in order of creation. */
export type Page<Row> = {
  readonly rows: Row[];
  /** The limit that was used. */
  readonly limit: number;
  readonly offset: number;
  /** Whether there are more rows after these. */
  readonly hasMore: boolean;
};

/** The types of a table's rows, inserts and updates, as `TablesOf` and the generated types give them. */
export type TableTypes = {
  readonly row: { readonly id: string };
  readonly insert: object;
  readonly update: object;
};

/**
 * One table of the app. Every method rejects with a `DataError`, or with the reason of the caller's signal.
 *
 * Reads, deletes and creates are retried after a lost connection, 429, 502, 503 and 504: a create carries a key by which
 * the service knows it again, so that it happens once. A call that changes a row is sent once.
 */
export interface TableClient<Types extends TableTypes> {
  /** A page of rows; `hasMore` says whether there are more. */
  list(options?: ListOptions): Promise<Page<Types["row"]>>;
  /** The pages from `offset` on, read one by one. If a row is deleted meanwhile, later ones move up and one may be missed. */
  pages(options?: ListOptions): AsyncGenerator<Page<Types["row"]>, void, undefined>;
  /** The rows from `offset` on, read in pages of `limit`. */
  all(options?: ListOptions): AsyncGenerator<Types["row"], void, undefined>;
  /** The row; a missing one is a `DataError` with code `not_found`. */
  get(id: Types["row"]["id"], options?: CallOptions): Promise<Types["row"]>;
  /** The new row with its id and its defaults. A value that is `undefined` is not sent. */
  create(values: Types["insert"], options?: CallOptions): Promise<Types["row"]>;
  /**
   * The new rows, in the order of `values`: all of them or, if one is refused, none. At most 1,000 and 100 KB; the
   * details of a refusal name the row: `/3/title`. For no values there is no call.
   */
  createMany(values: readonly Types["insert"][], options?: CallOptions): Promise<Types["row"][]>;
  /** The updated row; columns that are left out stay as they are. */
  update(
    id: Types["row"]["id"],
    values: Types["update"],
    options?: ChangeOptions,
  ): Promise<Types["row"]>;
  /** Nothing; a missing row is a `DataError` with code `not_found`. */
  delete(id: Types["row"]["id"], options?: ChangeOptions): Promise<void>;
  /**
   * The page now, and again whenever it has changed, until the loop is left or `signal` ends it. Asks by the page's tag, so
   * that a page that is the same costs the service almost nothing. Temporary failures are waited out.
   */
  watch(options?: WatchOptions): AsyncGenerator<Page<Types["row"]>, void, undefined>;
}

/** What every row has, whatever its table. */
type AnyRow = TableTypes["row"];

/** What a method adds to a call. */
type Sent = Pick<Call, "method" | "body" | "key"> & { readonly id?: string };

/** The client of one table. */
export function makeTable(connection: Connection, table: string): TableClient<TableTypes> {
  const toCall = (verb: string, sent: Sent, options?: ChangeOptions): Call => {
    const name = `${table}.${verb}`;
    // By presence: an id that is undefined must be refused, not become a call of the list.
    const segments = "id" in sent ? [table, sent.id] : [table];
    const path = `/v1/data/db/${segments.map((one) => toSegment(one, name)).join("/")}`;
    return { ...toBounds(options), ...sent, name, path };
  };
  const sendRow = async (call: Call) => {
    const { body, tag } = await send(connection, call);
    return keepTag(readRow(body, call), tag);
  };
  const pages = (options?: ListOptions) => readPages(list, options);
  const all = (options?: ListOptions) => readRows(pages(options));
  const toListCall = (options: ListOptions): Call => {
    const call = toCall("list", { method: "GET" }, options);
    return { ...call, path: call.path + toQuery(options) };
  };
  async function list(options: ListOptions = {}): Promise<Page<TableTypes["row"]>> {
    const call = toListCall(options);
    return readPage(await sendList(connection, call), call);
  }
  const get: TableClient<TableTypes>["get"] = async (id, options) =>
    sendRow(toCall("get", { method: "GET", id }, options));
  const poll: Poll<Page<AnyRow>> = async (options, ifNoneMatch) => {
    const call = toListCall(options);
    const { body, tag, isSame } = await send(connection, { ...call, ifNoneMatch });
    return { page: isSame ? undefined : readPage(body, call), tag };
  };
  return Object.freeze<TableClient<TableTypes>>({
    list,
    pages,
    all,
    get,
    create: async (values, options) => {
      const sent = { method: "POST", body: toJson(values), key: makeKey() } as const;
      const call = toCall("create", sent, options);
      const { body, tag, isShort } = await send(connection, call);
      const row = readRow(body, call);
      return isShort ? await get(row.id, options) : keepTag(row, tag);
    },
    createMany: async (values, options) => {
      if (values.length === 0) return [];
      const sent = { method: "POST", body: toJson(values), key: makeKey() } as const;
      const call = toCall("createMany", sent, options);
      const { body, isShort } = await send(connection, call);
      const rows = readBatch(body, call, values.length);
      return isShort ? await readAgain(rows, (id) => get(id, options)) : rows;
    },
    update: async (id, values, options) =>
      sendRow(toCall("update", { method: "PATCH", id, body: toJson(values) }, options)),
    delete: async (id, options) => {
      await send(connection, toCall("delete", { method: "DELETE", id }, options));
    },
    watch: (options = {}) => watchPage(poll, options),
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

/** A key that nobody else has. `crypto.randomUUID` is not there on pages without TLS. */
function makeKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** How many pages a client keeps. */
const MAX_KEPT = 100;

/** The page, which is not sent again where the client has kept it and it is still the same. */
async function sendList(connection: Connection, call: Call): Promise<object> {
  const { kept } = connection;
  if (kept === undefined) return (await send(connection, call)).body;
  const found = kept.get(call.path);
  const { body, text, tag, isSame } = await send(connection, { ...call, ifNoneMatch: found?.tag });
  kept.delete(call.path);
  const page = isSame ? found : tag === undefined ? undefined : { tag, text };
  if (page !== undefined) kept.set(call.path, page);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  // Read anew, because the caller may have changed what it was given before.
  return isSame && found !== undefined ? (readObject(found.text) ?? {}) : body;
}

async function* readPages(
  list: (options: ListOptions) => Promise<Page<AnyRow>>,
  options: ListOptions = {},
): AsyncGenerator<Page<AnyRow>, void, undefined> {
  let offset = options.offset ?? 0;
  for (;;) {
    const page = await list({ ...options, offset });
    yield page;
    // With a limit of 0 there is always more, and never any nearer.
    if (!page.hasMore || page.rows.length === 0) return;
    offset += page.rows.length;
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

/** All that was given: a filter that the types do not know is the service's to refuse, not ours to drop. */
function toQuery({ signal, timeoutMs, everyMs, ...asked }: WatchOptions): string {
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]) => [name, `${value}`]));
  return given.length === 0 ? "" : `?${query}`;
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

function readPage(answer: object, call: Call): Page<AnyRow> {
  if (isPage(answer)) return answer;
  throw unreadable(call);
}

function readBatch(answer: object, call: Call, count: number): AnyRow[] {
  if (hasRows(answer) && answer.rows.length === count) return answer.rows;
  throw unreadable(call);
}

function readRow(answer: object, call: Call): AnyRow {
  if (isRow(answer)) return answer;
  throw unreadable(call);
}

function isPage(answer: object): answer is Page<AnyRow> {
  return hasRows(answer) && "hasMore" in answer && typeof answer.hasMore === "boolean";
}

function hasRows(answer: object): answer is { rows: AnyRow[] } {
  return "rows" in answer && Array.isArray(answer.rows) && answer.rows.every(isRow);
}

function isRow(value: unknown): value is AnyRow {
  return (
    typeof value === "object" && value !== null && "id" in value && typeof value.id === "string"
  );
}
