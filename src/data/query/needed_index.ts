/** Advice for queries that reach a limit. A declaration is only named if an index of it would serve the query. Pure. @module */

import { KINDS, VALUES } from "../../kinds/mod.ts";
import type { Person } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import { toDurationText } from "../../std/duration.ts";
import { MAX_FOUND_IDS } from "../../std/limits.ts";
import { type RecordedTable, TOO_MANY_REFERENCED } from "../../tables/catalog/mod.ts";
import { type Condition, ID, type QueryColumn } from "./filter.ts";
import { findUse, type IndexUse, useIndex } from "./index_use.ts";
import type { ListQuery } from "./list_query.ts";
import { listReferenced } from "./referenced_conditions.ts";
import { isRuled } from "./rule_conditions.ts";

const LIST = new Intl.ListFormat("en", { type: "disjunction", style: "long" });
/** The kinds of columns that an index can contain, in prose. */
const INDEXABLE = LIST.format(KINDS.filter((kind) => VALUES[kind].unindexed === undefined)).replace(
  ", or ",
  " or ",
);
export const NARROW = `narrow the list with a condition on an indexed ${INDEXABLE} column`;

type Reader = { readonly appId: string; readonly person: Person | undefined };
/** `reason`: why the query did not run to its end. */
type Ended = Reader & { readonly reason: string };
type Asked = Pick<ListQuery, "where" | "order" | "offset">;

/** Why a query ended, and what serves it: the declaration of an index, if one can. */
export function explainNeededIndex(
  query: Asked,
  table: RecordedTable,
  { reason, ...reader }: Ended,
): string {
  const isSorted = query.order.some(({ column }) => column.name !== ID.name);
  const isSkipped = query.offset > 0;
  const action = isSkipped ? "skip rows by offset" : isSorted ? "sort" : "find these rows";
  const other = isSkipped ? "continue with after, or narrow the list" : "or narrow the list";
  const cure = findCure(query, table, reader);
  return cure === undefined
    ? `Cannot ${action}, because ${reason}: ${isSkipped ? other : NARROW}`
    : `Cannot ${action} without an index, because ${reason}: declare ${showIndex(cure)}, ${other}`;
}

/** The same for a write. */
export function explainWrite(
  where: readonly Condition[],
  table: RecordedTable,
  { reason, ...reader }: Ended,
): string {
  const cure = findCure({ where, order: [] }, table, reader);
  const declare = cure === undefined ? "" : `declare ${showIndex(cure)} on ${table.name}, or `;
  return `Nothing was written: cannot find the rows${cure === undefined ? "" : " without an index"}, because ${reason}: ${declare}add a condition that few rows meet, or write a part of the rows with limit`;
}

export function describeTime({ name }: Pick<RecordedTable, "name">, limitMs: number): string {
  return `reading the rows of ${name} took longer than ${toDurationText(limitMs / 1000)}`;
}

/** A condition that too many referenced rows meet, by the detail of the error. */
export function explainSet(
  where: readonly Condition[],
  detail: string | undefined,
): Problem | undefined {
  const found = listReferenced(where).find(
    (referenced) => `${TOO_MANY_REFERENCED}${referenced.path}` === detail,
  );
  if (found === undefined) return undefined;
  const { path } = found;
  const { name } = found.condition.table;
  return new Problem("needs_index", {
    message: `Cannot find the rows of ${path}, because more than ${MAX_FOUND_IDS} rows of ${name} meet the conditions: add a condition on ${path} that few rows of ${name} meet, or use ${path}=in.(…)`,
  });
}

/** The columns of the index that serves the query, or that narrows or orders its rows, if no index does. */
function findCure(
  query: Pick<Asked, "where" | "order">,
  table: RecordedTable,
  reader: Reader,
): readonly string[] | undefined {
  // Only indexes of the rule lead to the rows that a person sees.
  if (isRuled(table.definition, reader.person)) return undefined;
  const now = rank(findUse({ ...query, where: query.where.filter(isOwn) }, table, reader));
  const cures = listCandidates(query).map((columns) => {
    const index = columns.some(({ name }) => name === ID.name) ? columns : [...columns, ID];
    return { columns, rank: rank(useIndex(query, { columns: index, isUnique: false })) };
  });
  const [best] = cures.toSorted((a, b) => b.rank - a.rank || a.columns.length - b.columns.length);
  return best !== undefined && best.rank > now ? best.columns.map(({ name }) => name) : undefined;
}

function isOwn({ op }: Condition): boolean {
  return op !== "referenced";
}

function rank({ isServed, isNarrowed, hasIndex }: IndexUse): number {
  if (isServed) return 3;
  return isNarrowed ? 2 : Number(hasIndex);
}

const MAX_FIXED = 8;
const RANGES = ["gt", "gte", "lt", "lte", "like", "in"];

/** Lists of columns to declare: columns with one value, then those of the order, or one with a range. */
function listCandidates({ where, order }: Pick<Asked, "where" | "order">): QueryColumn[][] {
  const of = (ops: readonly string[]) =>
    where.flatMap((condition) =>
      ops.includes(condition.op) && "column" in condition && condition.column.name !== ID.name
        ? [condition.column]
        : [],
    );
  const keys = order.map(({ column }) => column).filter(({ name }) => name !== ID.name);
  const equal = of(["eq", "null"]).filter(isIndexable).slice(0, MAX_FIXED);
  const ends = [keys, keys.slice(0, 1), ...of(RANGES).map((column) => [column]), []];
  return ends
    .map((end) => [...new Map([...equal, ...end].map((column) => [column.name, column])).values()])
    .filter((columns) => columns.length > 0 && columns.every(isIndexable));
}

function isIndexable({ kind }: QueryColumn): boolean {
  return VALUES[kind].unindexed === undefined;
}

function showIndex(columns: readonly string[]): string {
  return `.index(${columns.map((column) => JSON.stringify(column)).join(", ")})`;
}

/** Advice for a query that was canceled although an index serves it. */
export function explainTimeout(limitMs: number): string {
  return `The list took longer than ${toDurationText(limitMs / 1000)} and was canceled. To read fewer rows, ${NARROW}`;
}

/** The same for a person whose rule has no index: no condition leads to fewer rows. */
export function explainRule(reason: string): string {
  return `${reason}: the app needs an index that begins with the columns that the rules of your role compare, and ends in the id`;
}
