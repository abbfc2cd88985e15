/** Operators of conditions, as requests name them and as the Console offers them. @module */

/** Operators with a value, in the order of messages. */
export const OPERATORS = ["eq", "neq", "lt", "lte", "gt", "gte", "like", "ilike", "in"] as const;
export type Operator = (typeof OPERATORS)[number];

/** Values computed from a column of several rows, in the order of responses. */
export const AGGREGATES = ["sum", "avg", "min", "max"] as const;
export type Aggregate = (typeof AGGREGATES)[number];
/** The operators of kinds without an order, and of ordered kinds. */
export const EQUAL: readonly Operator[] = ["eq", "neq", "in"];
export const ORDERED: readonly Operator[] = ["eq", "neq", "in", "lt", "lte", "gt", "gte"];

export type SearchOperator = Exclude<Operator, "like" | "ilike"> | "contains" | "starts";
export const SEARCHED_BY_ORDER: readonly SearchOperator[] = ["eq", "neq", "lt", "lte", "gt", "gte"];
