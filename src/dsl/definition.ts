/** What an app declares, as plain data: the form that is sent, recorded and planned from. Contains no functions. @module */

/** Every kind of column, in the order of the documentation. */
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

/** What a column holds. */
export type Kind = (typeof KINDS)[number];

/** A JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** A column. A key without a value is absent, never undefined. */
export type ColumnDefinition = {
  readonly kind: Kind;
  readonly required: boolean;
  readonly unique: boolean;
  readonly index: boolean;
  /** A JSON value of the column's kind; `"now"` on a timestamp is the time of the insert. */
  readonly default?: Json;
  /** The values of an enum, in sort order. */
  readonly values?: readonly string[];
  /** The table that a ref points to. */
  readonly table?: string;
  /** What happens to the row when the row that it refers to is deleted; without it, the delete is refused. */
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

/** Everything that one app declares; tables are sorted by name. */
export type Definition = {
  readonly version: 1;
  readonly tables: readonly TableDefinition[];
};

/** One thing wrong with a declaration, and where. */
export type Fault = {
  readonly table?: string;
  readonly column?: string;
  readonly message: string;
};

/** A definition that passed every check, or everything that is wrong with it. */
export type Reading = { readonly definition: Definition } | { readonly faults: readonly Fault[] };

/** How much one app may declare. */
export const QUOTAS = {
  tables: 500,
  /** Each delete from a table looks for rows through every reference to it, whichever app declared the reference. */
  referencesPerTarget: 100,
  referencesToForeignTable: 20,
  columnsPerTable: 200,
  indexesPerTable: 16,
  /** An index entry contains decimals of up to 400 digits in full. */
  decimalsPerIndex: 8,
  enumValues: 100,
  enumValueBytes: 63,
  defaultBytes: 1024,
  /** All defaults of a table together: each row that leaves the columns out contains them. */
  tableDefaultBytes: 8192,
  /** Those of columns that an owner adds while other apps use the table, as stored: every row of these apps contains them. */
  lateDefaultBytes: 256,
  defaultDepth: 64,
} as const;
