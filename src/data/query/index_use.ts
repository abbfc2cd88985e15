/** Whether an index of the table serves a query: limits of time and advice depend on it. PostgreSQL chooses what it uses. Pure. @module */

import type { Person } from "../../principal.ts";
import { indexesOf, keysOf, type RecordedTable } from "../../tables/catalog/mod.ts";
import { type Condition, ID, type QueryColumn } from "./filter.ts";
import type { ListQuery, Relation } from "./list_query.ts";
import { findComparison, isPresent, readPrefix } from "./ranges.ts";
import { listOwnReferenced } from "./referenced_conditions.ts";
import { isRuled, isRuleIndexed } from "./rule_conditions.ts";

export type IndexUse = {
  /** Whether an index has the rows of the query in its order, and few others. */
  readonly isServed: boolean;
  /** Whether an index has the order, or narrows the rows. */
  readonly hasIndex: boolean;
  readonly isNarrowed: boolean;
  /** Whether an index has exactly the rows, in their order. */
  readonly isOrdered: boolean;
};

type Reader = { readonly appId: string; readonly person: Person | undefined };
type Asked = Pick<ListQuery, "where" | "order"> & Partial<Pick<ListQuery, "related">>;
type Index = { readonly columns: readonly QueryColumn[]; readonly isUnique: boolean };

const NONE: IndexUse = { isServed: false, hasIndex: false, isNarrowed: false, isOrdered: false };
const ALL: IndexUse = { isServed: true, hasIndex: true, isNarrowed: true, isOrdered: false };

export function findUse(query: Asked, table: RecordedTable, reader: Reader): IndexUse {
  const own = isRuled(table.definition, reader.person)
    ? { ...NONE, hasIndex: isRuleIndexed(table, reader.person) }
    : listIndexes(table, reader)
        .map((index) => useIndex(query, index))
        .reduce(toBetter, NONE);
  const sets = listOwnReferenced(query.where).map((set) =>
    findUse({ where: set.where, order: [] }, set.table, reader),
  );
  return [
    ...sets,
    ...(query.related ?? []).map((relation) => useOfRelated(relation, reader)),
  ].reduce(toWorse, own);
}

/** References have an index, so that rows are found by theirs, and children are at least few. */
export function useOfRelated(
  { table, column, children, related }: Relation,
  reader: Reader,
): IndexUse {
  const own =
    children === undefined || isRuled(table.definition, reader.person)
      ? ALL
      : findUse(
          { where: [{ op: "eq", column, values: [] }], order: children.order },
          table,
          reader,
        );
  return related.map((nested) => useOfRelated(nested, reader)).reduce(toWorse, own);
}

function toBetter(one: IndexUse, other: IndexUse): IndexUse {
  return {
    isServed: one.isServed || other.isServed,
    hasIndex: one.hasIndex || other.hasIndex,
    isNarrowed: one.isNarrowed || other.isNarrowed,
    isOrdered: one.isOrdered || other.isOrdered,
  };
}

function toWorse(one: IndexUse, other: IndexUse): IndexUse {
  return {
    isServed: one.isServed && other.isServed,
    hasIndex: one.hasIndex && other.hasIndex,
    isNarrowed: one.isNarrowed && other.isNarrowed,
    isOrdered: one.isOrdered && other.isOrdered,
  };
}

function listIndexes(
  { whole, definition }: Pick<RecordedTable, "whole" | "definition">,
  { appId }: Pick<Reader, "appId">,
): Index[] {
  const known = new Map([ID, ...definition.columns].map((column) => [column.name, column]));
  const declared = [...keysOf(whole), ...indexesOf(whole)].filter(
    (index) => (index.appId ?? appId) === appId,
  );
  return declared
    .map(({ kind, columns }): Index => {
      const isUnique = kind === "key";
      const names = isUnique || columns.includes(ID.name) ? columns : [...columns, ID.name];
      const found = names.map((name) => known.get(name));
      const end = found.indexOf(undefined);
      const usable = end === -1 ? found : found.slice(0, end);
      return {
        columns: usable.filter((column) => column !== undefined),
        isUnique: isUnique && end === -1,
      };
    })
    .concat({ columns: [ID], isUnique: true });
}

/** How an index with these columns, which end in the id unless they are unique, serves a query. */
export function useIndex({ where, order }: Asked, { columns, isUnique }: Index): IndexUse {
  // Of a unique index, several rows can have no value, in any order.
  const ops = isUnique ? ["eq"] : ["eq", "null"];
  const other = columns.findIndex((column) => findComparison(where, column, ops) === undefined);
  const fixed = other === -1 ? columns : columns.slice(0, other);
  const rest = columns.slice(fixed.length);
  const [next] = rest;
  if (isUnique && next === undefined) return ALL;
  const ids = columns[0]?.name === ID.name ? findComparison(where, ID, ["in"]) : undefined;
  if (ids !== undefined) return ALL;
  const ranges = next === undefined ? [] : where.filter((condition) => isRange(condition, next));
  const isNarrowed = fixed.length > 0 || ranges.length > 0;
  const isOrdered = order.length > 0 && isInOrder(order, rest, isUnique);
  // PostgreSQL sorts the rows with the same first value.
  const isStarted = next !== undefined && next.name === order[0]?.column.name;
  const isLeft = (condition: Condition) =>
    !ranges.includes(condition) &&
    !fixed.some((column) => findComparison([condition], column, ops) !== undefined) &&
    !(isOrdered && next !== undefined && isPresent([condition], next));
  const isWhole = order.length === 0 && isNarrowed;
  // A unique index lacks the rows without a value.
  const hasAll = !isUnique || next === undefined || next.required || isPresent(where, next);
  const isServed = hasAll && (isOrdered || isWhole) && !where.some(isLeft);
  // All rows have the order of their ids: it does not tell which of them to read.
  const hasOrder = (isOrdered || isStarted) && columns[0]?.name !== ID.name;
  return {
    isServed,
    hasIndex: isServed || isNarrowed || hasOrder,
    isNarrowed,
    isOrdered: isServed && isOrdered && !ranges.some(isList),
  };
}

/** Before PostgreSQL 17, an index has the rows of several values in no order. */
function isList({ op }: Condition): boolean {
  return op === "in" || op === "referenced";
}

/** Whether the columns have the order, down to the id. Rows without a value are last, and an index has them last only upwards. */
export function isInOrder(
  order: ListQuery["order"],
  columns: readonly QueryColumn[],
  isUnique: boolean,
): boolean {
  const keys = isUnique && columns.length === order.length - 1 ? order.slice(0, -1) : order;
  const isDescending = order[0]?.isDescending === true;
  return keys.every(
    (key, position) =>
      columns[position]?.name === key.column.name &&
      key.isDescending === isDescending &&
      (position === 0 || key.column.required || !isDescending),
  );
}

const RANGES = ["in", "lt", "lte", "gt", "gte", "null"];

function isRange(condition: Condition, column: QueryColumn): boolean {
  if (condition.op === "referenced") return condition.column.name === column.name;
  const pattern = findComparison([condition], column, ["like"])?.values[0];
  if (pattern !== undefined) return readPrefix(pattern).prefix !== "";
  return findComparison([condition], column, RANGES) !== undefined;
}

/** Whether an index has only the rows of the app: PostgreSQL uses it only for the id of the app itself. */
export function hasOwnIndex({ whole }: Pick<RecordedTable, "whole">, appId: string): boolean {
  return indexesOf(whole).some((index) => index.appId === appId);
}
