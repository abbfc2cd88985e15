/** What the compiler knows about a column, however it was made. Nothing here exists at run time. @module */
import type { ColumnDefinition, Kind } from "./definition.ts";
import type { Issues } from "./unexpected.ts";

/** What a column says about itself before anything is checked: its default may be anything. */
export type DeclaredColumn = Omit<ColumnDefinition, "kind" | "default"> & {
  readonly kind: string;
  readonly default?: unknown;
} & Issues;

/** What the compiler knows about a column; `Detail` is the values of an enum, the shape of a json, the table of a ref. */
export type Known = {
  readonly kind: Kind;
  readonly required: boolean;
  readonly hasDefault: boolean;
  readonly detail: unknown;
  readonly unique: boolean;
};

/** Any column: what two copies of this package have in common. */
export type AnyColumn = {
  readonly column: DeclaredColumn;
  /** Only for the compiler: no value has it. */
  readonly "~known"?: Known;
};

/** Columns by name. */
export type Columns = { readonly [name: string]: AnyColumn };

/** What the compiler knows about a column of this type. */
export type KnownOf<C> = C extends { readonly "~known"?: infer K }
  ? Extract<NonNullable<K>, Known>
  : never;
