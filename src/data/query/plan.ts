/** A query as arguments of its column set's function: columns and values by number, and the values. Pure. @module */

import { SQL } from "../../kinds/mod.ts";
import { Problem } from "../../problem.ts";
import {
  type ColumnSet,
  functionName,
  queryColumns,
  type RecordedTable,
  referenceColumns,
} from "../../tables/catalog/mod.ts";
import { LIST_BYTES } from "../deps.ts";
import { type TermCondition, toAfterCondition, toSortTerms, toTie, toWalk } from "./after.ts";
import {
  type Comparison,
  type Condition,
  ID,
  QUERY_LIMITS,
  type QueryColumn,
  type Referenced,
} from "./filter.ts";
import type { PathOptions } from "./indexes.ts";
import { describeOrder } from "./list_query.ts";
import {
  type Bound,
  chooseChildren,
  choosePath,
  isLookup,
  isUnindexed,
  isWhole,
  type QueryPath,
} from "./path.ts";
import type { ListQuery, Relation } from "./query.ts";
import { listOwnReferenced } from "./referenced.ts";
import { isRuled, isSeen, toRuleConditions, withRule } from "./rule_conditions.ts";
import { isSortedByParts, searchedTerms, type Term, toTermValues } from "./terms.ts";
import {
  DIGEST_WORK,
  listColumns,
  listReads,
  sumReads,
  type TextRead,
  WHOLE_BYTES,
} from "./text_work.ts";

export type RelatedOptions = PathOptions & {
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
  readonly isUnindexed: boolean;
};

const PARTS: readonly Term["part"][] = ["start", "rest", "exact"];

type Numbers = readonly (string | number | Numbers)[];

export function planQuery(query: ListQuery, table: RecordedTable, options: PlanOptions): QueryPlan {
  const all = { ...options, table };
  return toQueryPlan(planBy(query, all));
}

function toQueryPlan({ plan, values, path, isUnindexed }: Planned): QueryPlan {
  const { index = path.branches[0]?.index, isSelective } = path;
  return { plan: JSON.stringify(plan), values, index, isSelective, isUnindexed };
}

/** False: PostgreSQL finds the rows in any order. True: a walk of the rows of the person's rule, in the order of ids. */
function mergeWalks(
  path: QueryPath,
  { table: { definition }, person }: Pick<TableOptions, "table" | "person">,
): boolean | undefined {
  if (isUnindexed(path)) return false;
  const hasRule = isRuled(definition, person) && !isSeen(definition, person, path.fulfilled);
  return (hasRule && !path.isSingle && isWhole(path)) || undefined;
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
  return toQueryPlan(planned);
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
  if (!options.isCounted || !path.isOrdered) return undefined;
  const whole = { ...WHOLE_SET, where, limit: 0 };
  const other = choosePath(whole, options.table, { ...options, isUnselective: false });
  if (!isRuled(options.table.definition, options.person) && isUnindexed(other))
    return toPlan(other, whole, options);
  // The database knows the membership of the page only.
  if (other.member !== undefined && path.member === undefined) return undefined;
  const [index, known] = [other, path].map((at) => at.index ?? at.branches[0]?.index);
  // Many ids of referenced rows are not searched one by one.
  const isSearched = "in" in other && other.in.op === "referenced";
  return index === undefined || index === known || isSearched
    ? undefined
    : toPlan(other, whole, options);
}

type SetOptions = Pick<
  PlanOptions,
  "appId" | "person" | "missing" | "isUnselective" | "work" | "set"
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
  /** Whether no index serves the query, or one that finds a set of its ids. */
  readonly isUnindexed: boolean;
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
  const found = referenced.map((condition) => planSet(condition, options));
  const sets = referenced.map((condition, index) => ({
    at: parts.positionOf(condition),
    ...found[index]?.set,
  }));
  const path = choosePath(query, table, options);
  const plan = { ...toPlan(path, parts), sets: sets.length === 0 ? undefined : sets };
  const isSlow = isUnindexed(path) || found.some((set) => set.isUnindexed);
  if (!("in" in path) || path.in.op !== "referenced")
    return { plan, values, path, isUnindexed: isSlow };
  // With many ids, another path is better than a search for each.
  const other = choosePath(query, table, { ...options, isUnselective: true });
  return {
    plan: { ...plan, most: MAX_SEARCHED, large: toPlan(other, parts) },
    ...{ values, path, isUnindexed: isSlow || isUnindexed(other) },
  };
}

function planSet(
  { column, table, where: asked }: Referenced,
  { appId, person, missing, visits, work, set: parent }: SetOptions,
) {
  const isNested = parent !== undefined;
  const where = withRule(asked, toRuleConditions(table.definition, person));
  const { plan, values, isUnindexed } = planBy(
    { ...WHOLE_SET, where, limit: visits },
    {
      ...{ appId, person, missing, table, visits, isCounted: false },
      // The sets of a query together have the work of a query.
      work: isNested ? work : Math.floor(work / QUERY_LIMITS.references),
      set: isNested ? `${parent}.${column.name}` : column.name,
    },
  );
  const call = functionName(table.definition, "find");
  return { set: { call, plan, values }, isUnindexed };
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
      member: path.member && [path.member.alternative, put(path.member.value)],
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
    const call = functionName(table.definition, children === undefined ? "related" : "children_of");
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
