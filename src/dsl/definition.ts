/** An app's schema as plain data: the format that is sent, recorded and planned. Contains no functions. @module */
import { MAX_BODY_DEPTH } from "../std/json_depth.ts";

/** All column kinds, in the order of the documentation. */
export const KINDS = [
  "string",
  "number",
  "decimal",
  "boolean",
  "uuid",
  "timestamp",
  "json",
  "enum",
  "ref",
] as const;

/** The kind of a column. */
export type Kind = (typeof KINDS)[number];

/** A JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** A column. Keys without a value are absent, never undefined. */
export type ColumnDefinition = {
  readonly kind: Kind;
  readonly required: boolean;
  readonly unique: boolean;
  readonly index: boolean;
  /** A JSON value of the column's kind; `"now"` on a timestamp is the time of the insert. */
  readonly default?: Json;
  /** The values of an enum, in sort order. */
  readonly values?: readonly string[];
  /** The target table of a ref. */
  readonly table?: string;
  /** The effect on the row when the row it references is deleted. Without it, the delete fails. */
  readonly onDelete?: "cascade";
};

/** A column and its name. */
export type NamedColumn = { readonly name: string } & ColumnDefinition;

/** A table: columns in declared order, and indexes and unique constraints over two or more columns. */
export type TableDefinition = {
  readonly name: string;
  readonly columns: readonly NamedColumn[];
  readonly indexes: readonly (readonly string[])[];
  readonly uniques: readonly (readonly string[])[];
};

/** The schema of one app. Tables are sorted by name. */
export type Definition = {
  readonly version: 1;
  readonly tables: readonly TableDefinition[];
};

/** A validation error of a declaration, and its position. */
export type Issue = {
  readonly table?: string;
  readonly column?: string;
  readonly message: string;
};

/** A definition that passed every check, or all of its validation errors. */
export type Reading = { readonly definition: Definition } | { readonly issues: readonly Issue[] };

/** Limits of one app's schema. */
export const QUOTAS = {
  tables: 500,
  /** A delete from a table searches rows through every reference to it, from any app. */
  referencesPerTarget: 100,
  referencesToForeignTable: 20,
  columnsPerTable: 200,
  indexesPerTable: 16,
  /** An index entry contains decimals of up to 400 digits in full. */
  decimalsPerIndex: 8,
  enumValues: 100,
  enumValueBytes: 63,
  defaultBytes: 1024,
  /** All defaults of a table together: each row that omits the columns contains them. */
  tableDefaultBytes: 8192,
  /** Max stored bytes of defaults of columns added to a table that other apps use: each row of these apps stores them. */
  deferredDefaultBytes: 256,
  /** Six levels of a request surround the default. */
  defaultDepth: (MAX_BODY_DEPTH - 6) as number,
} as const;

/** Bounds of numbers inside JSON: jsonb stores `1e131071` in a few bytes but prints all its digits. */
export const JSON_NUMBERS = { least: 1e-39, below: 1e40 } as const;

/** Returns whether a number inside JSON is 0 or within the bounds. */
export function isJsonNumber(value: number): boolean {
  const size = Math.abs(value);
  return size === 0 || (size >= JSON_NUMBERS.least && size < JSON_NUMBERS.below);
}
