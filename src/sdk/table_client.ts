/** The type of a table's client: the methods, their options and their results. @module */
import type { RowState } from "./row_state.ts";
import type { CheckedItems, OrderKey, Selected, SelectItem } from "./select.ts";
import type { Where } from "./where.ts";

/** Settings of one call. */
export type CallOptions = {
  /** Ends the call, which then rejects with the signal's reason, an `AbortError` by default. */
  readonly signal?: AbortSignal | undefined;
  /** Max milliseconds of this call, retries included. */
  readonly timeoutMs?: number | undefined;
};

/** Settings of `createAll` and `updateAll`. */
export type CreateAllOptions<Stored extends { readonly id: string } = { readonly id: string }> = {
  /** Ends the calls. Rows stored before that remain stored; `onStored` has received them. */
  readonly signal?: AbortSignal | undefined;
  /** Max milliseconds per call, retries included. */
  readonly timeoutMs?: number | undefined;
  /** Receives the rows of each call once they are stored. */
  readonly onStored?: ((rows: readonly Stored[]) => void) | undefined;
};

/** The page of a table. */
export type ListOptions = CallOptions & {
  /** Maximum number of rows; the service never returns more than 1000, which is the default. */
  readonly limit?: number | undefined;
  /** Rows to skip. Default: 0. */
  readonly offset?: number | undefined;
};

/** The conditions and the order of a list. A service accepts these only if `PREVIEW` contains `filters`. */
export type QueryOptions<Row, Tables = unknown> = ListOptions & {
  /** Conditions that must all be true. */
  readonly where?: Where<Row, Tables> | undefined;
  /** Up to three columns. Equal rows sort in order of creation. Nulls sort last. */
  readonly orderBy?: readonly OrderKey<Row>[] | undefined;
  /** The `next` of an earlier page with the same conditions and order. */
  readonly after?: string | undefined;
  /** Adds `count` to the page: exact, or possibly an estimate. */
  readonly count?: "exact" | "estimated" | undefined;
};

/** The columns and the related rows of each row. */
export type Select<Tables, Name, Items> = {
  /**
   * Columns, the rows of references: `{ project: ["name"] }`, and rows that refer to a row: `{ todos: { select: ["title"],
   * limit: 10, orderBy: [{ due_at: "desc" }] } }`. A table with several references names its column: `"todos!project"`.
   */
  readonly select: Items & CheckedItems<Tables, Name, Items>;
};

/** Groups of the rows that match `where`, by the values of up to two columns, and what is computed of each group. */
export type GroupOptions<Row, Tables, By, Sum, Avg, Min, Max> = CallOptions & {
  /** Conditions that must all be true. */
  readonly where?: Where<Row, Tables> | undefined;
  /** Up to two columns whose equal values are a group. Without columns, all rows are one group. */
  readonly by?: By & readonly GroupColumn<Row>[];
  /** Columns of numbers: their exact sums, as decimal strings. */
  readonly sum?: Sum & readonly NumberColumn<Row>[];
  /** Columns of numbers: their averages, as decimal strings. */
  readonly avg?: Avg & readonly NumberColumn<Row>[];
  /** Columns of numbers, times or dates: their lowest values. */
  readonly min?: Min & readonly NumberColumn<Row>[];
  /** Their highest values. */
  readonly max?: Max & readonly NumberColumn<Row>[];
};

/** One group of rows. A value is null if no row of the group has one. */
export type Group<Row, By, Sum, Avg, Min, Max> = {
  readonly by: Values<Row, By>;
  readonly count: number;
} & Member<"sum", Sum, Texts<Row, By, Sum>> &
  Member<"avg", Avg, Texts<Row, By, Avg>> &
  Member<"min", Min, Extremes<Row, By, Min>> &
  Member<"max", Max, Extremes<Row, By, Max>>;

type Columns = readonly string[];
type Values<Row, Names> = { readonly [C in Item<Names> & keyof Row]: Row[C] };
type Item<Names> = Names extends readonly (infer Name)[] ? Name : never;
/** The group of all rows can be empty. */
type Missing<By> = By extends readonly [] ? null : never;
type Texts<Row, By, Names> = {
  readonly [C in Item<Names> & keyof Row]: string | Extract<Row[C], null> | Missing<By>;
};
type Extremes<Row, By, Names> = {
  readonly [C in Item<Names> & keyof Row]: Row[C] | Missing<By>;
};
type Member<Name extends string, Names, Value> = Names extends readonly []
  ? unknown
  : { readonly [N in Name]: Value };

/** Columns whose values can be equal: all but JSON. */
type GroupColumn<Row> = ColumnsOf<Row, string | number | boolean>;
/** Numbers, and texts: decimals, times and dates are strings. An enum or an id is not. */
type NumberColumn<Row> = {
  [C in GroupColumn<Row>]: NonNullable<Row[C]> extends number
    ? C
    : "~table" extends keyof NonNullable<Row[C]>
      ? never
      : string extends NonNullable<Row[C]>
        ? C
        : never;
}[GroupColumn<Row>];
type ColumnsOf<Row, Value> = {
  [C in Exclude<keyof Row & string, "app_id">]: NonNullable<Row[C]> extends Value ? C : never;
}[Exclude<keyof Row & string, "app_id">];

/** Settings of a call that changes a row. */
export type ChangeOptions = CallOptions & {
  /**
   * The expected state of the row: a row that `get`, `create` or `update` of this client returned, or a tag. If the row has
   * changed since, the call rejects with the code `precondition_failed`, and changes nothing.
   */
  readonly ifMatch?: RowState | undefined;
};

/** The page to watch, and the polling interval. */
export type WatchOptions<Row = AnyRow, Tables = unknown> = QueryOptions<Row, Tables> & {
  /** Milliseconds between two requests if changes are not streamed. Default: 2,000. */
  readonly everyMs?: number | undefined;
};

/** The position of a stream of changes. */
export type ChangesOptions = {
  /** Ends the loop, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The `cursor` of an earlier event, at most 10 minutes old: the stream continues after it. */
  readonly since?: string | undefined;
};

/** What changed in a table. */
export type TableChanges<Row extends AnyRow> = {
  /**
   * `ready`: the stream begins; list the rows now. `changes`: rows have changed. `reset`: list the rows again, because some
   * changes are unknown.
   */
  readonly type: "ready" | "changes" | "reset";
  /** The position after these changes, for `since`. */
  readonly cursor: string;
  /** New and changed rows, as they are now. */
  readonly put: readonly Row[];
  /** The ids of deleted rows. */
  readonly deleted: readonly Row["id"][];
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
  /** The number of rows that match, if `count` was set; `null` if the service would have to read more than 100,000 rows, or too much text. */
  readonly count?: number | null;
  /** Whether `count` is not exact. */
  readonly countIsEstimate?: boolean;
};

/** The types of a table's rows, inserts and updates, from `TablesOf` or the generated types. */
export type TableTypes = {
  readonly row: { readonly id: string };
  readonly insert: object;
  readonly update: object;
  /** What identifies a row: names of columns, and a list of names for each constraint over several columns. Default: `id`. */
  readonly unique?: string | readonly string[];
};

/** The names of each unique constraint: one, or a list. */
type UniqueNames<Types extends TableTypes> =
  | "id"
  | (Types extends { readonly unique: infer Names } ? Names : never);

/** The identity of one row: the values of a unique constraint, and perhaps of other unique columns. */
export type UniqueValues<Types extends TableTypes> = Identity<
  Types["row"],
  UniqueNames<Types>,
  Extract<UniqueNames<Types>, string>
>;

/** Other columns are excluded by name: the compiler accepts a literal with any column of any constraint. */
type Identity<Row, Names, Single> = Names extends readonly (infer Name)[]
  ? Identity<Row, { of: Name }, Single>
  : [ColumnOf<Names>] extends [keyof Row]
    ? { readonly [C in ColumnOf<Names>]: NonNullable<Row[C]> } & {
        readonly [C in Exclude<Single & keyof Row, ColumnOf<Names>>]?: NonNullable<Row[C]>;
      } & { readonly [C in Exclude<keyof Row, ColumnOf<Names> | Single>]?: never }
    : never;
type ColumnOf<Names> = Names extends { of: infer Name } ? Name : Names;

/** The unique constraint by which rows are found, and what happens to those that exist. */
export type UpsertOptions<Types extends TableTypes = TableTypes> = CallOptions & {
  /** A unique column, or all columns of a unique constraint. */
  readonly onConflict: TableTypes extends Types
    ? string | readonly string[]
    : Exclude<UniqueNames<Types>, "id">;
  /**
   * Default: `update`. With `ignore`, rows that exist remain as they are. With `only`, rows that exist are updated, and no row is
   * created: `rows` lacks those that are `missing`, and one missing row is an error `not_found`.
   */
  readonly existing?: "update" | "ignore" | "only" | undefined;
};

/** What happened to a row. An unchanged row was not written. */
export type UpsertResult = "created" | "updated" | "unchanged" | "ignored" | "missing";

/** The rows of a list as they are now, and what happened to each, in the order of the list. */
export type Upserted<Row> = { readonly rows: Row[]; readonly results: readonly UpsertResult[] };

/** The rows of an update or a delete with conditions. */
export type ManyOptions<Row = AnyRow, Tables = unknown> = CallOptions & {
  /** Max rows to write: the first by id. Without it, more than 1,000 matching rows reject with the code `too_many_rows`. */
  readonly limit?: number | undefined;
  /** Writes nothing, and counts the rows. */
  readonly dryRun?: boolean | undefined;
} & (
    | {
        /** Conditions that must all be true. An undefined value throws a `TypeError`. */
        readonly where: Where<Row, Tables>;
        readonly all?: undefined;
      }
    | {
        /** Every row. */
        readonly all: true;
        readonly where?: undefined;
      }
  );

/** The result of an update or a delete with conditions. */
export type Counted = {
  /** The number of rows that matched, also those that had the values already. */
  readonly count: number;
  /** With `limit`: whether more rows match. */
  readonly hasMore?: boolean;
  /** With `dryRun`: the ids of the first 20 rows. */
  readonly ids?: readonly string[];
};

/** A row to update by its id: the columns that change, and perhaps its expected state. */
export type RowUpdate<Types extends TableTypes> = Types["update"] & {
  readonly id: Types["row"]["id"];
  readonly ifMatch?: RowState | undefined;
};

/**
 * One table of the app. Every method rejects with a `DataError`, or with the reason of the caller's signal.
 *
 * Reads, deletes and creates are retried after a lost connection, 429, 502, 503 and 504. A create has an idempotency key,
 * so a retry does not create a second row. Updates are not retried.
 */
export interface TableClient<
  Types extends TableTypes,
  Tables = { readonly "": Types },
  Name extends keyof Tables = keyof Tables,
> {
  /** A page of rows with the columns in `select`; `hasMore` is true if more rows may follow. */
  list<const Items extends readonly SelectItem<Tables, Name>[]>(
    options: QueryOptions<Types["row"], Tables> & Select<Tables, Name, Items>,
  ): Promise<Page<Selected<Tables, Name, Items>>>;
  /** A page of rows; `hasMore` is true if more rows may follow. */
  list(options?: QueryOptions<Types["row"], Tables>): Promise<Page<Types["row"]>>;
  /**
   * The pages from `offset` on, read one by one. If the service returns `next`, no row is missed. Otherwise a delete during
   * the reads moves later rows up, and a row can be missed.
   */
  pages<const Items extends readonly SelectItem<Tables, Name>[]>(
    options: QueryOptions<Types["row"], Tables> & Select<Tables, Name, Items>,
  ): AsyncGenerator<Page<Selected<Tables, Name, Items>>, void, undefined>;
  pages(
    options?: QueryOptions<Types["row"], Tables>,
  ): AsyncGenerator<Page<Types["row"]>, void, undefined>;
  /** The rows from `offset` on, read in pages of `limit`. */
  all<const Items extends readonly SelectItem<Tables, Name>[]>(
    options: QueryOptions<Types["row"], Tables> & Select<Tables, Name, Items>,
  ): AsyncGenerator<Selected<Tables, Name, Items>, void, undefined>;
  all(options?: QueryOptions<Types["row"], Tables>): AsyncGenerator<Types["row"], void, undefined>;
  /**
   * The number of rows in each group, and sums, averages, lowest and highest values of its columns. All groups, sorted by
   * their columns. Requires that `PREVIEW` of the service contains `filters`.
   */
  groups<
    const By extends Columns = [],
    const Sum extends Columns = [],
    const Avg extends Columns = [],
    const Min extends Columns = [],
    const Max extends Columns = [],
  >(
    options?: GroupOptions<Types["row"], Tables, By, Sum, Avg, Min, Max>,
  ): Promise<Group<Types["row"], By, Sum, Avg, Min, Max>[]>;
  /**
   * The row with these values of a unique constraint, or `undefined`. Columns that are not unique throw a `TypeError` if the
   * client has the schema. Requires that `PREVIEW` of the service contains `filters`.
   */
  find(where: UniqueValues<Types>, options?: CallOptions): Promise<Types["row"] | undefined>;
  /** The row. Rejects with the code `not_found` if the row does not exist. */
  get(id: Types["row"]["id"], options?: CallOptions): Promise<Types["row"]>;
  /** The new row with its id and its defaults. `undefined` values are not sent. */
  create(values: Types["insert"], options?: CallOptions): Promise<Types["row"]>;
  /**
   * The new rows, in the order of `values`. If the service rejects one row, it stores none. Max 1,000 rows and 100 KB
   * (102,400 bytes of JSON; an operator can raise it). The details of an error name the row: `/3/title`. An empty list sends no request.
   */
  createMany(values: readonly Types["insert"][], options?: CallOptions): Promise<Types["row"][]>;
  /**
   * Any number of new rows, sent in consecutive calls of max 1,000 rows and 100 KB, or as many bytes as the service accepts. Each call stores all of its rows or
   * none. If a call fails, `stored` of the `DataError` contains the rows stored so far, and its details count from the
   * first row.
   */
  createAll(
    values: Iterable<Types["insert"]> | AsyncIterable<Types["insert"]>,
    options?: CreateAllOptions<Types["row"]>,
  ): Promise<Types["row"][]>;
  /**
   * Creates each row, or updates the row that has the same values in `onConflict`: only the columns in `values` change. If the
   * service rejects one row, it writes none. Max 1,000 rows, with the limits of `createMany`. Requires that `PREVIEW` of the
   * service contains `filters`, and a key with `data:read` and `data:write`.
   */
  upsert(
    values: readonly Types["insert"][],
    options: UpsertOptions<Types>,
  ): Promise<Upserted<Types["row"]>>;
  /** The new or updated row. */
  upsert(values: Types["insert"], options: UpsertOptions<Types>): Promise<Types["row"]>;
  /** The updated row. Columns that are left out do not change. */
  update(
    id: Types["row"]["id"],
    values: Types["update"],
    options?: ChangeOptions,
  ): Promise<Types["row"]>;
  /**
   * Any number of updated rows, in the order of `values`, sent in consecutive calls of max 1,000 different rows and 100 KB, or as
   * many bytes as the service accepts. Each call updates all of its rows or none. Each value has the `id` of its row, and the
   * columns to change; with `ifMatch`, the call fails if the row has changed since. If a call fails, `stored` of the `DataError`
   * contains the rows stored so far.
   */
  updateAll(
    values: Iterable<RowUpdate<Types>> | AsyncIterable<RowUpdate<Types>>,
    options?: CreateAllOptions<Types["row"]>,
  ): Promise<Types["row"][]>;
  /**
   * Updates all rows that match: up to 1,000, or none. A call that is repeated takes effect once. Requires that `PREVIEW` of the
   * service contains `filters`, and a key with `data:read` and `data:write`.
   */
  updateMany(values: Types["update"], options: ManyOptions<Types["row"], Tables>): Promise<Counted>;
  /** Deletes all rows that match: up to 1,000, or none, as `updateMany`. */
  deleteMany(options: ManyOptions<Types["row"], Tables>): Promise<Counted>;
  /** Deletes the row. Rejects with the code `not_found` if the row does not exist. */
  delete(id: Types["row"]["id"], options?: ChangeOptions): Promise<void>;
  /**
   * The rows of a query, and again after each change of these rows, until the loop ends or `signal` aborts. If the app is
   * live, the client waits for the table's event stream. Otherwise it polls with the page's tag every `everyMs`. Temporary
   * failures do not end the loop.
   */
  watch<const Items extends readonly SelectItem<Tables, Name>[]>(
    options: WatchOptions<Types["row"], Tables> & Select<Tables, Name, Items>,
  ): AsyncGenerator<Page<Selected<Tables, Name, Items>>, void, undefined>;
  watch(
    options?: WatchOptions<Types["row"], Tables>,
  ): AsyncGenerator<Page<Types["row"]>, void, undefined>;
  /**
   * The changes of all rows of the table, as its event stream sends them, until the loop ends or `signal` aborts. The first
   * event is `ready`, or with `since` what has changed. Continues after a lost connection, and misses no change: a slow loop
   * gets a `reset`. Rejects with the code `not_implemented` unless the app is live.
   */
  changes(options?: ChangesOptions): AsyncGenerator<TableChanges<Types["row"]>, void, undefined>;
}

/** Without a schema or a type, the types of the tables are unknown. */
export type NoTables = Record<never, never>;

/** The columns of every table. */
export type AnyRow = TableTypes["row"];

/** The column types after the checks. */
export type AnyQuery = Omit<QueryOptions<AnyRow>, "where" | "orderBy"> & {
  readonly where?: object | undefined;
  readonly orderBy?: readonly object[] | undefined;
  readonly select?: readonly unknown[] | undefined;
};
export type AnyWatch = AnyQuery & Pick<WatchOptions, "everyMs">;
