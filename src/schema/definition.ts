/** An app's schema as plain data: the format that is sent, recorded and planned. Contains no functions. @module */
import {
  type ColumnParts,
  DECIMAL_LIMITS,
  DEFAULT_LIMITS,
  ENUM_LIMITS,
  type Kind,
} from "../kinds/mod.ts";
import type { TableRules } from "./rules.ts";

/** A column. Keys without a value are absent, never undefined. */
export type ColumnDefinition = { readonly kind: Kind } & ColumnParts;

export type NamedColumn = { readonly name: string } & ColumnDefinition;

/** A table: columns in declared order, indexes and unique constraints over two or more columns, and the app's rules. */
export type TableDefinition = {
  readonly name: string;
  readonly columns: readonly NamedColumn[];
  readonly indexes: readonly (readonly string[])[];
  readonly uniques: readonly (readonly string[])[];
  /** The rules of the app that declares the table; absent without rules, and in the record of the table itself. */
  readonly rules?: TableRules;
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

/** The kinds declare the others. */
const OWN_QUOTAS = {
  tables: 500,
  /** A delete from a table searches rows through every reference to it, from any app. */
  referencesPerTarget: 100,
  referencesToForeignTable: 20,
  columnsPerTable: 200,
  onUpdatePerTable: 4,
  indexesPerTable: 16,
  /** All defaults of a table together: each row that omits the columns contains them. */
  tableDefaultBytes: 8192,
  /** Max stored bytes of defaults of columns added to a table that other apps use: each row of these apps stores them. */
  deferredDefaultBytes: 256,
  rolesPerTable: 32,
  /** Each alternative reads along its own index. */
  alternativesPerRule: 10,
  conditionsPerAlternative: 10,
  valuesPerCondition: 50,
  rulesBytes: 16_384,
  /** A rule that follows references contains the rules of other tables, and doubles with each that it follows twice. */
  conditionsPerRule: 200,
  /** Every process that runs a function holds it in memory, for each of its connections. */
  functionSets: 1000,
  functions: 10_000,
  functionBytes: 134_217_728,
} as const;

/** Limits of one app's schema. */
export const QUOTAS: typeof OWN_QUOTAS &
  typeof ENUM_LIMITS &
  typeof DEFAULT_LIMITS &
  typeof DECIMAL_LIMITS = {
  ...OWN_QUOTAS,
  ...ENUM_LIMITS,
  ...DEFAULT_LIMITS,
  ...DECIMAL_LIMITS,
};
