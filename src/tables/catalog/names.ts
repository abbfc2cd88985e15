/**
 * Derived names of a table's constraints, indexes and enum types: `<table>__<columns>__<suffix>`, shortened with a hash if
 * it does not fit PostgreSQL's 63 bytes. Tables, types and indexes share one namespace; `__` prevents conflicts with table names.
 *
 * @module
 */
import { isNamed } from "../../db/mod.ts";
import { SQL } from "../../kinds/mod.ts";
import type { Kind, NamedColumn, TableDefinition } from "../../schema/mod.ts";

const MAX_BYTES = 63;
const HASH_LENGTH = 10;

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
  readonly name: string;
  readonly columns: readonly string[];
  /** The kinds of these columns, in the same order. */
  readonly kinds: readonly Kind[];
  /** The indexes in the form that conditions and orders can search, if it has another form than `name`. */
  readonly search?: readonly BuiltIndex[];
  /** The app whose rows the index contains; absent: all apps. */
  readonly appId?: string;
};

/** An index in PostgreSQL. */
export type BuiltIndex = { readonly name: string };

/** The suffix of an index in the form for searches. */
function searchSuffix(kind: Constraint["kind"]): "search_key" | "search_idx" {
  return kind === "key" ? "search_key" : "search_idx";
}

/** The forms of an index: `plain`, or `search`, which conditions and orders of lists use if the database has the preview `filters`. */
export type IndexForm = "plain" | "search";

/** Max columns of an index in PostgreSQL, without the app and the id. */
const MAX_TERMS = 30;

/**
 * Whether the index has a form for searches. It has parts of texts instead of their prefix or digest. A plain index ends in the
 * id, and contains the rows without a value in its first column. An index whose first column cannot be searched remains as it
 * is.
 */
function hasSearchForm({ kind, kinds }: Pick<Constraint, "kind" | "kinds">): boolean {
  const end = kinds.findIndex((column) => SQL[column].ends === undefined);
  const searched = kinds.slice(0, end === -1 ? undefined : end);
  const terms = kinds.reduce((sum, column) => sum + countTerms(column, kind), 0);
  if (terms > MAX_TERMS) return false;
  if (searched.some((column) => SQL[column].parts !== undefined)) return true;
  return kind === "idx" && searched.length > 0;
}

/** The terms of a column of this kind in an index for searches. */
function countTerms(column: Kind, kind: Constraint["kind"]): number {
  const { parts } = SQL[column];
  if (parts === undefined) return 1;
  const { start, rest, exact } = parts;
  return [start, rest, kind === "key" ? exact : undefined].filter((part) => part !== undefined)
    .length;
}

/** The indexes of a constraint in a form. */
export function builtIn({ name, search }: Constraint, form: IndexForm): readonly BuiltIndex[] {
  return (form === "search" ? search : undefined) ?? [{ name }];
}

/** The indexes of a constraint in all its forms. */
export function builtInAny(constraint: Constraint): readonly BuiltIndex[] {
  const { name, search = [] } = constraint;
  return [...builtIn(constraint, "plain"), ...search.filter((built) => built.name !== name)];
}

/** The form of an index with this name. */
export function formOf({ search }: Constraint, name: string): IndexForm {
  return search?.some((built) => built.name === name) === true ? "search" : "plain";
}

/** The derived name of a table's constraint, index or enum type. */
export function deriveName(
  table: string,
  columns: readonly string[],
  suffix: "key" | "idx" | "fkey" | "enum" | "search_key" | "search_idx",
): string {
  const name = `${table}__${columns.join("__")}__${suffix}`;
  if (name.length <= MAX_BYTES && !columns.some(isAmbiguous)) return name;
  const text = JSON.stringify([name, columns]);
  const hash = Bun.CryptoHasher.hash("sha256", text, "hex").slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_BYTES - HASH_LENGTH - suffix.length - 4)}__${hash}__${suffix}`;
}

/** Whether a column's name is ambiguous, such as `a__b` for `a` and `b`, or looks like the hash of a shortened name. */
function isAmbiguous(column: string): boolean {
  return /^_|__|_$|^[0-9a-f]{10}$/.test(column);
}

export function enumTypeName(table: string, column: string): string {
  return deriveName(table, [column], "enum");
}

/** The unique constraints of a table. */
export function keysOf(table: TableDefinition): Constraint[] {
  const single = toSingles(table, ({ unique }) => unique);
  return toConstraints(table, [...single, ...table.uniques], "key");
}

/** The plain indexes of a table: the declared indexes, and one for each reference. */
export function indexesOf(table: RecordedDefinition): Constraint[] {
  const single = toSingles(table, ({ index, kind }) => index || kind === "ref");
  return toConstraints(table, [...single, ...table.indexes], "idx").map((index) => {
    const appId = table.deferred?.indexes[index.name];
    return appId === undefined ? index : { ...index, appId };
  });
}

export function referencesOf(table: TableDefinition): Constraint[] {
  const single = toSingles(table, ({ kind }) => kind === "ref");
  return toConstraints(table, single, "fkey");
}

function toSingles(
  { columns }: TableDefinition,
  has: (column: NamedColumn) => boolean,
): string[][] {
  return columns.filter(has).map(({ name }) => [name]);
}

/** The constraint or index of this table with this name. A shard can have shortened the name. */
export function findConstraint(table: RecordedDefinition, name: string): Constraint | undefined {
  const all = [...keysOf(table), ...indexesOf(table), ...referencesOf(table)];
  const exact = all.find((named) => builtInAny(named).some((built) => built.name === name));
  if (exact !== undefined) return exact;
  const [shortened, other] = all.filter((named) => isNamed(named.name, name));
  return other === undefined ? shortened : undefined;
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
    byName.set(
      name,
      hasSearchForm(constraint)
        ? { ...constraint, search: [{ name: deriveName(table.name, columns, searchSuffix(kind)) }] }
        : constraint,
    );
  }
  return [...byName.values()];
}
