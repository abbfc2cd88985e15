/** The vocabulary of schemas: one builder per column kind, and `model`. @module */
import { type Column, makeColumn } from "./column.ts";
import type { Json } from "./definition.ts";
import type { Columns, DeclaredColumn } from "./known.ts";
import { type Model, makeModel } from "./model.ts";

const OPTIONAL = { required: false, unique: false, index: false } as const;

/**
 * Builders of columns, and `t.model` for a table with indexes and unique constraints over several columns.
 *
 * Each column is frozen; `.required()`, `.unique()`, `.index()` and `.default(value)` return a new one.
 *
 * @example
 * ```ts
 * import { t } from "rowhouse/schema";
 * import { expect } from "bun:test";
 *
 * const title = t.string().required();
 * expect(title.column).toEqual({ kind: "string", required: true, unique: false, index: false });
 * expect(t.enum(["open", "done"]).default("open").column.default).toBe("open");
 * expect(t.model({ title, rank: t.number() }).index("title", "rank").model.indexes).toEqual([["title", "rank"]]);
 * ```
 */
export const t = {
  /** A column of text. */
  string: (): Column<"string", false, false> => makeColumn(declare("string")),
  /** A column of JavaScript numbers; if every digit counts, use `t.decimal()`. */
  number: (): Column<"number", false, false> => makeColumn(declare("number")),
  /** A column of exact decimals, as strings such as `"12.50"`. */
  decimal: (): Column<"decimal", false, false> => makeColumn(declare("decimal")),
  /** A column of true and false. */
  boolean: (): Column<"boolean", false, false> => makeColumn(declare("boolean")),
  /** A column of UUIDs. */
  uuid: (): Column<"uuid", false, false> => makeColumn(declare("uuid")),
  /** A column of moments, as ISO 8601 strings; `.default("now")` is the time of the insert. */
  timestamp: (): Column<"timestamp", false, false> => makeColumn(declare("timestamp")),
  /** A column of JSON values. The shape is only for the compiler: nothing checks it at run time. */
  json: <Shape = Json>(): Column<"json", false, false, Shape> => makeColumn(declare("json")),
  /** A column of one of these strings, which sort in this order. */
  enum: <const Value extends string>(
    values: readonly [Value, ...Value[]],
  ): Column<"enum", false, false, Value> => makeColumn(declare("enum", { values })),
  /** A column of ids of rows in another table of this schema, or the same one. */
  ref: <const Table extends string>(
    table: Table,
    options: { readonly onDelete?: "cascade" } = {},
  ): Column<"ref", false, false, Table> => makeColumn(declare("ref", { table, ...options })),
  /** A table with `.index()` and `.unique()` over several columns. */
  model: <C extends Columns>(columns: C): Model<C> => makeModel(columns),
};
Object.freeze(t);

function declare(
  kind: DeclaredColumn["kind"],
  details: Pick<DeclaredColumn, "values" | "table" | "onDelete"> = {},
): DeclaredColumn {
  return { kind, ...OPTIONAL, ...details };
}
