/** A query as arguments of its column set's function: columns and values by number, and the values. Pure. @module */

import { SQL } from "../../kinds/mod.ts";
import type { Person } from "../../principal.ts";
import { Problem } from "../../problem.ts";
import {
  type ColumnSet,
  functionName,
  queryColumns,
  type RecordedTable,
  referenceColumns,
} from "../../tables/catalog/mod.ts";
import { LIST_BYTES } from "../deps.ts";
import {
  type Comparison,
  type Condition,
  ID,
  invalid,
  QUERY_LIMITS,
  type QueryColumn,
  type Referenced,
} from "./filter.ts";
import { describeOrder, UNREADABLE_CURSOR } from "./list_query.ts";
import {
  type Bound,
  chooseChildren,
  choosePath,
  chooseWhole,
  countSearched,
  isLookup,
  isWhole,
  type PathOptions,
  type QueryPath,
  searchedTerms,
  type Term,
  toTerms,
  toTermValues,
} from "./path.ts";
import type { ListQuery, Relation, SortKey } from "./query.ts";
import { listOwnReferenced } from "./referenced.ts";
import { isSeen, toRuleConditions, withRule } from "./rule_conditions.ts";

// The work of comparing texts, which no number of rows bounds: a row can have a text of megabytes,
// and a pattern can compare each character many times. A unit is about the work to read one byte of
// a text: 1 to 3 ns. Pure.

/** A text that a condition reads in each visited row. */
type TextRead = {
  readonly column: QueryColumn;
  /** Units for each byte. */
  readonly work: number;
  readonly maxBytes: number;
  /** Whether the walk reads the text in each visited row, also in rows that do not match. */
  readonly isWalked?: boolean;
};

/** Max work of a query: enough for a pattern over a KB of text in each of 10,000 rows; 0.2 to 0.5 s. */
export const MAX_WORK = 134_217_728;

const WHOLE_BYTES = 2 ** 30;
/** The work of `in`, which hashes the text. */
const HASH_WORK = 2;
/** The work of the MD5 of a text, which tells apart texts with the same start in an order. */
const DIGEST_WORK = 1;
/** The work of `ilike`, a regular expression: the same for every pattern. */
const EXPRESSION_WORK = 12;
/** The work of starting a comparison at a character of a text, as PostgreSQL does where the first character is equal. */
const START_WORK = 4;

export function listReads(condition: Condition): TextRead[] {
  if ("of" in condition) return condition.of.flatMap(listReads);
  const { op, column, values } = condition;
  if (column.kind !== "string" || op === "null" || op === "referenced") return [];
  const read = (work: number, maxBytes = WHOLE_BYTES) => [{ column, work, maxBytes }];
  switch (op) {
    case "eq":
    case "neq":
      // PostgreSQL reads only texts of the same length.
      return read(1, Buffer.byteLength(values[0] ?? ""));
    case "in":
      return read(HASH_WORK);
    case "like":
      return read(1 + countPatternWork(values[0] ?? ""));
    case "ilike":
      return read(EXPRESSION_WORK);
    case "lt":
    case "lte":
    case "gt":
    case "gte":
      return read(1);
  }
}

export function listColumns(condition: Condition): QueryColumn[] {
  return "of" in condition ? condition.of.flatMap(listColumns) : [condition.column];
}

/** The most work of `like` for a byte of any text. Each part between two wildcards is searched after the previous part. */
function countPatternWork(pattern: string): number {
  const tokens = pattern.match(/%|(?:[^%\\]|\\.)+/gsu) ?? [];
  const searched = tokens.filter((token, position) => position > 0 && token !== "%");
  return Math.max(0, ...searched.map((part) => START_WORK + countOverlaps(part)));
}

/**
 * How many comparisons can be in progress at one character of a text, one for each earlier character at which the part could
 * start: 1 for "milk", 50 for 50 times "a".
 *
 * @see https://en.wikipedia.org/wiki/Knuth–Morris–Pratt_algorithm
 */
function countOverlaps(part: string): number {
  const characters = [...part];
  const borders = [0];
  const overlaps = [0, 1];
  let border = 0;
  for (let position = 1; position < characters.length; position++) {
    while (border > 0 && characters[border] !== characters[position])
      border = borders[border - 1] ?? 0;
    if (characters[border] === characters[position]) border++;
    borders.push(border);
    overlaps.push(1 + (overlaps[border] ?? 0));
  }
  return Math.max(...overlaps);
}

export type RelatedOptions = PathOptions & {
  readonly person?: Person | undefined;
  /** Max bytes of the related rows of each relation. */
  readonly bytes?: number;
};

type PlanOptions = RelatedOptions & {
  readonly visits: number;
  /** Max work of comparing texts; the count has the same again. */
  readonly work: number;
  readonly isCounted: boolean;
  /** Max rows that the count visits; without it, those of the page. */
  readonly counted?: number;
  /** The path of the reference whose rows are found, of a set of ids. */
  readonly set?: string;
};

type QueryPlan = {
  /** The JSON argument of `rowhouse.query_statement`. */
  readonly plan: string;
  readonly values: readonly string[];
  readonly index: string | undefined;
  /** Whether another path visits more rows, but can end a page early. */
  readonly isSelective: boolean;
  /** Whether the rows of the person's rule can be fewer than those of the path. */
  readonly canMerge: boolean;
};

const PARTS: readonly Term["part"][] = ["start", "rest", "exact"];

type Numbers = readonly (string | number | Numbers)[];

export function planQuery(query: ListQuery, table: RecordedTable, options: PlanOptions): QueryPlan {
  const all = { ...options, table };
  return toQueryPlan(planBy(query, all), all);
}

function toQueryPlan({ plan, values, path }: Planned, options: TableOptions): QueryPlan {
  const { index = path.branches[0]?.index, isSelective } = path;
  const canMerge = !isWhole(path) && hasRule(path, options);
  return { plan: JSON.stringify(plan), values, index, isSelective, canMerge };
}

/** Whether the person sees only some of the rows of the walk. */
export function hasRule(
  { fulfilled }: QueryPath,
  { table: { definition }, person }: Pick<TableOptions, "table" | "person">,
): boolean {
  return person !== undefined && !isSeen(definition, person, fulfilled);
}

/** Whether the walk is of the rows of the person's rule, with true in the order of ids. */
export function mergeWalks(
  path: QueryPath,
  options: Pick<TableOptions, "table" | "person">,
): boolean | undefined {
  return isWhole(path) && hasRule(path, options) ? path.isOrdered : undefined;
}

/** The plan of a write, with `again`: the plan of the same conditions on locked rows, whose ids the function sets. */
export function planWrite(query: ListQuery, table: RecordedTable, options: PlanOptions): QueryPlan {
  const planned = planSets(
    query,
    { ...options, table },
    {
      toPlan: (path, parts) => {
        const all = { ...options, table, ...parts };
        return { ...toPlan(path, query, all), again: toPlan(LOCKED, query, all) };
      },
    },
  );
  return toQueryPlan(planned, { ...options, table });
}

/** The rows with given ids. */
const LOCKED: QueryPath = {
  ...{ index: undefined, branches: [], covered: undefined, terms: [{ column: ID }], fixed: [] },
  ...{ keys: [{ column: ID, isDescending: false }], isOrdered: true, isDescending: false },
  ...{ nulls: undefined, fulfilled: [], isSelective: false, isSingle: false },
  in: { op: "in", column: ID, values: [] },
};

type TableOptions = PlanOptions & { readonly table: RecordedTable };

function planBy(query: ListQuery, options: TableOptions): Planned {
  return planSets(query, options, {
    toPlan: (path, parts) => ({
      ...toPlan(path, query, { ...options, ...parts }),
      total: planTotal(path, query, { ...options, ...parts }),
    }),
  });
}

/** The plan of a count, if another path than the page's visits fewer rows: a walk in the order of the page can visit all rows. */
function planTotal(path: QueryPath, { where }: ListQuery, options: TableOptions & SetParts) {
  if (!options.isCounted || !path.isOrdered || options.isMerged === true) return undefined;
  const whole = { ...WHOLE_SET, where, limit: 0 };
  const other = choosePath(whole, options.table, { ...options, isUnselective: false });
  const [index, known] = [other, path].map((at) => at.index ?? at.branches[0]?.index);
  // Many ids of referenced rows are not searched one by one.
  const isSearched = "in" in other && other.in.op === "referenced";
  return index === undefined || index === known || isSearched
    ? undefined
    : toPlan(other, whole, options);
}

type SetOptions = Pick<
  PlanOptions,
  "appId" | "person" | "missing" | "isUnselective" | "isMerged" | "work" | "set"
> & {
  readonly table: RecordedTable;
  /** Max rows that are visited to find the rows of a reference. */
  readonly visits: number;
};
export type SetParts = {
  readonly put: (value: string) => number;
  /** The value that becomes the ids of the rows that meet a condition. */
  readonly positionOf: (condition: Referenced) => number;
};

type Planned = {
  readonly plan: object;
  readonly values: readonly string[];
  readonly path: QueryPath;
};

/** A plan and its values, with the sets of ids that its conditions use, as `rowhouse.fill_sets` reads them. */
export function planSets(
  query: ListQuery,
  options: SetOptions,
  { toPlan }: { toPlan: (path: QueryPath, parts: SetParts) => object },
): Planned {
  const { table } = options;
  const values: string[] = [];
  const put = (value: string) => values.push(value);
  const referenced = listOwnReferenced(query.where);
  const positions = new Map(referenced.map((condition) => [condition, put("")]));
  const parts = { put, positionOf: (condition: Referenced) => positions.get(condition) ?? 0 };
  const sets = referenced.map((condition) => ({
    at: parts.positionOf(condition),
    ...planSet(condition, options),
  }));
  const path = options.isMerged === true ? chooseWhole(query) : choosePath(query, table, options);
  const plan = { ...toPlan(path, parts), sets: sets.length === 0 ? undefined : sets };
  if (!("in" in path) || path.in.op !== "referenced") return { plan, values, path };
  // With many ids, another path is better than a search for each.
  const other = choosePath(query, table, { ...options, isUnselective: true });
  return { plan: { ...plan, most: MAX_SEARCHED, large: toPlan(other, parts) }, values, path };
}

function planSet(
  { column, table, where: asked }: Referenced,
  { appId, person, missing, visits, work, set: parent }: SetOptions,
) {
  const isNested = parent !== undefined;
  const where = withRule(asked, toRuleConditions(table.definition, person));
  const { plan, values } = planBy(
    { ...WHOLE_SET, where, limit: visits },
    {
      ...{ appId, person, missing, table, visits, isCounted: false },
      // The sets of a query together have the work of a query.
      work: isNested ? work : Math.floor(work / QUERY_LIMITS.references),
      set: isNested ? `${parent}.${column.name}` : column.name,
    },
  );
  return { call: functionName(table.definition, "query"), plan, values };
}

const MAX_SEARCHED = 100;

/** All rows, in any order. */
export const WHOLE_SET = {
  ...{ order: [], select: [], related: [], after: undefined, offset: 0, isPlain: false },
} as const;

/** How every plan finds rows: the walk and the conditions on its rows, those that read texts apart. */
export function planRows(
  path: QueryPath,
  where: readonly Condition[],
  options: Pick<PlanOptions, "visits" | "work" | "person"> &
    SetParts & { readonly table: RecordedTable },
) {
  const { table, put, positionOf, visits, work } = options;
  const { numberOf, numberOfTerm } = numberColumns(table.definition);
  const bound = ({ op, values: list }: Bound) => ({ op, values: list.map(put) });
  const numbers = (condition: TermCondition): Numbers => {
    if ("of" in condition) return [condition.op, ...condition.of.map(numbers)];
    if (condition.op === "referenced")
      return ["set", numberOf(condition.column), positionOf(condition)];
    const { op } = condition;
    const positions = condition.values.map(put);
    const ends = op === "in" ? [positions[0] ?? 0, positions.at(-1) ?? 0] : positions;
    return [op, numberOfTerm(condition), ...ends];
  };
  const all = (conditions: readonly Condition[]) =>
    conditions.length === 0 ? undefined : numbers({ op: "and", of: conditions });
  const left = where.filter((condition) => !path.fulfilled.includes(condition));
  const texts = left.filter((condition) => listReads(condition).length > 0);
  return {
    ...{ numberOf, numberOfTerm, bound, numbers, left },
    rows: {
      ...{ visits, work },
      walk: path.terms.map(numberOfTerm),
      isDescending: path.isDescending,
      index: path.index,
      merged: mergeWalks(path, options),
      ...toBranches(path, numberOf),
      nulls: path.nulls,
      ...("in" in path
        ? { in: putSet(path.in, { put, positionOf }) }
        : { start: path.start && bound(path.start), stop: path.stop && bound(path.stop) }),
      filter: all(left.filter((condition) => !texts.includes(condition))),
    },
    /** The texts that are read, `more` besides those of conditions, and the columns whose values are passed on. */
    toTexts: (more: readonly TextRead[], passed: readonly QueryColumn[]) => {
      const reads = sumReads([...texts.flatMap(listReads), ...more]).map(
        ({ column, work, maxBytes, isWalked = false }) => [
          ...[numberOf(column), work, maxBytes],
          isWalked,
        ],
      );
      return {
        passed: [...new Set([...texts.flatMap(listColumns), ...passed].map(numberOf))],
        text: reads.length === 0 ? undefined : { filter: all(texts), reads },
      };
    },
  };
}

function toPlan(path: QueryPath, query: ListQuery, options: TableOptions & SetParts) {
  const { table } = options;
  const { order, after, select, limit, offset } = query;
  const { rows, left, numberOf, numberOfTerm, bound, numbers, toTexts } = planRows(
    path,
    query.where,
    options,
  );
  const { isExact, ...walk } = path.isOrdered ? toWalk(path, after, bound) : { isExact: true };
  const tie =
    path.isOrdered && after !== undefined ? toTie(path, { ...query, after }, isExact) : undefined;
  // A sort by texts reads each longer text, and so does a walk in their order. Without other conditions, the page limits it.
  const sorted = path.isOrdered ? (left.length === 0 && isExact ? [] : path.keys) : order;
  const isWalked = path.isOrdered;
  const read = sorted
    .map(({ column }) => ({ column, work: DIGEST_WORK, maxBytes: WHOLE_BYTES, isWalked }))
    .filter(({ column }) => isSortedByParts(column));
  return {
    ...{ limit, offset, ...rows },
    cursor: describeOrder(order),
    order: order.map(({ column }) => numberOf(column)),
    picked: select.map(numberOf),
    related: planRelated(query.related, table, options),
    isBeforeNulls: path.isBeforeNulls || undefined,
    ...toTexts(read, path.isOrdered ? [] : order.map(({ column }) => column)),
    isCounted: options.isCounted || undefined,
    counted: options.counted,
    // A page that begins among more equal starts than visits would be empty, and so would all later ones.
    isLookup: isLookup(query, table, options) || !isExact || undefined,
    set: options.set,
    ...(path.isOrdered || order.length === 0
      ? { ...walk, tie: tie && numbers(tie) }
      : {
          sort: order.flatMap(toSortTerms).map((term) => [numberOfTerm(term), term.isDescending]),
          after: after && numbers(toAfterCondition(order, after)),
        }),
  };
}

/** The indexes of a walk by the values of an enum. */
function toBranches({ branches, covered }: QueryPath, numberOf: (column: QueryColumn) => number) {
  return {
    branches:
      branches.length === 0
        ? undefined
        : branches.map(({ index, only }) => [
            index,
            ...only.map(({ op, column, label }) => [
              ...[op, numberOf(column)],
              ...(label === undefined ? [] : [label]),
            ]),
          ]),
    covered: covered && numberOf(covered),
  };
}

/** The numbers of columns, and of the parts of their texts. */
function numberColumns(set: ColumnSet) {
  const names = queryColumns(set).map(({ name }) => name);
  const numberOf = ({ name }: QueryColumn) => names.indexOf(name) + 1;
  const numberOfTerm = ({ column, part }: Term) =>
    numberOf(column) + (part === undefined ? 0 : (1 + PARTS.indexOf(part)) * names.length);
  return { numberOf, numberOfTerm };
}

/** The relations as `rowhouse.related_members` reads them. @throws {Problem} needs_index — an index is not built yet */
export function planRelated(
  related: readonly Relation[],
  { definition }: Pick<RecordedTable, "definition">,
  options: RelatedOptions,
): readonly object[] | undefined {
  if (related.length === 0) return undefined;
  const references = referenceColumns(definition).map(({ name }) => name);
  return related.map(({ name, table, column, select, related: nested, children }) => {
    const { numberOf, numberOfTerm } = numberColumns(table.definition);
    const call = functionName(table.definition, children === undefined ? "related" : "children");
    const common = {
      ...{ call, name, picked: select.map(numberOf), bytes: options.bytes ?? LIST_BYTES },
      related: planRelated(nested, table, options),
    };
    if (children === undefined) return { ...common, of: references.indexOf(column.name) + 1 };
    const path = chooseChildren({ table, column }, children, options);
    if (path === undefined)
      throw new Problem("needs_index", {
        message: `Cannot list ${table.name} now, because its index is built: ${explainWait(children.order.map((key) => key.column))}`,
      });
    const { index, terms, isDescending, nulls } = path;
    return {
      ...common,
      ...{ walk: terms.map(numberOfTerm), index, isDescending, nulls, limit: children.limit },
    };
  });
}

/** What serves a request once an index of these columns is built: only an operator adds keys to a large or shared table. */
export function explainWait(columns: readonly QueryColumn[]): string {
  const needsKeys = columns.some(({ kind }) => SQL[kind].parts?.key !== undefined);
  return `try again later${needsKeys ? ", after an operator has run rowhouse admin build-keys if it is due" : ""}`;
}

/** The first and the last value of each term of a list, or the value that becomes ids. */
function putSet(
  condition: Comparison | Referenced,
  { put, positionOf }: SetParts,
): (readonly number[])[] {
  if (condition.op === "referenced") return [[positionOf(condition)]];
  const { column, values } = condition;
  const lists = values.map((value) => toTermValues(column, value));
  return searchedTerms(column).map((_, term) => {
    const positions = lists.map((list) => put(list[term] ?? ""));
    return [positions[0] ?? 0, positions.at(-1) ?? 0];
  });
}

/** One read for each column, length and reader. */
function sumReads(reads: readonly TextRead[]): TextRead[] {
  const groups = Map.groupBy(
    reads,
    ({ column, maxBytes, isWalked = false }) => `${maxBytes} ${isWalked} ${column.name}`,
  );
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined
      ? []
      : [{ ...first, work: others.reduce((sum, { work }) => sum + work, first.work) }],
  );
}

/**
 * Where a walk continues: at the values of its terms in the first row of the page. If not all of them can be searched, it begins
 * before that row.
 *
 * @throws {Problem} invalid_query
 */
function toWalk(
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

export function toCursorValues(column: QueryColumn, value: string): readonly string[] {
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
function toTie(
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
type TermCondition =
  | (Term & { readonly op: Comparison["op"]; readonly values: readonly string[] })
  | Referenced
  | { readonly op: "and" | "or"; readonly of: readonly TermCondition[] }
  | { readonly op: "not"; readonly of: readonly [TermCondition] };

function toSortTerms({ column, isDescending }: SortKey): SortTerm[] {
  const terms = isSortedByParts(column) ? toTerms(column) : [{ column }];
  return terms.map((term) => ({ ...term, isDescending }));
}

/** Whether a list without an index is sorted by the parts of this column. */
export function isSortedByParts({ kind }: QueryColumn): boolean {
  return SQL[kind].parts?.isSorted === true;
}

function toAfterCondition(
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
