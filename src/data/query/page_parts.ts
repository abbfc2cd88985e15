/**
 * The parts of a page, one after the other, each in an order that an index has: an index stores the rows without a value at one end, and
 * pages have them last. Also where a page continues. Pure.
 *
 * @module
 */

import { SQL, VALUES } from "../../kinds/mod.ts";
import { type Comparison, type Condition, ID, invalid, type QueryColumn } from "./filter.ts";
import type { ListQuery, SortKey } from "./list_query.ts";
import { isPresent } from "./ranges.ts";
import { UNREADABLE_CURSOR } from "./read_list_query.ts";
import { type Term, toTerms } from "./terms.ts";

/** A condition on terms, as `rowhouse.render_condition` reads it, with names for numbers. */
export type TermCondition =
  | (Term & { readonly op: string; readonly values: readonly string[] })
  | {
      readonly op: "row";
      readonly is: "gte" | "lte";
      readonly terms: readonly Term[];
      readonly values: readonly string[];
    }
  | { readonly op: "and" | "or"; readonly of: readonly TermCondition[] };

export type SortTerm = Term & {
  readonly isDescending: boolean;
  /** Whether the rows without a value are last in this direction. An index has them first. */
  readonly isNullsLast: boolean;
};

type PagePart = {
  readonly where: readonly TermCondition[];
  readonly sort: readonly SortTerm[];
};

type PagedQuery = Pick<ListQuery, "where" | "order" | "after">;

/** @throws {Problem} invalid_query — the cursor is from another list */
export function toParts({ where, order, after }: PagedQuery): PagePart[] {
  const [first] = order;
  if (first === undefined) return [{ where: [], sort: [] }];
  const { column, isDescending } = first;
  // PostgreSQL uses an index that begins with these only if the order does.
  const fixed = where.flatMap((condition) =>
    isFixed(condition) ? toSortTerms({ column: condition.column, isDescending }) : [],
  );
  const terms = order.flatMap((key) => toSortTerms(key, key !== first));
  const sort = [...fixed, ...terms];
  const isAmongNulls = after?.[0] === null;
  const hasNulls = !column.required && !isPresent(where, column);
  if (isAmongNulls && !hasNulls)
    throw invalid("Cannot read after: it comes from a list with other conditions");
  const afterValue =
    after === undefined || isAmongNulls ? [] : [toAfter(terms, toAfterValues(order, after), true)];
  const valued = { where: [...toPresence(column), ...afterValue], sort };
  if (!hasNulls) return [valued];
  const [term = { column }, ...rest] = toTerms(column);
  const count = 1 + rest.length;
  const afterNull = isAmongNulls
    ? [toAfter(terms.slice(count), toAfterValues(order, after).slice(count))]
    : [];
  const empty = { where: [{ ...term, op: "null", values: [] }, ...afterNull], sort };
  return isAmongNulls ? [empty] : [valued, empty];
}

function isFixed(condition: Condition): condition is Comparison {
  if (condition.op === "eq") return SQL[condition.column.kind].isFixed !== true;
  return condition.op === "null" && VALUES[condition.column.kind].unindexed === undefined;
}

/** A condition that each value of the column fulfills. It proves that an index of the rows with a value has the row. */
export function toPresence(column: QueryColumn): TermCondition[] {
  if (column.name === ID.name) return [];
  const { ends, type } = SQL[column.kind];
  const [term = { column }] = toTerms(column);
  const highest = ends?.[1];
  if (highest !== undefined) return [{ ...term, op: "lte", values: [highest] }];
  return type === undefined ? [{ column, op: "first", values: [] }] : [];
}

function toSortTerms({ column, isDescending }: SortKey, isLater = false): SortTerm[] {
  const isNullsLast = isLater && isDescending && !column.required;
  return toTerms(column).map((term) => ({ ...term, isDescending, isNullsLast }));
}

function toAfterValues(
  order: readonly SortKey[],
  after: readonly (string | null)[],
): (string | null)[] {
  return order.flatMap(({ column }, position): readonly (string | null)[] => {
    const value = after[position] ?? null;
    const terms = toTerms(column);
    if (value === null) return terms.map(() => null);
    return readCursorValue(column, value).slice(0, terms.length);
  });
}

/** A value of a cursor as the terms of its column, and what tells apart values with the same terms, if there can be others. */
export function readCursorValue(column: QueryColumn, value: string): readonly string[] {
  const { parts } = SQL[column.kind];
  if (parts === undefined || toTerms(column)[0]?.part === undefined) return [value];
  const read = parts.readCursor(value);
  if (read === undefined) throw invalid(UNREADABLE_CURSOR);
  return read;
}

/**
 * The condition for a row and all later rows. An index is searched by the first term, or by all in one comparison. `isPresent`: whether
 * all rows have a value for the first key.
 */
function toAfter(
  terms: readonly SortTerm[],
  values: readonly (string | null)[],
  isPresent = false,
): TermCondition {
  const [first, ...others] = terms;
  const [value] = values;
  if (first === undefined || value === undefined) throw new Error("An order has a key");
  if (value === null || !(isPresent || first.column.required)) return toLater(terms, values);
  const is = first.isDescending ? "lte" : "gte";
  const given = values.flatMap((each) => each ?? []);
  const isOneWay = others.every(
    ({ column, isDescending }) =>
      isDescending === first.isDescending && (column.required || column === first.column),
  );
  if (isOneWay && given.length === terms.length) return { op: "row", is, terms, values: given };
  return { op: "and", of: [{ ...first, op: is, values: [value] }, toLater(terms, values)] };
}

/** (a > x) or (a = x and b >= y). Nulls sort last. */
function toLater(
  [key, ...keys]: readonly SortTerm[],
  [value, ...rest]: readonly (string | null)[],
): TermCondition {
  if (key === undefined || value === undefined)
    throw new Error("An order has a value for each key");
  const { column, isDescending } = key;
  const isNull = { op: "null", column, values: [] };
  if (value === null) return { op: "and", of: [isNull, toLater(keys, rest)] };
  const term = { ...key, values: [value] };
  if (keys.length === 0) return { ...term, op: isDescending ? "lte" : "gte" };
  return {
    op: "or",
    of: [
      { ...term, op: isDescending ? "lt" : "gt" },
      { op: "and", of: [{ ...term, op: "eq" }, toLater(keys, rest)] },
      ...(column.required ? [] : [isNull]),
    ],
  };
}
