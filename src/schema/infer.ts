/** Types of a schema: rows, inserts and updates of each table. Nothing here exists at run time. @module */
import type { Id, KindTypes } from "../kinds/mod.ts";
import type { KnownOf } from "./column.ts";
import type { UniqueNames } from "./model.ts";
import type { ColumnsOf, Schema, TableSources } from "./schema.ts";

/**
 * A row as the service returns it: `Row<typeof schema, "todos">`, or `Row<Tables, "todos">` with generated types.
 *
 * @example
 * ```ts
 * import { defineSchema, type Row, t } from "rowhouse/schema";
 *
 * const schema = defineSchema({ todos: { title: t.string().required(), due: t.timestamp() } });
 * const row: Row<typeof schema, "todos"> = { id: "…", app_id: "…", title: "Water the plants", due: null };
 * expect(row.title).toBe("Water the plants");
 * ```
 */
export type Row<S, Name extends keyof TablesOf<S>> = Part<TablesOf<S>[Name], "row">;

/**
 * The values that create a row. Required columns without a default must be set; other columns are optional.
 *
 * @example
 * ```ts
 * import { defineSchema, type Insert, t } from "rowhouse/schema";
 *
 * const schema = defineSchema({ todos: { title: t.string().required(), due: t.timestamp() } });
 * const insert: Insert<typeof schema, "todos"> = { title: "Water the plants" };
 * expect(insert).not.toHaveProperty("due");
 * ```
 */
export type Insert<S, Name extends keyof TablesOf<S>> = Part<TablesOf<S>[Name], "insert">;

/**
 * The values that update a row: any columns, and null for columns that are not required.
 *
 * @example
 * ```ts
 * import { defineSchema, t, type Update } from "rowhouse/schema";
 *
 * const schema = defineSchema({ todos: { title: t.string().required(), due: t.timestamp() } });
 * const update: Update<typeof schema, "todos"> = { due: null };
 * expect(update).not.toHaveProperty("title");
 * ```
 */
export type Update<S, Name extends keyof TablesOf<S>> = Part<TablesOf<S>[Name], "update">;

/**
 * What identifies a row: `id`, the names of unique columns, and a list of names for each unique constraint over several columns.
 *
 * @example
 * ```ts
 * import { defineSchema, t, type Unique } from "rowhouse/schema";
 *
 * const schema = defineSchema({ people: { email: t.string().unique(), name: t.string() } });
 * const column: Unique<typeof schema, "people"> = "email";
 * expect(schema.tables.people[column].column.unique).toBe(true);
 * ```
 */
export type Unique<S, Name extends keyof TablesOf<S>> = Part<TablesOf<S>[Name], "unique">;

/** Every table of a schema with its `row`, `insert`, `update` and `unique`. Generated types pass through. */
export type TablesOf<S> =
  S extends Schema<infer T> ? { [Name in keyof T]: TableTypes<T, Name> } : S;

type TableTypes<T extends TableSources, Name extends keyof T> = {
  row: RowOf<Name & string, ColumnsOf<T[Name]>>;
  insert: InsertOf<ColumnsOf<T[Name]>>;
  update: UpdateOf<ColumnsOf<T[Name]>>;
  unique: UniqueOf<T[Name]>;
};

type Part<Types, Name extends string> = Types extends { [N in Name]: infer P } ? P : never;

type ValueOf<C> = KindTypes<KnownOf<C>["detail"]>[KnownOf<C>["kind"]]["value"];
type FieldOf<C> = KnownOf<C>["required"] extends true ? ValueOf<C> : ValueOf<C> | null;

/** Keys of the columns that a new row requires. */
type MandatoryOf<C> = {
  [N in keyof C]: KnownOf<C[N]> extends { required: true; hasDefault: false } ? N : never;
}[keyof C];

/** Unique columns, and a model's unique constraints. */
type UniqueOf<Source> = "id" | UniqueColumnsOf<ColumnsOf<Source>> | UniqueOfModel<Source>;
type UniqueColumnsOf<C> = {
  [N in keyof C]: KnownOf<C[N]> extends { unique: true } ? N & string : never;
}[keyof C];
type UniqueOfModel<Source> = Source extends {
  readonly model: unknown;
  readonly "~unique"?: (columns: infer Names extends UniqueNames) => void;
}
  ? Names
  : never;

/** One flat object type. `& {}` removes the alias, so editors show the columns. */
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
