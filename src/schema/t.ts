/** The builders of schemas: one per column kind, and `model`. @module */

import { type Json, KINDS, type Kind, type OnDelete, type PlainTypes } from "../kinds/mod.ts";
import { isObject } from "../std/json.ts";
import { addIssues, findExtraArguments, findUnknownOptions, withUnknown } from "./call_issues.ts";
import {
  type Column,
  type Columns,
  type DeclaredColumn,
  makeColumn,
  type OptionalReference,
} from "./column.ts";
import { type Model, makeModel } from "./model.ts";

type Arguments = readonly unknown[];
type RefOptions<Effect> = { readonly onDelete?: Effect };

type PlainBuilders = { [K in keyof PlainTypes]: () => Column<K, false, false> };
type Builders = PlainBuilders & {
  /** A column of JSON values. The shape is only for the compiler and is not checked at run time. */
  json<Shape = Json>(): Column<"json", false, false, Shape>;
  /** A column of one of these strings, which sort in this order. */
  enum<const Value extends string>(
    values: readonly [Value, ...Value[]],
  ): Column<"enum", false, false, Value>;
  /** A column with ids of rows in a table of this schema. */
  ref<const Table extends string>(
    table: Table,
    options?: RefOptions<"cascade">,
  ): Column<"ref", false, false, Table>;
  /** A column with ids of rows in a table of this schema, which becomes null when its row is deleted. It cannot be required. */
  ref<const Table extends string>(
    table: Table,
    options: RefOptions<OnDelete>,
  ): OptionalReference<Table>;
  /** A table with `.index()` and `.unique()` over several columns. */
  model<C extends Columns>(columns: C): Model<C>;
};

const ENUM = 't.enum(["a", "b", …])';
const MODEL = "t.model({ column: t.string(), … })";

/** Named functions, so that `toDefinition` can report a builder that was not called. */
const PLAIN: Pick<Builders, Exclude<Kind, "enum" | "ref">> = Object.assign(
  {},
  ...KINDS.map((kind) => ({ [kind]: (...extra: Arguments) => declarePlain(kind, extra) })),
);

const BUILDERS = {
  ...PLAIN,
  enum: <Value extends string>(values: readonly Value[], ...extra: Arguments) =>
    declare<"enum", Value>("enum", { values }, findExtraArguments("t.enum()", ENUM, extra)),
  ref: <Table extends string>(table: Table, options?: RefOptions<OnDelete>, ...extra: Arguments) =>
    declareReference(table, options, extra),
  model: <C extends Columns>(columns: C, ...extra: Arguments) =>
    makeModel(columns, findExtraArguments("t.model()", MODEL, extra)),
} satisfies Record<Kind | "model", unknown>;

const NAMES = [...KINDS, "model"].map((name) => `t.${name}()`).join(", ");

/**
 * Builders of columns, and `t.model` for a table with indexes and unique constraints over several columns.
 *
 * Each column is frozen; each modifier, such as `.required()` or `.default(value)`, returns a new column.
 *
 * @example
 * ```ts
 * import { t } from "rowhouse/schema";
 *
 * const title = t.string().required();
 * expect(title.column).toEqual({ kind: "string", required: true, unique: false, index: false });
 * expect(t.enum(["open", "done"]).default("open").column.default).toBe("open");
 * expect(t.model({ title, rank: t.number() }).index("title", "rank").model.indexes).toEqual([["title", "rank"]]);
 * ```
 */
export const t: Builders = withUnknown<Builders>(Object.freeze(BUILDERS), (name) =>
  declare(name, {}, [`Cannot use t.${name}(): the builders are ${NAMES}`]),
);

type Details = Pick<DeclaredColumn, "values" | "table" | "onDelete" | "onUpdate">;

/** A column of a known or unknown kind. */
function declare<K extends Kind, Detail = never>(
  kind: string,
  details: Details,
  found: readonly string[],
): Column<K, false, false, Detail> {
  const plain = { kind, required: false, unique: false, index: false, ...details };
  return makeColumn({ ...plain, ...addIssues({}, found) });
}

function declarePlain<K extends Kind, Detail = never>(
  kind: K,
  extra: Arguments,
): Column<K, false, false, Detail> {
  const call = `t.${kind}()`;
  return declare(kind, {}, findExtraArguments(call, call, extra));
}

function declareReference<Table extends string>(
  table: Table,
  options: RefOptions<OnDelete> | undefined,
  extra: Arguments,
): Column<"ref", false, false, Table> {
  const usage = 't.ref("table") or t.ref("table", { onDelete: "cascade" or "set null" })';
  const details = isObject(options) && "onDelete" in options ? { onDelete: options.onDelete } : {};
  return declare("ref", { table, ...details }, [
    ...findUnknownOptions("t.ref()", usage, { value: options, allowed: ["onDelete"] }),
    ...findExtraArguments("t.ref()", usage, extra),
  ]);
}
