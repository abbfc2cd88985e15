/**
 * Chooses the index along which a query visits rows, and the range of values.
 *
 * Row security lets PostgreSQL search an index only with leakproof operators. Kinds without them have parts (`SearchParts`), or one
 * index for each value. Every condition that no index serves is a filter over visited rows. Pure.
 *
 * @module
 */

import { SQL } from "../../kinds/mod.ts";
import type { Person } from "../../principal.ts";
import type { TableDefinition } from "../../schema/mod.ts";
import { keysOf, NO_MEMBER, type RecordedTable } from "../../tables/catalog/mod.ts";
import {
  type Comparison,
  type Condition,
  ID,
  type QueryColumn,
  type Referenced,
} from "./filter.ts";
import {
  type Branch,
  type EnumTest,
  type Index,
  listIndexes,
  type PathOptions,
  PRIMARY_KEY,
} from "./indexes.ts";
import type { ListQuery, SortKey } from "./query.ts";
import {
  type End,
  findComparison,
  findEdges,
  findReferenced,
  hasRange,
  isPresent,
} from "./ranges.ts";
import { findMembership, isRule, isRuled, isSeen, type Membership } from "./rule_conditions.ts";
import {
  countSearched,
  isWholeValue,
  searchedTerms,
  type Term,
  toTerms,
  toTermValues,
} from "./terms.ts";

export type QueryPath = {
  /** `undefined`: the primary key, or branches. */
  readonly index: string | undefined;
  /** The indexes whose rows the walk visits, if it needs their conditions; an ordered walk has one of them. */
  readonly branches: readonly Branch[];
  /** An enum all of whose values must have a branch. */
  readonly covered: QueryColumn | undefined;
  /** The leading terms of the index that the walk uses. */
  readonly terms: readonly Term[];
  /** The values of the leading terms that have one value each. */
  readonly fixed: readonly string[];
  /** The keys of the order in the walk. Unique values make a total order without the id. */
  readonly keys: readonly SortKey[];
  /** Whether rows are visited in the order of the query. Otherwise the query visits and sorts every row of the walk. */
  readonly isOrdered: boolean;
  readonly isDescending: boolean;
  /** Whether the walk continues with the rows without a value in its first column, or visits only them. */
  readonly nulls: "last" | "only" | undefined;
  /** Whether it ends before rows without a value in a later column, because it ascends. */
  readonly isBeforeNulls?: boolean;
  /** The conditions that are true for every visited row. */
  readonly fulfilled: readonly Condition[];
  /** Whether another path visits more rows, but can end a page early. */
  readonly isSelective: boolean;
  /** Whether unique values leave one row. */
  readonly isSingle: boolean;
  /** Whether PostgreSQL finds the rows, although a walk could. */
  readonly isFound?: boolean;
  /** Without this membership, the walk has rows that the person does not see. */
  readonly member?: Membership | undefined;
} & ({ readonly in: Comparison | Referenced } | Range);

/** The start and the end of a walk: values of its leading terms, compared in order. */
type Range = { readonly start: Bound | undefined; readonly stop: Bound | undefined };
export type Bound = { readonly op: Comparison["op"]; readonly values: readonly string[] };

/** An index, and the conditions that give its first columns one value each, or none to the first column. */
type Candidate = {
  readonly index: Index;
  readonly fixed: readonly Comparison[];
  readonly empty: Condition | undefined;
};

/** The columns by which an index sorts a list without conditions. */
export function listSortedColumns(definition: TableDefinition): string[] {
  const table = { name: definition.name, definition, whole: definition };
  const sorted = [ID, ...definition.columns].filter((column) => {
    const order = [column, ID].map((key) => ({ column: key, isDescending: false }));
    const query = {
      where: [],
      order,
      select: [],
      related: [],
      after: undefined,
      limit: 0,
      offset: 0,
    };
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

export function choosePath(
  query: ListQuery,
  table: RecordedTable,
  options: PathOptions,
): QueryPath {
  const path = chooseAny(query, table, options);
  const { person, isFound = false } = options;
  if (isFound || (isRuled(table.definition, person) && isOfRule(path, table, person)))
    return { ...toPath(query, PRIMARY, { isOrdered: false }), isFound: true };
  if (person === undefined || path.isSingle || "in" in path) return path;
  if (isSeen(table.definition, person, path.fulfilled)) return path;
  return { ...path, member: findMembership(table.definition, person, path.fulfilled) };
}

const PRIMARY: Candidate = { index: PRIMARY_KEY, fixed: [], empty: undefined };

/** Whether all rows of the rule are sorted: PostgreSQL finds them faster than a walk visits them. */
function isOfRule(
  path: QueryPath,
  { definition }: RecordedTable,
  person: Person | undefined,
): boolean {
  if (path.isOrdered || path.isSingle || "in" in path) return false;
  return (
    isWhole(path) || path.fulfilled.every((condition) => isRule(definition, person, condition))
  );
}

function chooseAny(query: ListQuery, table: RecordedTable, options: PathOptions): QueryPath {
  const ids = findComparison(query.where, ID, ["in"]);
  if (ids !== undefined) return toSetPath(PRIMARY_KEY, ids);
  const candidates = listIndexes(query, table, options)
    .map((index): Candidate => ({ index, ...findFixed(query, index) }))
    .filter((candidate) => hasOnlySeen(query, candidate, { ...options, table }))
    .sort(
      (a, b) =>
        countFixed(b) - countFixed(a) ||
        Number(b.empty !== undefined) - Number(a.empty !== undefined) ||
        Number(hasRange(query, restOf(b)[0])) - Number(hasRange(query, restOf(a)[0])) ||
        a.index.branches.length - b.index.branches.length,
    );
  const fixed = candidates.filter((candidate) => countFixed(candidate) > 0);
  const single = candidates.find((candidate) => isSingle(query, candidate));
  if (single !== undefined) return toLookup(query, single);
  const ordered = candidates.find((candidate) => isInOrder(query, candidate));
  const isSelective = options.isUnselective !== true;
  const selective = isSelective
    ? fixed.find((candidate) =>
        candidate.fixed.some(({ column }) => SQL[column.kind].isSelective === true),
      )
    : undefined;
  // An index in the query's order visits only the rows of the page. Otherwise prefer the path with fewer rows.
  if (
    ordered !== undefined &&
    (ordered.fixed.length > 0 || ordered.empty !== undefined || selective === undefined)
  ) {
    const set = isSelective && countFixed(ordered) === 0 ? findSet(query, candidates) : undefined;
    return set ?? toPath(query, ordered, { isOrdered: true });
  }
  if (selective !== undefined)
    return { ...toPath(query, selective, { isOrdered: false }), isSelective: true };
  const set = isSelective ? findSet(query, candidates) : undefined;
  if (set !== undefined) return set;
  const ranged = candidates.find(({ index }) => hasRange(query, index.columns[0]));
  const empty = candidates.find((candidate) => candidate.empty !== undefined);
  const best = fixed[0] ?? ranged ?? empty ?? PRIMARY;
  return toPath(query, best, { isOrdered: false });
}

/**
 * Whether a walk along the index has only rows that the person sees, or one row. The database visits only such rows in any case; but
 * the time of another walk would tell how many rows of others are in a range. The primary key is the walk of the person's rule.
 */
function hasOnlySeen(
  query: ListQuery,
  candidate: Candidate,
  { table: { definition }, person, missing }: PathOptions & { table: RecordedTable },
): boolean {
  if (person === undefined || candidate.index === PRIMARY_KEY || isSingle(query, candidate))
    return true;
  const { fulfilled } = toPath(query, candidate, { isOrdered: false });
  return (
    isSeen(definition, person, fulfilled) ||
    (!missing.has(NO_MEMBER) && findMembership(definition, person, fulfilled) !== undefined)
  );
}

/** Whether PostgreSQL finds the rows among all, in any order, because no index narrows or orders them. */
export function isUnindexed(path: QueryPath): boolean {
  const { isFound = false, isOrdered, isSingle, fulfilled } = path;
  return isFound || (!isOrdered && !isSingle && fulfilled.length === 0 && isWhole(path));
}

/** Whether the rows of the walk are those of the table, in the order of ids. */
export function isWhole(path: QueryPath): boolean {
  const { index, branches, nulls, terms } = path;
  const isPrimary = index === undefined && branches.length === 0 && nulls === undefined;
  return isPrimary && !("in" in path) && terms.every(({ column }) => column.name === ID.name);
}

/** The number of conditions with one value that an index fulfills, or with one of several values of an enum. */
function countFixed({ index, fixed }: Candidate): number {
  return fixed.length + index.fulfilled.length;
}

/** Whether the conditions have a value for each column of a unique index. */
function isSingle({ where }: ListQuery, { index, fixed }: Candidate): boolean {
  return (
    (index.isUnique || index.enums.length > 0) &&
    fixed.length === index.columns.length &&
    index.enums.every((column) => findComparison(where, column, ["eq"]) !== undefined)
  );
}

/** The row with these values. Enums come last in the index, and are compared in the few rows with the other values. */
function toLookup(query: ListQuery, candidate: Candidate): QueryPath {
  const { enums, columns, name } = candidate.index;
  const path = { ...toPath(query, candidate, { isOrdered: false }), isSingle: true };
  if (name === undefined || enums.length === 0) return path;
  // A condition with a label implies that the column has a value, which an index without other columns requires.
  const only = enums.flatMap((column): EnumTest[] => {
    const label = findComparison(query.where, column, ["eq"])?.values[0];
    if (columns.length === 0 && label !== undefined) return [{ column, op: "is", label }];
    return column.required ? [] : [{ column, op: "present" }];
  });
  const walked = columns.length === 0 ? [] : path.terms;
  return {
    ...path,
    ...{ index: undefined, branches: [{ index: name, only }] },
    terms: [...walked, ...enums.map((column) => ({ column }))],
  };
}

/** The rows with one of several values in the first column of an index. */
function findSet({ where }: ListQuery, candidates: readonly Candidate[]): QueryPath | undefined {
  for (const { index } of candidates) {
    const [column] = index.branches.length > 0 ? [] : index.columns;
    const values =
      column && (findComparison(where, column, ["in"]) ?? findReferenced(where, column));
    if (values !== undefined) return toSetPath(index, values);
  }
  return undefined;
}

function toSetPath({ name }: Index, condition: Comparison | Referenced): QueryPath {
  const isExact = condition.values.every((value) => isWholeValue(condition.column, value));
  return {
    index: name,
    ...{ branches: [], covered: undefined },
    terms: searchedTerms(condition.column),
    fixed: [],
    keys: [],
    isOrdered: false,
    isDescending: false,
    nulls: undefined,
    fulfilled: isExact ? [condition] : [],
    isSelective: condition.column.name !== ID.name,
    isSingle: false,
    in: condition,
  };
}

/** How the children of a row are found: by an index of the reference and then their order. */
type ChildPath = {
  readonly index: string | undefined;
  readonly terms: readonly Term[];
  readonly isDescending: boolean;
  /** The highest value of the second term, if the index has rows without a value before the others. */
  readonly nulls: string | undefined;
};

/** `undefined`: no index has the order. */
export function chooseChildren(
  { table, column }: { readonly table: RecordedTable; readonly column: QueryColumn },
  { order }: Pick<ListQuery, "order">,
  options: PathOptions,
): ChildPath | undefined {
  const isDescending = order[0]?.isDescending === true;
  for (const index of listIndexes({ where: [] }, table, options)) {
    const [first, ...rest] = index.branches.length > 0 ? [] : index.columns;
    const isLast = index.isUnique && rest.length === order.length - 1;
    const keys = isLast ? order.slice(0, -1) : order;
    const isInOrder = keys.every(
      (key, position) =>
        rest[position]?.name === key.column.name && key.isDescending === isDescending,
    );
    // Nulls sort last. A descending walk can be made of two only by its first key. Nulls of unique columns are not unique.
    const nullable = keys.filter((key) => !key.column.required);
    const isAble =
      nullable.length === 0 ||
      (!isLast && (!isDescending || nullable.every((key) => key === keys[0])));
    if (first?.name !== column.name || !isInOrder || !isAble) continue;
    const [second] = keys;
    return {
      index: index.name,
      terms: [column, ...keys.map((key) => key.column)].flatMap(toTerms),
      isDescending,
      nulls:
        isDescending && second?.column.required === false
          ? SQL[second.column.kind].ends?.[1]
          : undefined,
    };
  }
  return undefined;
}

function findFixed({ where }: ListQuery, { columns, hasNulls }: Index): Omit<Candidate, "index"> {
  const fixed = columns.map((column) => findComparison(where, column, ["eq"]));
  const end = fixed.indexOf(undefined);
  const [first] = columns;
  return {
    fixed: fixed
      .slice(0, end === -1 ? undefined : end)
      .filter((position) => position !== undefined),
    empty: hasNulls && first && end === 0 ? findComparison(where, first, ["null"]) : undefined,
  };
}

/** The columns of an index after those with one value. */
function restOf({ index, fixed, empty }: Candidate): readonly QueryColumn[] {
  return index.columns.slice(fixed.length + (empty === undefined ? 0 : 1));
}

/** The keys of the order that an index must have: the last of them, the id, follows from unique values. */
function keysIn({ order }: ListQuery, candidate: Candidate): readonly SortKey[] {
  const rest = restOf(candidate);
  return candidate.index.isUnique && rest.length === order.length - 1
    ? order.slice(0, rest.length)
    : order;
}

/** Whether the rest of the index has the query's order, down to the id. Otherwise the query would sort all equal values. */
function isInOrder(query: ListQuery, candidate: Candidate): boolean {
  const { where, order } = query;
  // Each branch has its own order.
  if (candidate.index.branches.length > 1) return false;
  const rest = restOf(candidate);
  const keys = keysIn(query, candidate);
  const isSame = keys.every(
    ({ column, isDescending }, position) =>
      rest[position]?.name === column.name && isDescending === order[0]?.isDescending,
  );
  // Nulls sort last in both directions, but an index stores them at one end. So only the first column can be optional,
  // and only with a condition that excludes nulls, or if the walk can continue with the nulls.
  return (
    keys.length > 0 &&
    isSame &&
    keys.every(
      ({ column }, position) =>
        column.required ||
        (position === 0 && (isPresent(where, column) || canEndWithNulls(candidate))),
    )
  );
}

function canEndWithNulls({ index, fixed, empty }: Candidate): boolean {
  return index.hasNulls && fixed.length === 0 && empty === undefined;
}

function toPath(
  query: ListQuery,
  candidate: Candidate,
  { isOrdered }: { isOrdered: boolean },
): QueryPath {
  const { index, fixed, empty } = candidate;
  const keys = isOrdered ? keysIn(query, candidate) : [];
  const next = restOf(candidate)[0];
  const isNextUsed = isOrdered || hasRange(query, next) || fixed.length === 0;
  const rest = isOrdered
    ? keys.map(({ column }) => column)
    : isNextUsed && next !== undefined
      ? [next]
      : [];
  const columns = [...fixed.map(({ column }) => column), ...rest];
  // Nulls come after the last value. Before PostgreSQL 18, an ascending walk reads those of a later column after its stop, and
  // rows that it skips are not visits.
  const isDescending = isOrdered
    ? query.order[0]?.isDescending === true
    : columns.slice(1).some(({ required }) => !required);
  const terms = columns.flatMap(toTerms);
  // The order of the index leaves PostgreSQL no other.
  if (columns.length === 0 && index.end !== undefined) terms.push({ column: index.end });
  const values = fixed.flatMap(({ column, values: [value = ""] }) => toTermValues(column, value));
  const searched = values.slice(0, countSearched(terms));
  // After a term that is not searched, no bound follows.
  const isCut = searched.length < values.length;
  const exact = fixed
    .filter(({ column, values: [value = ""] }) => isWholeValue(column, value))
    .slice(0, isCut ? 0 : undefined);
  const path = {
    ...{ index: index.branches.length === 0 ? index.name : undefined, branches: index.branches },
    ...{ covered: index.covered, fixed: values, keys, isOrdered, isDescending },
    isSelective: false,
    isSingle: false,
  };
  if (empty !== undefined && index.columns[0] !== undefined)
    return {
      ...path,
      terms: [...toTerms(index.columns[0]), ...terms],
      nulls: "only",
      fulfilled: [...index.fulfilled, empty],
      start: undefined,
      stop: undefined,
    };
  const { lower, upper } =
    next === undefined || isCut
      ? { lower: undefined, upper: undefined }
      : findEdges(query.where, next);
  const [lowest, highest] = (next && !isCut && SQL[next.kind].ends) || [];
  // Bounds exclude nulls, which a walk only for the rows of an enum must visit. A walk of rows with values in its first column
  // needs an end: see queries.sql.
  const isNullable = rest.length > 0 && next?.required !== true;
  const hasNone = isOrdered || lower !== undefined || upper !== undefined;
  const needs = isNullable
    ? { start: hasNone, stop: hasNone }
    : { start: false, stop: fixed.length === 0 };
  const bounds = {
    lower: (isNeeded: boolean) =>
      toBound("gte", { values: searched, edge: lower, end: isNeeded ? lowest : undefined }),
    upper: (isNeeded: boolean) =>
      toBound("lte", { values: searched, edge: upper, end: isNeeded ? highest : undefined }),
  };
  const [start, stop] = isDescending
    ? [bounds.upper(needs.start), bounds.lower(needs.stop)]
    : [bounds.lower(needs.start), bounds.upper(needs.stop)];
  const isLast =
    isOrdered &&
    canEndWithNulls(candidate) &&
    next?.required === false &&
    !isPresent(query.where, next);
  return {
    ...path,
    terms,
    nulls: isLast ? "last" : undefined,
    isBeforeNulls: !isDescending && columns.slice(1).some(({ required }) => !required),
    fulfilled: [...index.fulfilled, ...exact, lower?.fulfilled, upper?.fulfilled].filter(
      (condition) => condition !== undefined,
    ),
    start,
    stop,
  };
}

type BoundParts = {
  readonly values: readonly string[];
  readonly edge: End | undefined;
  readonly end: string | undefined;
};

function toBound(op: "gte" | "lte", { values, edge, end }: BoundParts): Bound | undefined {
  const last = edge?.value ?? end;
  if (last !== undefined)
    return { op: edge === undefined ? op : edge.op, values: [...values, last] };
  return values.length === 0 ? undefined : { op, values };
}
