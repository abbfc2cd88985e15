/** What a schema means to the compiler: rows, inserts and updates of each table. Nothing here exists at run time. @module */
import type { AnyColumn, Known } from "./column.ts";
import type { Kind } from "./definition.ts";
import type { ColumnsOf, Schema, TableSources } from "./schema.ts";

/** The id of a row. Any string will do for one, except the id of a row of another table. */
export type Id<Table extends string> = string & { readonly "~table"?: Table };

/** A time as ISO 8601 text; JSON has no times of its own. */
export type IsoTime = `${number}-${number}-${number}T${string}`;

/**
 * A row as the service answers it: `Row<typeof schema, "todos">`, or `Row<Tables, "todos">` with generated types.
 *
 * @example
 * ```ts
 * import { defineSchema, type Row, t } from "rowhouse/schema";
 * import { expect } from "bun:test";
 *
 * const schema = defineSchema({ todos: { title: t.string().required(), due: t.timestamp() } });
 * const row: Row<typeof schema, "todos"> = { id: "…", app_id: "…", title: "Water the plants", due: null };
 * expect(row.title).toBe("Water the plants");
 * ```
 */
export type Row<S, Name extends keyof TablesOf<S>> = Part<TablesOf<S>[Name], "row">;

/**
 * What creates a row: a required column without a default must be there, any other may be.
 *
 * @example
 * ```ts
 * import { defineSchema, type Insert, t } from "rowhouse/schema";
 * import { expect } from "bun:test";
 *
 * const schema = defineSchema({ todos: { title: t.string().required(), due: t.timestamp() } });
 * const insert: Insert<typeof schema, "todos"> = { title: "Water the plants" };
 * expect(insert).not.toHaveProperty("due");
 * ```
 */
export type Insert<S, Name extends keyof TablesOf<S>> = Part<TablesOf<S>[Name], "insert">;

/**
 * What changes a row: any column, and null for those that are not required.
 *
 * @example
 * ```ts
 * import { defineSchema, t, type Update } from "rowhouse/schema";
 * import { expect } from "bun:test";
 *
 * const schema = defineSchema({ todos: { title: t.string().required(), due: t.timestamp() } });
 * const update: Update<typeof schema, "todos"> = { due: null };
 * expect(update).not.toHaveProperty("title");
 * ```
 */
export type Update<S, Name extends keyof TablesOf<S>> = Part<TablesOf<S>[Name], "update">;

/** Every table of a schema with its `row`, `insert` and `update`; generated types are their own. */
export type TablesOf<S> =
  S extends Schema<infer T> ? { [Name in keyof T]: TableTypes<T, Name> } : S;

/** What `.default()` takes. A reference takes none: its row would have to exist in every app. */
export type DefaultOf<K extends Kind, Detail> = K extends "ref"
  ? never
  : K extends "timestamp"
    ? "now" | IsoTime
    : NonNullable<ValuesByKind<Detail>[K]>;

type TableTypes<T extends TableSources, Name extends keyof T> = {
  row: RowOf<Name & string, ColumnsOf<T[Name]>>;
  insert: InsertOf<ColumnsOf<T[Name]>>;
  update: UpdateOf<ColumnsOf<T[Name]>>;
};

type Part<Types, Name extends string> = Types extends { [N in Name]: infer P } ? P : never;

type ValuesByKind<Detail> = {
  string: string;
  number: number;
  decimal: string;
  boolean: boolean;
  uuid: string;
  timestamp: string;
  json: Detail;
  enum: Detail;
  ref: Detail extends string ? Id<Detail> : string;
};

/** What the compiler knows about a column. */
export type KnownOf<C> = C extends { readonly "~known"?: infer K }
  ? Extract<NonNullable<K>, Known>
  : never;

type ValueOf<C> = ValuesByKind<KnownOf<C>["detail"]>[KnownOf<C>["kind"]];
type FieldOf<C> = KnownOf<C>["required"] extends true ? ValueOf<C> : ValueOf<C> | null;

/** Keys of the columns that a new row cannot do without. */
type MandatoryOf<C> = {
  [N in keyof C]: KnownOf<C[N]> extends { required: true; hasDefault: false } ? N : never;
}[keyof C];

/** One flat object type; the empty half takes the alias away, so that an editor shows the columns themselves. */
type Flat<T> = { [N in keyof T]: T[N] } & {};

type RowOf<Name extends string, C> = Flat<
  { id: Id<Name>; app_id: string } & { -readonly [N in keyof C]: FieldOf<C[N]> }
>;
type InsertOf<C> = Flat<
  { -readonly [N in MandatoryOf<C>]: FieldOf<C[N]> } & {
    -readonly [N in Exclude<keyof C, MandatoryOf<C>>]?: FieldOf<C[N]>;
  }
>;
type UpdateOf<C> = Flat<{ -readonly [N in keyof C]?: FieldOf<C[N]> }>;

/** Columns by name. */
export type Columns = { readonly [name: string]: AnyColumn };
