/**
 * Advice for queries that reach a limit. A declaration is only named if the planner, given a table with that index, would serve
 * the query. Pure.
 *
 * @module
 */

import { KINDS, SQL, VALUES } from "../../kinds/mod.ts";
import type { Person } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import { toDurationText } from "../../std/duration.ts";
import { MAX_VISITS } from "../../std/limits.ts";
import type { RecordedTable } from "../../tables/catalog/mod.ts";
import type { Comparison, Condition, QueryColumn } from "./filter.ts";
import type { PathOptions } from "./indexes.ts";
import { choosePath, isLookup, isUnindexed, type QueryPath } from "./path.ts";
import { explainWait, WHOLE_SET } from "./plan.ts";
import type { ListQuery, SortKey } from "./query.ts";
import { listReferenced, type ReferencedAt } from "./referenced.ts";
import { countSearched, isSearchable, isSortedByParts, toTerms } from "./terms.ts";
import { listColumns, listReads } from "./text_work.ts";

const LIST = new Intl.ListFormat("en", { type: "disjunction", style: "long" });
/** The kinds of columns that an index can search, in prose. */
const SEARCHABLE = LIST.format(KINDS.filter((kind) => SQL[kind].ends !== undefined)).replace(
  ", or ",
  " or ",
);
export const NARROW = `narrow the list with a condition on an indexed ${SEARCHABLE} column`;

type Limited = {
  readonly appId: string;
  /** Only indexes of the rows that this person reads help. */
  readonly person: Person | undefined;
  /** The indexes that are not built yet. */
  readonly missing: ReadonlySet<string>;
} & Exceeded;

/** The exceeded limit: `visits` or `text`, or of time. */
export type Exceeded = {
  readonly cut?: string | undefined;
  readonly limitMs?: number | undefined;
};

type Caller = Pick<Limited, "appId" | "person">;

/** What failed, why, and what serves the query: the declaration of an index, if one can. */
export function explainNeededIndex(
  query: ListQuery,
  table: RecordedTable,
  { cut, limitMs, missing, ...caller }: Limited,
): string {
  const { where, order, offset } = query;
  const keys = order.slice(0, -1);
  const few = describeLimit(query, table, { cut, limitMs });
  const wanted = findServing(query, table, caller);
  const needed = [wanted?.index, ...(wanted?.branches ?? []).map(({ index }) => index)];
  if (needed.some((index) => index !== undefined && missing.has(index)))
    return `Cannot list these rows now, because ${few} while an index is built: ${explainWait(listUsed(query))}`;
  const lookup = where.find(
    (condition): condition is Comparison =>
      condition.op === "eq" && !isSearchable(condition.column),
  );
  if (lookup !== undefined && isLookup(query, table, caller)) {
    const { name: column, kind } = lookup.column;
    return `Cannot find a row by ${column}, because ${few}, and no index supports a condition on a column of kind ${kind}: use the id or a unique ${SEARCHABLE} column, ${NARROW}, or read the pages of ${column}=in.(…) by after`;
  }
  const cure = findCure(query, table, caller);
  const action = offset > 0 ? "skip rows by offset" : "sort";
  const other = offset > 0 ? "continue with after, or narrow the list" : "or narrow the list";
  if (cure !== undefined) {
    const costs =
      cure.left.length === 0
        ? ""
        : `. Rows of that index are then compared one by one with ${describeConditions(cure.left)}, and a page can end early`;
    return `Cannot ${action} without an index, because ${few}: declare ${showIndex(cure.columns)}, ${other}${costs}`;
  }
  if (offset > 0)
    return `Cannot skip rows by offset, because ${few}${cut === "text" ? "" : explainOffset(query)}: ${other}`;
  const shorter = cut === "text" && hasTexts(where) ? ", or use fewer or shorter patterns" : "";
  return `${explainOrder(keys, order)}, and ${few}: ${NARROW}${shorter}`;
}

function listUsed({ where, order }: ListQuery): QueryColumn[] {
  return [...order, ...where].flatMap((part) => ("column" in part ? [part.column] : []));
}

export function describeLimit(
  { where, order }: Pick<ListQuery, "where" | "order">,
  { name }: Pick<RecordedTable, "name">,
  { cut, limitMs }: Exceeded,
): string {
  if (limitMs !== undefined)
    return `reading all rows of ${name} took longer than ${toDurationText(limitMs / 1000)}`;
  if (cut !== "text") return `more than ${MAX_VISITS} rows of ${name} would be read`;
  const reader = hasTexts(where) ? describeTexts(where) : describeSort(order);
  return `${reader} would compare too much text of ${name}`;
}

/** Why the rows of a reference cannot be found, and what finds them; `undefined` if the limit is one of the list itself. */
export function explainSet(
  where: readonly Condition[],
  { cut, ...limited }: Limited,
): Problem | undefined {
  const [, name, limit] = /^(.+) (visits|text)$/.exec(cut ?? "") ?? [];
  const found = listReferenced(where).find(({ path }) => path === name);
  return (
    found && new Problem("needs_index", { message: describeSet(found, { ...limited, cut: limit }) })
  );
}

function describeSet(
  { path, condition: { table, where } }: ReferencedAt,
  limited: Limited,
): string {
  return describeFound(where, table, {
    ...limited,
    action: `Cannot find the rows of ${path}`,
    narrow: `add a condition on ${path} that few rows of ${table.name} meet, or use ${path}=in.(…)`,
  });
}

/** Why the rows of a write cannot be found, and what finds them. */
export function explainWrite(
  where: readonly Condition[],
  table: RecordedTable,
  limited: Limited,
): string {
  return describeFound(where, table, {
    ...limited,
    action: "Nothing was written: cannot find the rows",
    narrow: "add a condition that few rows meet, or write a part of the rows with limit",
  });
}

function describeFound(
  where: readonly Condition[],
  table: RecordedTable,
  {
    cut,
    limitMs,
    missing,
    action,
    narrow,
    ...caller
  }: Limited & Record<"action" | "narrow", string>,
): string {
  const list = { ...WHOLE_SET, where, limit: 0 };
  const whole = choosePath(list, table, { ...caller, missing: new Set() });
  // PostgreSQL has read all rows for these: no index makes them fewer.
  const isTooMany = cut === "visits" && isUnindexed(whole);
  const few = isTooMany
    ? `more than ${MAX_VISITS} rows of ${table.name} meet the conditions`
    : describeLimit(list, table, { cut, limitMs });
  const needed = [whole.index, ...whole.branches.map(({ index }) => index)];
  if (needed.some((index) => index !== undefined && missing.has(index)))
    return `${action} now, because ${few} while an index is built: ${explainWait(listUsed(list))}`;
  const cure = isTooMany ? undefined : findSetCure(list, table, { ...caller, missing: new Set() });
  if (cure === undefined) return `${action}, because ${few}: ${narrow}`;
  return `${action} without an index, because ${few}: declare ${showIndex(cure)} on ${table.name}, or ${narrow}`;
}

/** The index whose values or range come from the most conditions, if these are more than now. */
function findSetCure(
  list: ListQuery,
  table: RecordedTable,
  options: PathOptions,
): readonly string[] | undefined {
  const count = (path: QueryPath) =>
    list.where.filter((condition) => isSearched(condition, path)).length;
  const columns = list.where.flatMap((condition) =>
    "column" in condition && isIndexable(condition.column) ? [condition.column] : [],
  );
  // After the parts of a decimal, no other column is searched.
  const equal = columns
    .filter(({ name }) =>
      list.where.some((condition) => condition.op === "eq" && condition.column.name === name),
    )
    .toSorted((a, b) => Number(isLast(a)) - Number(isLast(b)));
  const ends = [undefined, ...columns.filter((column) => !equal.includes(column))];
  const cures = ends.flatMap((end) => {
    const names = [
      ...new Set([...equal, ...(end === undefined ? [] : [end])].map(({ name }) => name)),
    ];
    if (names.length === 0) return [];
    const indexes = [...table.whole.indexes, names];
    const path = choosePath(list, { ...table, whole: { ...table.whole, indexes } }, options);
    return [{ names, searched: count(path) }];
  });
  const [best] = cures.toSorted((a, b) => b.searched - a.searched);
  const now = count(choosePath(list, table, options));
  return best !== undefined && best.searched > now ? best.names : undefined;
}

/** Whether the walk visits fewer rows because of the condition, also if they must be compared with it. */
function isSearched(condition: Condition, path: QueryPath): boolean {
  if (path.fulfilled.includes(condition)) return true;
  if ("of" in condition || !SEARCHED.includes(condition.op)) return false;
  const bounds = "in" in path ? [path.terms] : [path.start?.values, path.stop?.values];
  const length = Math.max(...bounds.map((values) => values?.length ?? 0));
  const searched = path.terms.slice(0, length);
  return searched.some(({ column }) => column.name === condition.column.name);
}

/** Operators that give an index values or a range. */
const SEARCHED: readonly Condition["op"][] = ["eq", "in", "lt", "lte", "gt", "gte", "like"];

function isLast(column: QueryColumn): boolean {
  const terms = toTerms(column);
  return countSearched(terms) < terms.length;
}

/** A path with which the query cannot reach a limit before its page has an end. */
function findServing(
  query: ListQuery,
  table: RecordedTable,
  caller: Caller,
): QueryPath | undefined {
  // Such a path must serve the query even if a condition is fulfilled by many rows.
  const path = choosePath(query, table, { ...caller, missing: new Set(), isUnselective: true });
  if (path.isSingle) return path;
  const skips = query.offset > 0 && findLeft(query, path).length > 0;
  return path.isOrdered && !skips && !isLookup(query, table, caller) ? path : undefined;
}

/** The conditions that each visited row is compared with. */
function findLeft({ where }: ListQuery, { fulfilled }: QueryPath): Condition[] {
  return where.filter((condition) => !fulfilled.includes(condition));
}

type Cure = { readonly columns: readonly string[]; readonly left: readonly Condition[] };

/** The index that serves the query with the fewest comparisons. */
function findCure(query: ListQuery, table: RecordedTable, caller: Caller): Cure | undefined {
  const cures = listCandidates(query).flatMap((columns): Cure[] => {
    const indexes = [...table.whole.indexes, columns];
    const path = findServing(query, { ...table, whole: { ...table.whole, indexes } }, caller);
    return path === undefined ? [] : [{ columns, left: findLeft(query, path) }];
  });
  return cures.toSorted((a, b) => a.left.length - b.left.length)[0];
}

const MAX_FIXED = 8;

/** Lists of columns to declare: columns with one value, or none, then the order. Only some need the id. */
function listCandidates({ where, order }: ListQuery): string[][] {
  const keys = order.map(({ column }) => column).filter(({ name }) => name !== "id");
  const of = (op: string) =>
    where.flatMap((condition) =>
      condition.op === op && "column" in condition ? [condition.column] : [],
    );
  const equal = of("eq").filter(({ name }) => name !== "id");
  const [searched, others] = [
    equal.filter(isSearchable),
    equal.filter((column) => !isSearchable(column)),
  ];
  const starts = [[...others, ...searched], searched, [], ...of("null").map((column) => [column])];
  const lists = starts
    .map((start) => [...start.slice(0, MAX_FIXED), ...keys])
    .filter((list) => list.length > 0 && list.every(isIndexable))
    .map((list) => [...new Set(list.map(({ name }) => name))]);
  return [...lists, ...lists.map((list) => [...list, "id"])];
}

function isIndexable({ kind }: QueryColumn): boolean {
  return VALUES[kind].unindexed === undefined;
}

function showIndex(columns: readonly string[]): string {
  return `.index(${columns.map((column) => JSON.stringify(column)).join(", ")})`;
}

/** Why no index has the order. */
function explainOrder(keys: readonly SortKey[], order: readonly SortKey[]): string {
  const unsearchable = keys.find(({ column }) => !isSearchable(column));
  if (unsearchable !== undefined) {
    const { name, kind } = unsearchable.column;
    return `No index supports sorting by ${name}, which is of kind ${kind}`;
  }
  if (order.some(({ isDescending }) => isDescending !== order[0]?.isDescending))
    return "No index supports sorting in two directions";
  const optional = keys.findLast(({ column }) => !column.required);
  return optional === undefined
    ? "No index supports this order"
    : `No index supports sorting by ${optional.column.name} after another column, because it is optional`;
}

/** The conditions for which rows must be read to skip them. */
function explainOffset({ where }: ListQuery): string {
  return where.length === 0
    ? ""
    : `, and each of them is compared with ${describeConditions(where)}`;
}

function describeConditions(where: readonly Condition[]): string {
  const names = [...new Set(where.flatMap(listColumns).map(({ name }) => name))];
  return `the ${where.length === 1 && names.length === 1 ? "condition" : "conditions"} on ${names.join(", ")}`;
}

function describeSort(keys: readonly SortKey[]): string {
  const texts = keys.filter(({ column }) => isSortedByParts(column));
  return `sorting by ${texts.map(({ column }) => column.name).join(", ")}`;
}

/** Advice for a query that was canceled at its time limit. */
export function explainTimeout({ where }: Pick<ListQuery, "where">, limitMs: number): string {
  const slow = hasTexts(where)
    ? `: ${describeTexts(where)} compare a text in each visited row`
    : "";
  return `The list took longer than ${toDurationText(limitMs / 1000)} and was canceled${slow}. To visit fewer rows, ${NARROW}`;
}

/** The same for a person whose rule has no index: no condition leads to fewer rows. */
export function explainRuleTimeout(limitMs: number): string {
  return `The request took longer than ${toDurationText(limitMs / 1000)} and was canceled: the app needs an index that begins with the columns that the rules of your role compare, and ends in the id`;
}

function hasTexts(where: readonly Condition[]): boolean {
  return where.some((condition) => listReads(condition).length > 0);
}

function describeTexts(where: readonly Condition[]): string {
  const names = where.flatMap(listReads).map(({ column }) => column.name);
  return `the conditions on ${[...new Set(names)].join(", ")}`;
}
