/**
 * Derived names of a table's constraints, indexes and enum types: `<table>__<columns>__<suffix>`, shortened with a hash if
 * it does not fit PostgreSQL's 63 bytes. Tables, types and indexes share one namespace; `__` prevents conflicts with table names.
 *
 * @module
 */
import { isNamed } from "../../db/mod.ts";
import { MAX_SPLIT_VALUES, SQL } from "../../kinds/mod.ts";
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
export type BuiltIndex = {
  readonly name: string;
  /** The value that all its rows have in an enum column; null: none. The index lacks that column. */
  readonly only?: EnumValue;
};

/** A value of an enum column; `type`: the name of its type. */
export type EnumValue = {
  readonly column: string;
  readonly value: string | null;
  readonly type: string;
};

function searchSuffix(kind: Constraint["kind"]): "search_key" | "search_idx" {
  return kind === "key" ? "search_key" : "search_idx";
}

/** The forms of an index: `plain`, or `search`, which conditions and orders of lists use if the database has the preview `filters`. */
export type IndexForm = "plain" | "search";

/** Max columns of an index in PostgreSQL, without the app and the id. */
const MAX_TERMS = 30;
const VALUE_HASH_LENGTH = 6;

/**
 * The columns of an index in the form for searches. A unique index ends in its enums, which PostgreSQL cannot search under row
 * security: few rows have the same values in the other columns.
 */
export function searchColumns(
  { kind, columns, kinds }: Pick<Constraint, "kind" | "columns" | "kinds">,
  { only }: Pick<BuiltIndex, "only">,
): { name: string; kind: Kind }[] {
  const all = columns.flatMap((name, position) => {
    const of = kinds[position];
    return of === undefined || name === only?.column ? [] : [{ name, kind: of }];
  });
  if (kind !== "key") return all;
  const isSplit = (column: { kind: Kind }) => SQL[column.kind].isSplit === true;
  return [...all.filter((column) => !isSplit(column)), ...all.filter(isSplit)];
}

/**
 * The indexes of the form for searches, if it differs. An index with one enum of few values is split by them: a condition with
 * the value as a literal proves which index has its rows, without a search by the enum.
 */
function toSearchForm(table: TableDefinition, constraint: Constraint): readonly BuiltIndex[] {
  const { kind, columns } = constraint;
  const name = searchName(table.name, constraint);
  const whole = hasSearchForm(constraint) ? [{ name }] : [];
  const enums = table.columns.filter(
    (column) => columns.includes(column.name) && SQL[column.kind].isSplit,
  );
  const [column] = enums;
  if (kind !== "idx" || column === undefined || enums.length > 1) return whole;
  const { values = [] } = column;
  const type = enumTypeName(table.name, column.name);
  const split = [...values, ...(column.required ? [] : [null])].map((value) => ({
    name: splitName(name, value),
    only: { column: column.name, value, type },
  }));
  const isDistinct = new Set(split.map((built) => built.name)).size === split.length;
  const kinds = split.slice(0, 1).flatMap((built) => searchColumns(constraint, built));
  const fits = sumTerms({ kind, kinds: kinds.map((left) => left.kind) }) <= MAX_TERMS;
  return isDistinct && fits && values.length <= MAX_SPLIT_VALUES ? split : whole;
}

/** The name of the index of a value, or of the rows without a value. */
function splitName(search: string, value: string | null): string {
  const hash =
    value === null
      ? "null"
      : Bun.CryptoHasher.hash("sha256", value, "hex").slice(0, VALUE_HASH_LENGTH);
  return search.replace(/search_idx$/, `${hash}_idx`);
}

function searchName(table: string, { kind, columns }: Pick<Constraint, "kind" | "columns">) {
  return deriveName(table, columns, searchSuffix(kind));
}

/** Whether an index has this name in one of its forms, now or before its enums got other values. */
export function isNameOf(table: string, constraint: Constraint, name: string): boolean {
  const search = searchName(table, constraint);
  if (name === constraint.name || name === search) return true;
  const start = search.replace(/search_idx$/, "");
  const end = new RegExp(`^(?:[0-9a-f]{${VALUE_HASH_LENGTH}}|null)_idx$`);
  return constraint.kind === "idx" && name.startsWith(start) && end.test(name.slice(start.length));
}

function sumTerms({ kind, kinds }: Pick<Constraint, "kind" | "kinds">): number {
  return kinds.reduce((sum, column) => sum + countTerms(column, kind), 0);
}

/**
 * Whether the index has a form for searches. It has parts of texts instead of their prefix or digest. A plain index ends in the
 * id, and contains the rows without a value in its first column. An index whose first column cannot be searched remains as it
 * is.
 */
function hasSearchForm(constraint: Constraint): boolean {
  const { kind, columns } = constraint;
  const ordered = searchColumns(constraint, {});
  const end = ordered.findIndex((column) => SQL[column.kind].ends === undefined);
  const searched = ordered.slice(0, end === -1 ? undefined : end);
  if (sumTerms(constraint) > MAX_TERMS || searched.length === 0) return false;
  if (searched.some((column) => SQL[column.kind].parts !== undefined)) return true;
  if (kind === "key") return ordered.some(({ name }, position) => name !== columns[position]);
  return true;
}

/** The terms of a column of this kind in an index for searches. */
function countTerms(column: Kind, kind: Constraint["kind"]): number {
  const { parts } = SQL[column];
  if (parts === undefined) return 1;
  const { start, rest, exact } = parts;
  return [start, rest, kind === "key" ? exact : undefined].filter((part) => part !== undefined)
    .length;
}

/** The hidden columns of keys begin with it, and no column of an app does. */
export const KEY_PREFIX = "#";

/** The name of the key of a column. A hash after another prefix makes the names of long columns different. */
export function keyName(column: string): string {
  const name = `${KEY_PREFIX}${column}`;
  if (name.length <= MAX_BYTES) return name;
  const hash = hashName(column);
  return `${name.slice(0, MAX_BYTES - HASH_LENGTH - 1)}${KEY_PREFIX}${hash}`;
}

/** The columns of an index whose keys its form for searches contains. */
export function keyedColumns({
  columns,
  kinds,
  search,
}: Constraint): { name: string; kind: Kind }[] {
  if (search === undefined) return [];
  return columns.flatMap((name, position) => {
    const kind = kinds[position];
    return kind === undefined || SQL[kind].parts?.key === undefined ? [] : [{ name, kind }];
  });
}

/** An index without the form for searches, if that form needs keys. A push adds no keys to a large or shared table. */
export function withoutKeys(constraint: Constraint): Constraint {
  if (keyedColumns(constraint).length === 0) return constraint;
  const { search: _, ...plain } = constraint;
  return plain;
}

/** An index in the form that a table with these keys can have. */
export function fitKeys(constraint: Constraint, keys: readonly string[]): Constraint {
  const hasKeys = keyedColumns(constraint).every(({ name }) => keys.includes(keyName(name)));
  return hasKeys ? constraint : withoutKeys(constraint);
}

export function builtIn({ name, search }: Constraint, form: IndexForm): readonly BuiltIndex[] {
  return (form === "search" ? search : undefined) ?? [{ name }];
}

export function builtInAny(constraint: Constraint): readonly BuiltIndex[] {
  const { name, search = [] } = constraint;
  return [...builtIn(constraint, "plain"), ...search.filter((built) => built.name !== name)];
}

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
  return `${name.slice(0, MAX_BYTES - HASH_LENGTH - suffix.length - 4)}__${hashName(text)}__${suffix}`;
}

function hashName(text: string): string {
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

/** The plain indexes of a table: the declared indexes, and one for each reference. */
export const indexesOf = remember((table): readonly Constraint[] => {
  const single = toSingles(table, ({ index, kind }) => index || kind === "ref");
  return toConstraints(table, [...single, ...table.indexes], "idx").map((index) => {
    const appId = table.deferred?.indexes[index.name];
    return appId === undefined ? index : { ...index, appId };
  });
});

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
    const search = kind === "fkey" ? [] : toSearchForm(table, constraint);
    byName.set(name, search.length === 0 ? constraint : { ...constraint, search });
  }
  return [...byName.values()];
}
