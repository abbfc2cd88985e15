/**
 * The range of an index that has exactly the rows of a query, in its order. Row security lets PostgreSQL search an index only with
 * leakproof operators, so kinds without them have parts (`SearchParts`). Pure.
 *
 * @module
 */

import { SQL } from "../../kinds/mod.ts";
import type { Walk } from "../../tables/catalog/mod.ts";
import type { Comparison, Condition, QueryColumn } from "./filter.ts";
import { isInOrder } from "./index_use.ts";
import type { ListQuery, SortKey } from "./list_query.ts";
import { type End, findComparison, findEdges, isPresent } from "./ranges.ts";
import { isWholeValue, type Term, toTerms, toTermValues } from "./terms.ts";

export type WalkPath = {
  /** The leading terms of the index that the walk uses. */
  readonly terms: readonly Term[];
  /** The values of the leading terms that have one value each. */
  readonly fixed: readonly string[];
  /** The keys of the order in the walk. Unique values make a total order without the id. */
  readonly keys: readonly SortKey[];
  readonly isDescending: boolean;
  /** Whether the walk continues with the rows without a value in its first column, or visits only them. */
  readonly nulls: "last" | "only" | undefined;
  /** The conditions that are true for every visited row. */
  readonly fulfilled: readonly Condition[];
  /** Whether unique values leave one row. */
  readonly isSingle: boolean;
  /** The start and the end: values of the leading terms, compared in order. */
  readonly start: Bound | undefined;
  readonly stop: Bound | undefined;
};

export type Bound = { readonly op: Comparison["op"]; readonly values: readonly string[] };

/** `undefined`: the index has the rows in another order. */
export function toWalkPath(
  { where, order }: Pick<ListQuery, "where" | "order">,
  { isUnique, hasNulls }: Pick<Walk, "isUnique" | "hasNulls">,
  columns: readonly QueryColumn[],
): WalkPath | undefined {
  const [first] = columns;
  const compared = columns.map((column) => findComparison(where, column, ["eq"]));
  const end = compared.indexOf(undefined);
  const fixed = compared
    .slice(0, end === -1 ? undefined : end)
    .filter((condition) => condition !== undefined);
  const empty = hasNulls && first && end === 0 ? findComparison(where, first, ["null"]) : undefined;
  const rest = columns.slice(fixed.length + (empty === undefined ? 0 : 1));
  const isSingle = isUnique && rest.length === 0;
  const canEndWithNulls = hasNulls && fixed.length === 0 && empty === undefined;
  const [next] = rest;
  const isAble = next === undefined || next.required || isPresent(where, next) || canEndWithNulls;
  if (!isSingle && !(isAble && isInOrder(order, rest, isUnique))) return undefined;
  const keys = isSingle ? [] : order.slice(0, rest.length);
  const isDescending = !isSingle && order[0]?.isDescending === true;
  const terms = [...fixed, ...keys].flatMap(({ column }) => toTerms(column));
  const values = fixed.flatMap(({ column, values: [value = ""] }) => toTermValues(column, value));
  const exact = fixed.filter(({ column, values: [value = ""] }) => isWholeValue(column, value));
  const path = { fixed: values, keys, isDescending, isSingle };
  if (empty !== undefined && first !== undefined)
    return {
      ...path,
      terms: [...toTerms(first), ...terms],
      nulls: "only",
      fulfilled: [empty],
      start: undefined,
      stop: undefined,
    };
  const { lower, upper } =
    next === undefined ? { lower: undefined, upper: undefined } : findEdges(where, next);
  const [lowest, highest] = (next && SQL[next.kind].ends) ?? [];
  // Bounds exclude nulls. A walk of rows with values in its first column needs an end.
  const isNullable = next?.required === false;
  const needs = { start: isNullable, stop: isNullable || fixed.length === 0 };
  const toLower = (isNeeded: boolean) =>
    toBound("gte", { values, edge: lower, end: isNeeded ? lowest : undefined });
  const toUpper = (isNeeded: boolean) =>
    toBound("lte", { values, edge: upper, end: isNeeded ? highest : undefined });
  const [start, stop] = isDescending
    ? [toUpper(needs.start), toLower(needs.stop)]
    : [toLower(needs.start), toUpper(needs.stop)];
  return {
    ...path,
    terms,
    nulls: canEndWithNulls && isNullable && !isPresent(where, next) ? "last" : undefined,
    fulfilled: [...exact, lower?.fulfilled, upper?.fulfilled].filter(
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
