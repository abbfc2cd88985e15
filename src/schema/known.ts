/** Compile-time facts about a column, from any copy of this package. Nothing here exists at run time. @module */
import type { Kind } from "../kinds/mod.ts";
import type { ColumnDefinition } from "./definition.ts";
import type { Issued } from "./unexpected.ts";

/** The unchecked declaration of a column: its default can be any value. */
export type DeclaredColumn = Omit<ColumnDefinition, "kind" | "default"> & {
  readonly kind: string;
  readonly default?: unknown;
} & Issued;

/** Compile-time facts about a column; `Detail` is the values of an enum, the shape of a json, the table of a ref. */
export type Known = {
  readonly kind: Kind;
  readonly required: boolean;
  readonly hasDefault: boolean;
  readonly detail: unknown;
  readonly unique: boolean;
};

/** Any column, from any copy of this package. */
export type AnyColumn = {
  readonly column: DeclaredColumn;
  /** Only for the compiler: never set at run time. */
  readonly "~known"?: Known;
};

/** Columns by name. */
export type Columns = { readonly [name: string]: AnyColumn };

/** The compile-time facts of this column type. */
export type KnownOf<C> = C extends { readonly "~known"?: infer K }
  ? Extract<NonNullable<K>, Known>
  : never;
