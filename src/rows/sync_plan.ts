/** What an import changes that updates rows: compares the rows of the file with those of the table. Pure. @module */

import { VALUES } from "../kinds/mod.ts";
import type { Json, NamedColumn, TableDefinition } from "../schema/mod.ts";
import { canonicalJson } from "../std/json.ts";
import { describeDuplicate, describeTaken, listUniques, toUniqueKey } from "./duplicates.ts";
import { isNeeded } from "./mapping.ts";
import type { FileRow, LineIssue } from "./read_file.ts";

type Values = Readonly<Record<string, Json>>;

/** A row of the table, as it was listed before the first write. */
export type ListedRow = { readonly id: string; readonly values: Values };

/** A row of the file, and the row of the table that it changes. */
export type ChangedRow = FileRow & { readonly id: string };

/** How the rows are written: a create must have the required columns, also if the row exists, so a row without them is changed by its id. */
type SyncWrites = {
  /** Rows to create, or to change by the columns of the unique constraint. */
  readonly upserts: readonly FileRow[];
  /** Rows to change by the `id` in their values. */
  readonly patches: readonly FileRow[];
};

export type SyncPlan = {
  readonly created: readonly FileRow[];
  readonly changed: readonly ChangedRow[];
  readonly unchanged: number;
  /** The rows of the table that the file does not have. */
  readonly missing: readonly ListedRow[];
  readonly excess: Excess | undefined;
};

/** Why deleting the missing rows may be a mistake, for example because the file was cut off. */
type Excess = "file is empty" | "more than a fifth";

const DELETED_PART = 5;

/** The columns of a unique constraint by their names, in any order. */
export function findUnique(
  table: TableDefinition,
  names: readonly string[],
): readonly NamedColumn[] | undefined {
  const wanted = names.toSorted().join(",");
  return listUniques(table).find((columns) => toNames(columns).sort().join(",") === wanted);
}

export function listUniqueNames(table: TableDefinition): string[] {
  return listUniques(table).map((columns) => toNames(columns).join(","));
}

function toNames(columns: readonly NamedColumn[]): string[] {
  return columns.map(({ name }) => name);
}

export type Comparison = {
  /** Adds a row of the file; returns an error if no row of the table can be found by it. */
  readonly add: (row: FileRow) => LineIssue | undefined;
  /** Rows whose values in another unique constraint a row of the table keeps. */
  readonly findTaken: () => LineIssue[];
  readonly end: () => SyncPlan;
};

/** Compares rows of a file, one by one, with the rows of the table. */
export function makeComparison(
  table: TableDefinition,
  unique: readonly NamedColumn[],
  listed: readonly ListedRow[],
): Comparison {
  const byName = new Map(table.columns.map((column) => [column.name, column]));
  const byKey = new Map<string, ListedRow>();
  for (const row of listed) {
    const key = toUniqueKey(unique, row.values);
    if (key !== undefined) byKey.set(key, row);
  }
  const found = new Set<string>();
  const lines = new Map<string, number>();
  const created: FileRow[] = [];
  const changed = new Map<string, ChangedRow>();
  let [rows, unchanged] = [0, 0];
  return {
    add: (row) => {
      rows++;
      const keys = Object.fromEntries(unique.map((column) => [column.name, toNext(column, row)]));
      const key = toUniqueKey(unique, keys);
      if (key === undefined) {
        const empty = unique.find(({ name }) => keys[name] === null);
        return { line: row.line, ...(empty && { column: empty.name }), message: REQUIRED_KEY };
      }
      const first = lines.get(key);
      if (first !== undefined) return describeDuplicate(unique, { line: row.line, first });
      lines.set(key, row.line);
      const stored = byKey.get(key);
      const lacking = stored === undefined ? findLacking(table, row) : undefined;
      if (lacking !== undefined)
        return { line: row.line, column: lacking, message: REQUIRED_IN_NEW };
      if (stored === undefined) created.push(row);
      else if (isSame(byName, row.values, stored.values)) unchanged++;
      else changed.set(stored.id, { ...row, id: stored.id });
      if (stored !== undefined) found.add(stored.id);
      return undefined;
    },
    findTaken: () =>
      listUniques(table)
        .filter((columns) => toNames(columns).join() !== toNames(unique).join())
        .flatMap((columns) => findTaken(columns, { listed, created, changed }))
        .sort((one, other) => one.line - other.line),
    end: () => {
      const missing = listed.filter(({ id }) => !found.has(id));
      const isMany = missing.length * DELETED_PART > listed.length;
      const excess = rows === 0 ? "file is empty" : isMany ? "more than a fifth" : undefined;
      return {
        ...{ created, changed: [...changed.values()], unchanged, missing },
        excess: missing.length === 0 ? undefined : excess,
      };
    },
  };
}

type Written = {
  readonly listed: readonly ListedRow[];
  readonly created: readonly FileRow[];
  /** By the ids of the rows of the table. */
  readonly changed: ReadonlyMap<string, FileRow>;
};

function findTaken(
  columns: readonly NamedColumn[],
  { listed, created, changed }: Written,
): LineIssue[] {
  const kept = listed.map(({ id, values }) => {
    const key = toUniqueKey(columns, { ...values, ...changed.get(id)?.values });
    return { id, key, line: changed.get(id)?.line };
  });
  const holders = new Map(kept.map(({ key, id }) => [key, id]));
  const added = created.map((row) => {
    const values = Object.fromEntries(columns.map((column) => [column.name, toNext(column, row)]));
    return { id: "", key: toUniqueKey(columns, values), line: row.line };
  });
  return [...kept, ...added].flatMap(({ id, key, line }) => {
    const isTaken = key !== undefined && (holders.get(key) ?? id) !== id;
    return isTaken && line !== undefined ? [{ line, ...describeTaken(columns) }] : [];
  });
}

/** A column that only a new row needs and that the row omits: the row can be changed by its id, but not be created. */
function findLacking({ columns }: TableDefinition, { values }: FileRow): string | undefined {
  return columns.find((column) => isNeeded(column) && !Object.hasOwn(values, column.name))?.name;
}

export function toWrites(
  table: TableDefinition,
  { created, changed }: Pick<SyncPlan, "created" | "changed">,
): SyncWrites {
  const isWhole = (row: FileRow) => findLacking(table, row) === undefined;
  const patched = changed.filter((row) => !isWhole(row));
  return {
    upserts: [...created, ...changed.filter(isWhole)],
    patches: patched.map(({ id, line, values }) => ({ line, values: { id, ...values } })),
  };
}

const REQUIRED_IN_NEW = "Is required and has no default, and no stored row has these values";
const REQUIRED_KEY = "Must have a value: a row is updated by this column";

/** The value of a row's column in a create; null if only the service can know it. */
function toNext({ name, kind, default: initial }: NamedColumn, { values }: FileRow): Json {
  if (Object.hasOwn(values, name)) return values[name] ?? null;
  const isComputed = Object.hasOwn(VALUES[kind].default.computed ?? {}, String(initial));
  return isComputed ? null : (initial ?? null);
}

/** Whether the columns of the first row have the same values in the second. */
function isSame(byName: ReadonlyMap<string, NamedColumn>, sent: Values, stored: Values): boolean {
  return Object.entries(sent).every(([name, value]) => {
    const kind = byName.get(name)?.kind;
    const key = (value: Json) =>
      canonicalJson(
        kind === undefined || value === null ? value : (VALUES[kind].toKey?.(value) ?? value),
      );
    return key(value) === key(stored[name] ?? null);
  });
}

/** Whether a row of the table is as a create of these values left it; of values that only the service knows, any. */
export function isAsCreated({ columns }: TableDefinition, sent: Values, stored: Values): boolean {
  const byName = new Map(columns.map((column) => [column.name, column]));
  const known = columns.flatMap((column) => {
    const next = toNext(column, { line: 0, values: sent });
    const isKnown =
      next !== null || (column.default ?? null) === null || Object.hasOwn(sent, column.name);
    return isKnown ? [[column.name, next] as const] : [];
  });
  return isSame(byName, Object.fromEntries(known), stored);
}

/** The unique values of a row, such as `iata=MUC`. */
export function nameByUnique(unique: readonly NamedColumn[], values: Values): string {
  return unique.map(({ name }) => `${name}=${String(values[name] ?? null)}`).join(" ");
}

/** Whether a row is still as it was listed. */
export function isUnchanged(listed: Values, current: Values): boolean {
  return canonicalJson(listed) === canonicalJson(current);
}

/**
 * The rows to delete in groups, one after the other: a row of the table that refers to another comes before it. Rows that refer to
 * each other in a circle are the last group.
 */
export function* toDeletions<Row extends ListedRow>(
  { name: table, columns }: TableDefinition,
  rows: readonly Row[],
): Generator<readonly Row[], void> {
  const own = columns.filter((column) => column.table === table);
  const left = new Map(rows.map((row) => [row.id, row]));
  const listReferenced = ({ id, values }: Row) =>
    own.map(({ name }) => String(values[name])).filter((other) => other !== id && left.has(other));
  const referring = new Map(rows.map(({ id }) => [id, 0]));
  const change = (row: Row, by: 1 | -1) =>
    listReferenced(row).map((id) => {
      const count = (referring.get(id) ?? 0) + by;
      referring.set(id, count);
      return { id, count };
    });
  for (const row of rows) change(row, 1);
  let group = rows.filter(({ id }) => referring.get(id) === 0);
  while (group.length > 0) {
    yield group;
    const free = group.flatMap((row) => change(row, -1)).filter(({ count }) => count === 0);
    for (const { id } of group) left.delete(id);
    group = free.flatMap(({ id }) => left.get(id) ?? []);
  }
  yield [...left.values()];
}
