/**
 * Derived names of a table's constraints, indexes and enum types: `<table>__<columns>__<suffix>`, shortened with a hash if
 * it does not fit PostgreSQL's 63 bytes. Tables, types and indexes share one namespace; `__` prevents conflicts with table names.
 *
 * @module
 */
import { hasOwnType, isReference, SQL } from "../../kinds/mod.ts";
import type { Kind, NamedColumn, TableDefinition } from "../../schema/mod.ts";

export const MAX_BYTES = 63;
export const HASH_LENGTH = 10;

/** A recorded table, with the parts that were added while other apps used it. */
export type RecordedDefinition = TableDefinition & { readonly deferred?: DeferredParts };

/** Parts that an owner added while other apps used the table. They must cost other apps almost nothing. */
export type DeferredParts = {
  /** Names of columns that were added, or whose default changed. */
  readonly columns: readonly string[];
  /** The owner when an index was added, by the name of the index. The index contains only that app's rows. */
  readonly indexes: Readonly<Record<string, string>>;
};

export type Constraint = {
  readonly kind: "key" | "idx" | "fkey";
  /** The name in the record. */
  readonly name: string;
  readonly columns: readonly string[];
  /** The kinds of these columns, in the same order. */
  readonly kinds: readonly Kind[];
  /** The name of the index that conditions and orders can search; absent: it is searched only by its values, and has the name in the record. */
  readonly search?: string;
  /** The app whose rows the index contains; absent: all apps. */
  readonly appId?: string;
};

/** The name in the database. */
export function nameOf({ name, search }: Pick<Constraint, "name" | "search">): string {
  return search ?? name;
}

/** The names of an index in the record and in the database. */
export function namesOf({ name, search }: Constraint): readonly string[] {
  return search === undefined ? [name] : [name, search];
}

/** Max columns of an index in PostgreSQL, without the app and the id. */
const MAX_TERMS = 30;

/**
 * Whether conditions and orders can search the index. It has parts of texts instead of their prefix or digest. An index that is not unique ends in
 * the id, and contains the rows without a value in its first column.
 */
function isSearched({ kind, kinds }: Pick<Constraint, "kind" | "kinds">): boolean {
  const terms = kinds.reduce((sum, column) => sum + countTerms(column, kind), 0);
  if (terms > MAX_TERMS) return false;
  return kind === "idx" || kinds.some((column) => SQL[column].parts !== undefined);
}

/** The terms of a column of this kind in such an index. */
function countTerms(column: Kind, kind: Constraint["kind"]): number {
  const { parts } = SQL[column];
  if (parts === undefined) return 1;
  const { start, rest, exact } = parts;
  return [start, rest, kind === "key" ? exact : undefined].filter((part) => part !== undefined)
    .length;
}

function searchName(table: string, index: Pick<Constraint, "kind" | "columns" | "kinds">): string {
  const start = isNewForm(index) ? "sorted" : "search";
  return deriveName(table, index.columns, `${start}_${index.kind === "key" ? "key" : "idx"}`);
}

/** Whether releases before 0.2.0 gave the other name to another index: see {@linkcode formerNames}. */
function isNewForm({ kind, kinds }: Pick<Constraint, "kind" | "kinds">): boolean {
  if (kinds.some((column) => SQL[column].formerKey !== undefined)) return true;
  const isOwn = kinds.map((column) => hasOwnType({ kind: column }));
  const first = isOwn.indexOf(true);
  return first !== -1 && (kind === "idx" || isOwn.slice(first).includes(false));
}

type Suffix =
  | ("key" | "idx" | "fkey" | "enum")
  | ("search_key" | "search_idx" | "sorted_key" | "sorted_idx");

/** The derived name of a table's constraint, index or enum type. */
export function deriveName(table: string, columns: readonly string[], suffix: Suffix): string {
  const name = `${table}__${columns.join("__")}__${suffix}`;
  if (name.length <= MAX_BYTES && !columns.some(isAmbiguous)) return name;
  const text = JSON.stringify([name, columns]);
  return `${name.slice(0, MAX_BYTES - HASH_LENGTH - suffix.length - 4)}__${hashName(text)}__${suffix}`;
}

export function hashName(text: string): string {
  return Bun.CryptoHasher.hash("sha256", text, "hex").slice(0, HASH_LENGTH);
}

/** Whether a column's name is ambiguous, such as `a__b` for `a` and `b`, or looks like the hash of a shortened name. */
function isAmbiguous(column: string): boolean {
  return /^_|__|_$|^[0-9a-f]{10}$/.test(column);
}

export function enumTypeName(table: string, column: string): string {
  return deriveName(table, [column], "enum");
}

/** Requests read the constraints of the same definitions. */
function remember<Constraints>(list: (table: RecordedDefinition) => Constraints) {
  const known = new WeakMap<RecordedDefinition, Constraints>();
  return (table: RecordedDefinition): Constraints => {
    const found = known.get(table) ?? list(table);
    known.set(table, found);
    return found;
  };
}

export const keysOf = remember((table): readonly Constraint[] => {
  const single = toSingles(table, ({ unique }) => unique);
  return toConstraints(table, [...single, ...table.uniques], "key");
});

/** The indexes of a table that are not unique: the declared indexes, and one for each reference. */
export const indexesOf = remember((table): readonly Constraint[] => {
  const single = toSingles(table, (column) => column.index || isReference(column));
  return toConstraints(table, [...single, ...table.indexes], "idx").map((index) => {
    const appId = table.deferred?.indexes[index.name];
    return appId === undefined ? index : { ...index, appId };
  });
});

export function referencesOf(table: TableDefinition): Constraint[] {
  const single = toSingles(table, isReference);
  return toConstraints(table, single, "fkey");
}

function toSingles(
  { columns }: TableDefinition,
  has: (column: NamedColumn) => boolean,
): string[][] {
  return columns.filter(has).map(({ name }) => [name]);
}

function toConstraints(
  table: TableDefinition,
  lists: readonly (readonly string[])[],
  kind: Constraint["kind"],
): Constraint[] {
  const kindOf = new Map<string, Kind>([
    ["id", "uuid"],
    ...table.columns.map(({ name, kind }) => [name, kind] as const),
  ]);
  const byName = new Map<string, Constraint>();
  for (const columns of lists) {
    const name = deriveName(table.name, columns, kind);
    const kinds = columns.flatMap((column) => kindOf.get(column) ?? []);
    const constraint = { kind, name, columns, kinds };
    const hasSearch = kind !== "fkey" && isSearched(constraint);
    byName.set(
      name,
      hasSearch ? { ...constraint, search: searchName(table.name, constraint) } : constraint,
    );
  }
  return [...byName.values()];
}
