/**
 * A query as arguments of its column set's walk function, if one index has its rows in its order: then its conditions are two
 * positions in that index. Pure.
 *
 * @module
 */

import { SQL } from "../../kinds/mod.ts";
import type { Person } from "../../principal.ts";
import {
  type EndpointCall,
  listWalks,
  queryColumns,
  type RecordedTable,
  type Walk,
  type WalkColumn,
} from "../../tables/catalog/mod.ts";
import { type Condition, ID, type QueryColumn } from "./filter.ts";
import { planRelated } from "./find_plan.ts";
import type { ListQuery } from "./list_query.ts";
import { readCursorValue } from "./page_parts.ts";
import { findComparison } from "./ranges.ts";
import { describeOrder } from "./read_list_query.ts";
import { isSeen, toWalkOfRule } from "./rule_conditions.ts";
import { compareTerms, endsOf, type Term, toTerms } from "./terms.ts";
import { type Bound, toWalkPath, type WalkPath } from "./walk_path.ts";

type WalkOptions = {
  readonly appId: string;
  readonly person: Person | undefined;
  /** Max bytes of the related rows of each relation. */
  readonly bytes?: number;
};
type WalkCall = Extract<EndpointCall, { endpoint: "walk" }>;
type PlannedWalk = Omit<WalkCall["values"], "bytes" | "known" | "inline">;

/** A walk that has only rows that the person sees: by the conditions of the rule, or of the rows of the rule in the order of ids. */
export function planSeenWalk(
  query: ListQuery,
  table: RecordedTable,
  options: WalkOptions,
): PlannedWalk | undefined {
  const { person } = options;
  const walk = isSeen(table.definition, person, query.where)
    ? planWalk(query, table, options)
    : undefined;
  if (walk !== undefined || person === undefined) return walk;
  const ofRule = toWalkOfRule(table, person, query);
  return ofRule && planWalk(ofRule, table, options);
}

/**
 * `undefined` if the query needs more than a walk: another condition, a sort, an offset.
 */
export function planWalk(
  query: ListQuery,
  table: RecordedTable,
  options: WalkOptions,
): PlannedWalk | undefined {
  const { order, select, limit, offset } = query;
  if (offset > 0) return undefined;
  const walks = listWalks(table.definition, table.whole).flatMap((walk) => {
    const path = toServing(query, walk, table, options);
    return path === undefined ? [] : [{ walk, path }];
  });
  const [best] = walks.toSorted((a, b) => b.path.fixed.length - a.path.fixed.length);
  if (best === undefined) return undefined;
  const { walk, path } = best;
  const range = toRange(query, path, toWalkTerms(walk, table));
  if (range === undefined) return undefined;
  const names = queryColumns(table.definition).map(({ name }) => name);
  const numberOf = ({ column }: Pick<Term, "column">) => names.indexOf(column.name) + 1;
  const cursor = describeOrder(order);
  const related = planRelated(query.related, table, options.bytes);
  return {
    index: walk.index,
    isDescending: path.isDescending,
    ...range,
    limit,
    picked: select.map((column) => numberOf({ column })),
    order: order.map(numberOf),
    cursor: related === undefined ? cursor : `${cursor}\n${JSON.stringify(related)}`,
  };
}

/** The range of a built index, if it has exactly the rows of the query. */
function toServing(
  query: ListQuery,
  walk: Walk,
  { definition }: RecordedTable,
  { appId }: WalkOptions,
): WalkPath | undefined {
  const known = [ID, ...definition.columns];
  const columns = walk.columns.flatMap(({ name }) => known.find((own) => own.name === name) ?? []);
  if ((walk.appId ?? appId) !== appId) return undefined;
  // No value of an enum is certainly the first.
  const isFixed = (column: QueryColumn) =>
    findComparison(query.where, column, ["eq"]) !== undefined;
  if (columns.some((column) => SQL[column.kind].ends === undefined && !isFixed(column)))
    return undefined;
  const path = toWalkPath(query, walk, columns);
  if (path === undefined) return undefined;
  const isFulfilled = (condition: Condition) =>
    path.fulfilled.includes(condition) ||
    (path.nulls === undefined && walk.columns.some((column) => isPresence(condition, column)));
  const isOneRow = path.isSingle && query.limit > 0 && query.after === undefined;
  const isPage = !path.isSingle || isOneRow;
  return isPage && query.where.every(isFulfilled) ? path : undefined;
}

/** Whether the condition excludes only the rows without a value in this column, which no range of an index contains. */
function isPresence(condition: Condition, { name }: WalkColumn): boolean {
  if (condition.op !== "not") return false;
  const [inner] = condition.of;
  return inner?.op === "null" && inner.column.name === name;
}

/** The terms of the index; `undefined` if a later column can be null: such rows would be passed without a limit. */
function toWalkTerms(
  { columns }: Walk,
  { definition }: RecordedTable,
): readonly Term[] | undefined {
  const id = { name: "id", kind: "uuid", required: true } as const;
  const known = [id, ...definition.columns];
  const named = columns.flatMap(({ name }) => known.find((column) => column.name === name) ?? []);
  const isRequired = named.slice(1).every(({ required }) => required);
  return isRequired ? named.flatMap(toTerms) : undefined;
}

type WalkRange = Pick<PlannedWalk, "start" | "stop" | "nulls">;

function toRange(
  query: ListQuery,
  path: WalkPath,
  terms: readonly Term[] | undefined,
): WalkRange | undefined {
  if (terms === undefined) return undefined;
  const { after } = query;
  const { isDescending } = path;
  const [first] = terms;
  const rest = terms.slice(first === undefined ? 0 : toTerms(first.column).length);
  const way = isDescending ? "down" : "up";
  const at = after === undefined ? undefined : toCursorPosition(path, query);
  // Another request of the client; the query function rejects it.
  if (after !== undefined && at === undefined) return undefined;
  if (path.nulls === "only" || at?.isAmongNulls === true)
    return { start: null, stop: null, nulls: fill(at?.values ?? [], rest, START[way]) };
  const begin = toPosition(path.start, terms, START[way]);
  const stop = toPosition(path.stop, terms, STOP[way]);
  if (begin === undefined || stop === undefined) return undefined;
  const start = at === undefined ? begin : toLater(at.values, { begin, path, terms });
  const nulls = path.nulls === "last" ? fill([], rest, START[way]) : null;
  return { start, stop, nulls };
}

/** The end of the values that a page excludes: a page in ascending order begins after the lower ones. */
type Side = "lower" | "upper";
const START = { up: "lower", down: "upper" } as const;
const STOP = { up: "upper", down: "lower" } as const;

/** A position in the index: the values of its first terms, and then the lowest or the highest ones. */
function fill(values: readonly string[], terms: readonly Term[], side: Side): string[] {
  return terms.map((term, place) => values[place] ?? endsOf(term)[side]);
}

/** A bound as an inclusive position; `undefined` if the next value of a strict bound is unknown. */
function toPosition(
  bound: Bound | undefined,
  terms: readonly Term[],
  side: Side,
): string[] | undefined {
  const values = bound?.values ?? [];
  const isStrict = bound?.op === "gt" || bound?.op === "lt";
  const term = terms[values.length - 1];
  const value = values.at(-1);
  if (!isStrict || term === undefined || value === undefined) return fill(values, terms, side);
  const next = toNext(term, value, side);
  return next && fill([...values.slice(0, -1), ...next], terms, side);
}

/** The values after a value of this term, on this side; `undefined` after the last value, or if the kind has no steps. */
function toNext({ column }: Term, value: string, side: Side): string[] | undefined {
  const { step, parts } = SQL[column.kind];
  if (parts?.restEnds === undefined) {
    const next = step?.(value, side === "lower" ? 1 : -1);
    return next === undefined ? undefined : [next];
  }
  const start = side === "lower" ? value : parts.toBefore?.(value);
  return start === undefined ? undefined : [start, parts.restEnds[1]];
}

type CursorPosition = { readonly values: readonly string[]; readonly isAmongNulls: boolean };

/** The position of a cursor; among the nulls, without the first column. */
function toCursorPosition(
  { fixed, keys, nulls }: WalkPath,
  { order, after = [] }: ListQuery,
): CursorPosition | undefined {
  const isAmongNulls = nulls === "last" && after[0] === null;
  const values: string[] = [...fixed];
  for (const [place, { column }] of keys.entries()) {
    if (place === 0 && isAmongNulls) continue;
    const value = after[place] ?? null;
    if (value === null) return undefined;
    const read = readCursorValue(column, value);
    const { length } = toTerms(column);
    // Other texts can have the same parts, and nothing after them in the index tells these apart.
    if (read.length > length && keys.length < order.length) return undefined;
    values.push(...read.slice(0, length));
  }
  return { values, isAmongNulls };
}

type Begin = { begin: readonly string[]; path: WalkPath; terms: readonly Term[] };

/** The later of a cursor's position and the start of the range: the cursor can come from a query with other conditions. */
function toLater(at: readonly string[], { begin, path, terms }: Begin): readonly string[] {
  const { isDescending } = path;
  for (const [place, term] of terms.entries()) {
    const order = compareTerms(term, at[place] ?? "", begin[place] ?? "");
    if (order !== 0) return isDescending === order < 0 ? at : begin;
  }
  return at;
}
