/**
 * Chooses the index along which a query visits rows, and the range of values.
 *
 * Row security lets PostgreSQL search an index for a condition only if its operator is leakproof: those of ids, references,
 * timestamps and booleans are. Every other condition is a filter over visited rows. Pure.
 *
 * @module
 */

import { SQL } from "../../kinds/mod.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import {
  type Constraint,
  indexesOf,
  keysOf,
  type RecordedTable,
} from "../../tables/catalog/mod.ts";
import type { Comparison, Condition, QueryColumn } from "./filter.ts";
import { ID, type ListQuery } from "./list_query.ts";

export type QueryPath = {
  /** `undefined`: the primary key. */
  readonly index: string | undefined;
  /** The leading columns of the index that the walk uses. */
  readonly columns: readonly QueryColumn[];
  /** The values of the leading columns that have one value each. */
  readonly fixed: readonly string[];
  /** Whether rows are visited in the order of the query. Otherwise the query visits and sorts every row of the walk. */
  readonly isOrdered: boolean;
  readonly isDescending: boolean;
  /** The conditions that are true for every visited row. */
  readonly fulfilled: readonly Condition[];
} & ({ readonly ids: Comparison } | Range);

/** The start and the end of a walk: values of its leading columns, compared in order. */
type Range = { readonly start: Bound | undefined; readonly stop: Bound | undefined };
export type Bound = { readonly op: Comparison["op"]; readonly values: readonly string[] };

/** The app, and the indexes that are not built yet. */
export type PathOptions = { readonly appId: string; readonly missing: ReadonlySet<string> };

const PRIMARY_KEY: Index = { name: undefined, columns: [ID], isUnique: true };

type Index = {
  readonly name: string | undefined;
  /** The leading columns that can be searched. */
  readonly columns: readonly QueryColumn[];
  /** Whether no two rows have the same values in these columns. */
  readonly isUnique: boolean;
};
/** An index, and the conditions that give its first columns one value each. */
type Candidate = { readonly index: Index; readonly fixed: readonly Comparison[] };

/** The columns by which an index sorts a list without conditions. */
export function listSortedColumns(definition: TableDefinition): string[] {
  const table = { name: definition.name, definition, whole: definition };
  const sorted = [ID, ...definition.columns].filter((column) => {
    const order = [column, ID].map((key) => ({ column: key, isDescending: false }));
    const query = { where: [], order, select: [], after: undefined, limit: 0, offset: 0 };
    const path = choosePath({ ...query, isPlain: false }, table, { appId: "", missing: new Set() });
    return column.name === ID.name || path.isOrdered;
  });
  return sorted.map(({ name }) => name);
}

/** Whether the conditions have a value for each column of a unique constraint. */
export function isLookup(
  { where }: ListQuery,
  { whole }: RecordedTable,
  { appId }: Pick<PathOptions, "appId">,
): boolean {
  return keysOf(whole).some(
    (key) =>
      (key.appId ?? appId) === appId &&
      key.columns.every((name) => findComparison(where, { name }, ["eq"]) !== undefined),
  );
}

/** Whether PostgreSQL can search an index by this column. */
export function isSearchable({ kind }: QueryColumn): boolean {
  return SQL[kind].ends !== undefined;
}

export function choosePath(
  query: ListQuery,
  table: RecordedTable,
  options: PathOptions,
): QueryPath {
  const ids = findComparison(query.where, ID, ["in"]);
  if (ids !== undefined)
    return {
      index: undefined,
      columns: [ID],
      fixed: [],
      isOrdered: false,
      isDescending: false,
      fulfilled: [ids],
      ids,
    };
  const candidates = listIndexes(table, options)
    .map((index): Candidate => ({ index, fixed: findFixed(query, index) }))
    .sort((a, b) => b.fixed.length - a.fixed.length);
  const fixed = candidates.filter((candidate) => candidate.fixed.length > 0);
  const single = fixed.find(
    ({ index, fixed: { length } }) => index.isUnique && length === index.columns.length,
  );
  if (single !== undefined) return toPath(query, single, { isOrdered: false });
  const ordered = candidates.find((candidate) => isInOrder(query, candidate));
  const selective = fixed.find((candidate) =>
    candidate.fixed.some(({ column }) => SQL[column.kind].isSelective === true),
  );
  // An index in the query's order visits only the rows of the page. Otherwise prefer the path with fewer rows.
  if (ordered !== undefined && (ordered.fixed.length > 0 || selective === undefined))
    return toPath(query, ordered, { isOrdered: true });
  const ranged = candidates.find(({ index }) => hasRange(query, index.columns[0]));
  const best = selective ?? fixed[0] ?? ranged ?? { index: PRIMARY_KEY, fixed: [] };
  return toPath(query, best, { isOrdered: false });
}

function listIndexes(
  { whole, definition }: RecordedTable,
  { appId, missing }: PathOptions,
): Index[] {
  const columns = new Map([ID, ...definition.columns].map((column) => [column.name, column]));
  return [...keysOf(whole), ...indexesOf(whole)]
    .filter((index) => (index.appId ?? appId) === appId && !missing.has(index.name))
    .map((index) => toIndex(index, columns))
    .concat(PRIMARY_KEY);
}

function toIndex(index: Constraint, columns: ReadonlyMap<string, QueryColumn>): Index {
  const known = index.columns.map((name) => columns.get(name));
  const end = known.findIndex((column) => column === undefined || !isSearchable(column));
  const searchable = known
    .slice(0, end === -1 ? undefined : end)
    .filter((column) => column !== undefined);
  const isUnique = index.kind === "key" && searchable.length === known.length;
  return { name: index.name, columns: searchable, isUnique };
}

function findFixed({ where }: ListQuery, { columns }: Index): Comparison[] {
  const fixed = columns.map((column) => findComparison(where, column, ["eq"]));
  const end = fixed.indexOf(undefined);
  return fixed.slice(0, end === -1 ? undefined : end).filter((position) => position !== undefined);
}

function findComparison(
  where: readonly Condition[],
  { name }: Pick<QueryColumn, "name">,
  ops: readonly string[],
): Comparison | undefined {
  return where.find(
    (condition): condition is Comparison =>
      "column" in condition && ops.includes(condition.op) && condition.column.name === name,
  );
}

/** Whether the rest of the index has the query's order, down to the id. Otherwise the query would sort all equal values. */
function isInOrder({ where, order }: ListQuery, { index, fixed }: Candidate): boolean {
  const rest = index.columns.slice(fixed.length);
  const isSame = order.every(
    ({ column, isDescending }, position) =>
      rest[position]?.name === column.name && isDescending === order[0]?.isDescending,
  );
  // Nulls sort last in both directions, but an index stores them at one end. So only the first column can be optional,
  // and only with a condition that excludes nulls.
  return (
    isSame &&
    order.every(
      ({ column }, position) => column.required || (position === 0 && isPresent(where, column)),
    )
  );
}

function isPresent(where: readonly Condition[], column: QueryColumn): boolean {
  if (findComparison(where, column, ["lt", "lte", "gt", "gte"]) !== undefined) return true;
  return where.some(
    ({ op, ...condition }) =>
      op === "not" &&
      "of" in condition &&
      findComparison(condition.of, column, ["null"]) !== undefined,
  );
}

function hasRange({ where }: ListQuery, column: QueryColumn | undefined): boolean {
  return (
    column !== undefined && findComparison(where, column, ["lt", "lte", "gt", "gte"]) !== undefined
  );
}

function toPath(
  query: ListQuery,
  { index, fixed }: Candidate,
  { isOrdered }: { isOrdered: boolean },
): QueryPath {
  const isDescending = isOrdered && query.order[0]?.isDescending === true;
  const next = index.columns[fixed.length];
  const isNextUsed = isOrdered || hasRange(query, next) || fixed.length === 0;
  const rest = isOrdered
    ? query.order.map(({ column }) => column)
    : isNextUsed && next !== undefined
      ? [next]
      : [];
  const lower = next && findComparison(query.where, next, ["gt", "gte"]);
  const upper = next && findComparison(query.where, next, ["lt", "lte"]);
  const values = fixed.map((comparison) => comparison.values[0] ?? "");
  const [lowest, highest] = (next && SQL[next.kind].ends) ?? [];
  // Bounds exclude nulls. A walk without fixed columns also needs an end: see queries.sql.
  const isNullable = rest.length > 0 && next?.required !== true;
  const needs = { start: isNullable, stop: isNullable || fixed.length === 0 };
  const bounds = {
    lower: (isNeeded: boolean) =>
      toBound("gte", { values, range: lower, end: isNeeded ? lowest : undefined }),
    upper: (isNeeded: boolean) =>
      toBound("lte", { values, range: upper, end: isNeeded ? highest : undefined }),
  };
  const [start, stop] = isDescending
    ? [bounds.upper(needs.start), bounds.lower(needs.stop)]
    : [bounds.lower(needs.start), bounds.upper(needs.stop)];
  return {
    index: index.name,
    columns: [...fixed.map(({ column }) => column), ...rest],
    fixed: values,
    isOrdered,
    isDescending,
    fulfilled: [...fixed, lower, upper].filter((condition) => condition !== undefined),
    start,
    stop,
  };
}

type BoundParts = {
  readonly values: readonly string[];
  readonly range: Comparison | undefined;
  readonly end: string | undefined;
};

function toBound(op: "gte" | "lte", { values, range, end }: BoundParts): Bound | undefined {
  const last = range?.values[0] ?? end;
  if (last !== undefined)
    return { op: range === undefined ? op : range.op, values: [...values, last] };
  return values.length === 0 ? undefined : { op, values };
}
