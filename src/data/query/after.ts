/** Where a page continues: the values of a cursor as a place in a walk, and as a condition. Pure. @module */

import { SQL } from "../../kinds/mod.ts";
import { type Comparison, invalid, type QueryColumn, type Referenced } from "./filter.ts";
import { UNREADABLE_CURSOR } from "./list_query.ts";
import type { Bound, QueryPath } from "./path.ts";
import type { ListQuery, SortKey } from "./query.ts";
import { countSearched, isSortedByParts, type Term, toTerms } from "./terms.ts";

/**
 * Where a walk continues: at the values of its terms in the first row of the page. If not all of them can be searched, it begins
 * before that row.
 *
 * @throws {Problem} invalid_query
 */
export function toWalk(
  { fixed, keys, nulls, isDescending, terms }: QueryPath,
  after: readonly (string | null)[] | undefined,
  bound: (at: Bound) => object,
) {
  if (after === undefined) return { isExact: true };
  const op = isDescending ? "lte" : "gte";
  const [first] = after;
  const isAmongNulls = nulls === "last" && first === null;
  const values = keys.flatMap(({ column }, position) => {
    const value = after[position];
    if (position === 0 && isAmongNulls) return [];
    if (value === null || value === undefined)
      throw invalid("Cannot read after: it comes from a list with other conditions");
    return toCursorValues(column, value);
  });
  const all = [...fixed, ...values];
  const isEmpty = ({ column }: Term) =>
    (isAmongNulls || nulls === "only") && column.name === terms[0]?.column.name;
  const searched = all.slice(0, countSearched(terms.filter((term) => !isEmpty(term))));
  const at = bound({ op, values: searched });
  const isExact = searched.length === all.length;
  return { at, isExact, isAmongNulls: isAmongNulls || undefined };
}

function toCursorValues(column: QueryColumn, value: string): readonly string[] {
  return readCursorValue(column, value).slice(0, toTerms(column).length);
}

/** A value of a cursor as the terms of its column, and what tells apart values with the same terms, if there can be others. */
export function readCursorValue({ kind }: QueryColumn, value: string): readonly string[] {
  const { parts } = SQL[kind];
  if (parts === undefined) return [value];
  const read = parts.readCursor(value);
  if (read === undefined) throw invalid(UNREADABLE_CURSOR);
  return read;
}

/**
 * The rows from a cursor on, among those at which the walk begins. A count of all rows has no such condition.
 */
export function toTie(
  path: QueryPath,
  query: ListQuery & { after: readonly (string | null)[] },
  isExact: boolean,
): TermCondition | undefined {
  const longer = toLongerTie(path, query);
  if (isExact) return longer;
  const after = toAfterCondition(query.order, query.after);
  return longer === undefined ? after : { op: "and", of: [after, longer] };
}

/**
 * The rows from a cursor on, among those with its terms: a walk of unique texts has no id at its end, and longer texts can
 * have the same start and MD5. `undefined` without a longer text.
 */
function toLongerTie({ keys }: QueryPath, { order, after }: ListQuery): TermCondition | undefined {
  if (keys.length === order.length) return undefined;
  const terms = keys.flatMap(toSortTerms);
  const values = toAfterValues(keys, after ?? []);
  const longer = keys.flatMap(({ column, isDescending }, position) => {
    const value = after?.[position];
    const exact =
      typeof value === "string"
        ? readCursorValue(column, value)[toTerms(column).length]
        : undefined;
    return exact === undefined
      ? []
      : [{ term: { column, part: "exact" as const, isDescending }, value: `\\x${exact}` }];
  });
  if (longer.length === 0) return undefined;
  const others = terms.map((term, position) => ({
    ...{ ...term, op: "neq" as const },
    values: [values[position] ?? ""],
  }));
  const exact = toAfter(
    longer.map(({ term }) => term),
    longer.map(({ value }) => value),
  );
  return { op: "or", of: [...others, exact] };
}

/** A key of an order as terms. Nulls are compared by the column. */
type SortTerm = Term & Pick<SortKey, "isDescending">;
export type TermCondition =
  | (Term & { readonly op: Comparison["op"]; readonly values: readonly string[] })
  | Referenced
  | { readonly op: "and" | "or"; readonly of: readonly TermCondition[] }
  | { readonly op: "not"; readonly of: readonly [TermCondition] };

export function toSortTerms({ column, isDescending }: SortKey): SortTerm[] {
  const terms = isSortedByParts(column) ? toTerms(column) : [{ column }];
  return terms.map((term) => ({ ...term, isDescending }));
}

export function toAfterCondition(
  order: readonly SortKey[],
  after: readonly (string | null)[],
): TermCondition {
  return toAfter(order.flatMap(toSortTerms), toAfterValues(order, after));
}

function toAfterValues(
  order: readonly SortKey[],
  after: readonly (string | null)[],
): (string | null)[] {
  return order.flatMap(({ column }, position): readonly (string | null)[] => {
    const value = after[position] ?? null;
    if (!isSortedByParts(column)) return [value];
    return value === null ? toTerms(column).map(() => null) : toCursorValues(column, value);
  });
}

/** The condition for a row and all later rows: (a > x) or (a = x and b >= y). Nulls sort last. */
function toAfter(
  [key, ...keys]: readonly SortTerm[],
  [value, ...rest]: readonly (string | null)[],
): TermCondition {
  if (key === undefined || value === undefined)
    throw new Error("An order has a value for each key");
  const { column, isDescending } = key;
  const isNull = { op: "null", column, values: [] } as const;
  if (value === null) return { op: "and", of: [isNull, toAfter(keys, rest)] };
  const term = { ...key, values: [value] };
  if (keys.length === 0) return { ...term, op: isDescending ? "lte" : "gte" };
  return {
    op: "or",
    of: [
      { ...term, op: isDescending ? "lt" : "gt" },
      { op: "and", of: [{ ...term, op: "eq" }, toAfter(keys, rest)] },
      ...(column.required ? [] : [isNull]),
    ],
  };
}
