/** A query as arguments of its column set's function: columns by name, values by number, and the values. Pure. @module */

import { SQL } from "../../kinds/mod.ts";
import type { Person } from "../../principal.ts";
import { MAX_FOUND_IDS } from "../../std/limits.ts";
import { type RecordedTable, referenceColumns, setName } from "../../tables/catalog/mod.ts";
import { LIST_BYTES } from "../deps.ts";
import { type Comparison, type Condition, ID, type Referenced } from "./filter.ts";
import { findUse, hasOwnIndex, type IndexUse } from "./index_use.ts";
import type { ListQuery, Relation } from "./list_query.ts";
import { type SortTerm, type TermCondition, toParts, toPresence } from "./page_parts.ts";
import { readPrefix } from "./ranges.ts";
import { describeOrder } from "./read_list_query.ts";
import { type Term, toTerms, toTermValues } from "./terms.ts";

type Plan = readonly (string | number | boolean | Plan)[];

export type Planned = IndexUse & {
  /** The JSON argument of the function, as `rowhouse.find_rows` reads it. */
  readonly plan: string;
  readonly values: readonly string[];
};

export type FindOptions = {
  readonly appId: string;
  readonly person: Person | undefined;
  /** The most rows that a count has; absent: it is not counted. */
  readonly counted?: number | undefined;
  /** Max bytes of the related rows of each relation. */
  readonly bytes?: number | undefined;
};

/** The arguments of a page, or of a write: all rows that match, in any order without `order`. */
export function planFind(query: ListQuery, table: RecordedTable, options: FindOptions): Planned {
  const written = write(table, options, undefined, (writer) => ({
    ...toPage(query, table, { writer, bytes: options.bytes }),
    counted: options.counted,
  }));
  return toPlanned(written, query, table, options);
}

/** The arguments of groups; `grouped`: the names of what is grouped and computed. */
export function planGrouped(
  where: readonly Condition[],
  table: RecordedTable,
  { grouped, ...options }: FindOptions & { readonly grouped: object },
): Planned {
  const written = write(table, options, undefined, (writer) => ({
    ...writer.where(where),
    ...grouped,
  }));
  return toPlanned(written, { where, order: [] }, table, options);
}

/** All rows, in any order. */
export const WHOLE_SET = {
  ...{ order: [], select: [], related: [], after: undefined, offset: 0, isPlain: false },
} as const;

type Written = { readonly plan: object; readonly values: readonly string[] };

function toPlanned(
  { plan, values }: Written,
  query: Pick<ListQuery, "where" | "order">,
  table: RecordedTable,
  options: FindOptions,
): Planned {
  const { where, order } = query;
  const isOrdered = findUse({ where, order }, table, options).isOrdered || undefined;
  const text = JSON.stringify({ ...plan, isOrdered });
  return { ...findUse(query, table, options), plan: text, values };
}

/** A plan and its values, with the sets of ids that its conditions use, as `rowhouse.find_referenced` reads them. */
function write(
  table: RecordedTable,
  options: FindOptions,
  path: string | undefined,
  toPlan: (writer: Writer) => object,
): Written {
  const values: string[] = [];
  const sets: object[] = [];
  const writer = makeWriter({
    put: (value) => values.push(value),
    putSet: (condition) => {
      const at = values.push("");
      sets.push({ at, ...planSet(condition, options, path) });
      return at;
    },
  });
  const plan = { ...toPlan(writer), isOwn: hasOwnIndex(table, options.appId) || undefined };
  return { plan: { ...plan, sets: sets.length === 0 ? undefined : sets }, values };
}

/** The ids of the rows that meet the conditions on a reference. */
function planSet(
  { column, table, where }: Referenced,
  options: FindOptions,
  parent: string | undefined,
): object {
  const path = parent === undefined ? column.name : `${parent}.${column.name}`;
  const query = { ...WHOLE_SET, where, limit: MAX_FOUND_IDS };
  const written = write(table, options, path, (writer) => toPage(query, table, { writer }));
  return { of: setName(table.definition), path, ...written };
}

type Puts = {
  /** The number of a value. */
  readonly put: (value: string) => number;
  /** The number of the value that becomes the ids of the rows that meet a condition. */
  readonly putSet: (condition: Referenced) => number;
};

type Writer = ReturnType<typeof makeWriter>;

function makeWriter({ put, putSet }: Puts) {
  const putTerm = ({
    op,
    values,
    ...term
  }: Term & { op: string; values: readonly string[] }): Plan => {
    const positions = values.map(put);
    const ends = op === "in" ? [positions[0] ?? 0, positions.at(-1) ?? 0] : positions;
    return [op, nameOf(term), ...ends];
  };
  const toPlan = (condition: TermCondition): Plan => {
    if (condition.op === "row" && "terms" in condition)
      return ["row", condition.is, condition.terms.map(nameOf), condition.values.map(put)];
    if ("of" in condition) return [condition.op, ...condition.of.map(toPlan)];
    return putTerm(condition as Extract<TermCondition, Term>);
  };
  const toCondition = (condition: Condition): Plan => {
    if ("of" in condition) return [condition.op, ...condition.of.map(toCondition)];
    if (condition.op === "referenced") return ["set", condition.column.name, putSet(condition)];
    const searched = toSearched(condition);
    const exact = putTerm(condition);
    return searched.length === 0 ? exact : ["and", ...searched.map(toPlan), exact];
  };
  return {
    where: (where: readonly Condition[]) => ({
      where: where.length === 0 ? undefined : ["and", ...where.map(toCondition)],
    }),
    all: (where: readonly TermCondition[]) => ({
      where: where.length === 0 ? undefined : ["and", ...where.map(toPlan)],
    }),
    sort: (terms: readonly SortTerm[]) => ({
      sort:
        terms.length === 0
          ? undefined
          : terms.map((term) => [nameOf(term), term.isDescending, term.isNullsLast]),
    }),
  };
}

/** What an index of parts of values can search for a condition, whose rows the condition then compares. */
function toSearched({ op, column, values }: Comparison): TermCondition[] {
  const terms = toTerms(column);
  const [start] = terms;
  const parts = start?.part === undefined ? undefined : SQL[column.kind].parts;
  if (op === "null" && start?.part !== undefined) return [{ ...start, op, values: [] }];
  if (op === "in" && parts === undefined) return toPresence(column);
  if (start === undefined || parts === undefined) return [];
  const [value = ""] = values;
  switch (op) {
    case "eq":
      return toTermValues(column, value).flatMap((part, n) =>
        terms[n] === undefined ? [] : [{ ...terms[n], op, values: [part] }],
      );
    case "in":
      return [
        ...terms.map((term, n) => {
          return { ...term, op, values: values.map((each) => toTermValues(column, each)[n] ?? "") };
        }),
        ...toPresence(column),
      ];
    case "gt":
    case "gte":
      return [{ ...start, op: "gte", values: [parts.toLowest(value).value] }];
    case "lt":
    case "lte":
      return [{ ...start, op: "lte", values: [parts.toHighest(value).value] }];
    case "like": {
      const { prefix } = readPrefix(value);
      const range = prefix === "" ? undefined : parts.toPrefix?.(prefix);
      if (range === undefined) return [];
      return [
        { ...start, op: "gte", values: [range.lowest.value] },
        { ...start, op: "lte", values: [range.highest.value] },
      ];
    }
    default:
      return [];
  }
}

type PageOptions = { readonly writer: Writer; readonly bytes?: number | undefined };

function toPage(query: ListQuery, table: RecordedTable, { writer, bytes }: PageOptions) {
  const { where, order, select, limit, offset } = query;
  const [first] = order;
  return {
    ...{ limit, offset },
    ...writer.where(where),
    parts: toParts(query).map((part) => ({ ...writer.all(part.where), ...writer.sort(part.sort) })),
    byId: first?.column.name === ID.name ? (first.isDescending ? "desc" : "asc") : undefined,
    cursor: describeOrder(order),
    order: order.map(({ column }) => column.name),
    picked: select.map(({ name }) => name),
    related: planRelated(query.related, table, bytes),
  };
}

/** A column or a part of its values, as `rowhouse.sort_term` reads it. */
function nameOf({ column, part }: Term): string {
  return part === undefined ? column.name : `${column.name}.${part}`;
}

/** The relations as `rowhouse.find_related` reads them. */
export function planRelated(
  related: readonly Relation[],
  { definition }: Pick<RecordedTable, "definition">,
  bytes: number = LIST_BYTES,
): readonly object[] | undefined {
  if (related.length === 0) return undefined;
  const references = referenceColumns(definition).map(({ name }) => name);
  return related.map(({ name, table, column, select, related: nested, children }) => {
    const common = {
      ...{ set: setName(table.definition), name, picked: select.map((own) => own.name), bytes },
      related: planRelated(nested, table, bytes),
    };
    if (children === undefined) return { ...common, of: references.indexOf(column.name) + 1 };
    const sort = children.order.flatMap(({ column: key, isDescending }) =>
      toTerms(key).map((term) => [nameOf(term), isDescending, isDescending && !key.required]),
    );
    return { ...common, by: column.name, sort, limit: children.limit };
  });
}
