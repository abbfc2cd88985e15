/** A schema: an app's tables by name. The compiler rejects some errors; `toDefinition` reports the rest. Never throws. @module */
import type { Kind, KindTypes } from "../kinds/mod.ts";
import { addIssues, findExtraArguments, type Issued } from "./call_issues.ts";
import type { Columns, KnownOf } from "./column.ts";
import type { AnyModel } from "./model.ts";
import type { AUTOMATIC_COLUMNS, RESERVED_TABLES, SYSTEM_COLUMNS, TRAP_COLUMNS } from "./names.ts";

/** Tables by name: columns or a model. */
export type TableSources = { readonly [name: string]: Columns | AnyModel };

/** An app's tables. The key `tables` identifies a schema: identity differs between copies of this package. */
export type Schema<T extends TableSources = TableSources> = { readonly tables: T } & Issued;

/** The columns of a table in either notation. */
export type ColumnsOf<Source> = Source extends { readonly model: { readonly columns: infer C } }
  ? C
  : Source;

/**
 * A schema of these tables, for the default export of `schema/mod.ts`.
 *
 * `toDefinition` reports all errors that the compiler does not detect.
 *
 * @example
 * ```ts
 * import { defineSchema, t, toDefinition } from "rowhouse/schema";
 *
 * const schema = defineSchema({
 *   projects: { name: t.string().required().unique() },
 *   todos: { title: t.string().required(), project: t.ref("projects", { onDelete: "cascade" }) },
 * });
 * expect(toDefinition(schema)).toHaveProperty("definition.tables.1.name", "todos");
 * ```
 */
export const defineSchema: <T extends TableSources>(tables: T & CheckTables<T>) => Schema<T> = (
  tables,
  ...extra: readonly unknown[]
) => {
  const found = findExtraArguments("defineSchema()", "defineSchema({ table: { … }, … })", extra);
  return Object.freeze({ tables, ...addIssues({}, found) });
};

/** A type without values. The reason is its only key, so the compiler prints the reason. */
type CompilerMessage<Message extends string> = { readonly [key in `Rowhouse: ${Message}`]: never };

type CheckTables<T> = {
  readonly [Name in keyof T]: Name extends (typeof RESERVED_TABLES)[number]
    ? CompilerMessage<`table \`${Name}\` is reserved organization-wide`>
    : CheckTable<T[Name], keyof T>;
};

type CheckTable<Source, Names> = Source extends { readonly model: { readonly columns: infer C } }
  ? { readonly model: { readonly columns: CheckColumns<C, Names> } }
  : CheckColumns<Source, Names>;

type CheckColumns<C, Names> = {
  readonly [Name in keyof C]: Name extends (typeof AUTOMATIC_COLUMNS)[number]
    ? CompilerMessage<`every table already has a column \`${Name}\``>
    : Name extends (typeof SYSTEM_COLUMNS)[number]
      ? CompilerMessage<`the column name \`${Name}\` is reserved by PostgreSQL`>
      : Name extends (typeof TRAP_COLUMNS)[number]
        ? CompilerMessage<`the column name \`${Name}\` has a special meaning in JavaScript`>
        : CheckRef<KnownOf<C[Name]>, Names>;
};

type CheckRef<Known, Names> = Known extends { kind: infer K extends Kind; detail: infer Table }
  ? KindTypes<never>[K] extends { readonly isReference: true }
    ? Table extends Names
      ? unknown
      : CompilerMessage<`table \`${Table & string}\` is not declared in this schema`>
    : unknown
  : unknown;
