/**
 * What the conditions of a query say about a column: its value, whether it has one, and the range that an index can search. Pure.
 *
 * @module
 */

import { type SearchParts, SQL } from "../../kinds/mod.ts";
import type { Comparison, Condition, QueryColumn } from "./filter.ts";
import { compareTerms, toTerms } from "./terms.ts";

export function findComparison(
  where: readonly Condition[],
  column: Pick<QueryColumn, "name">,
  ops: readonly string[],
): Comparison | undefined {
  return where.find(isComparisonOf(column, ops));
}

function isComparisonOf({ name }: Pick<QueryColumn, "name">, ops: readonly string[]) {
  return (condition: Condition): condition is Comparison =>
    "column" in condition && ops.includes(condition.op) && condition.column.name === name;
}

const ABOUT_VALUES = ["eq", "neq", "lt", "lte", "gt", "gte", "like", "ilike", "in"];

export function isPresent(where: readonly Condition[], column: QueryColumn): boolean {
  if (findComparison(where, column, ABOUT_VALUES) !== undefined) return true;
  return where.some(
    ({ op, ...condition }) =>
      op === "not" &&
      "of" in condition &&
      findComparison(condition.of, column, ["null"]) !== undefined,
  );
}

/** An end of a range, as a value of the first term of its column. */
export type End = {
  readonly op: Comparison["op"];
  readonly value: string;
  /** The condition, if exactly the rows within the range fulfill it. */
  readonly fulfilled: Condition | undefined;
};
type Ends = { readonly lower: End | undefined; readonly upper: End | undefined };

/** The ends of the range in which the rows fulfill all conditions that an index can search. */
export function findEdges(where: readonly Condition[], column: QueryColumn): Ends {
  const { parts } = SQL[column.kind];
  const pattern = parts?.toPrefix && findPrefix(where, column);
  const prefix = pattern && parts?.toPrefix?.(pattern.prefix);
  const fulfilled = prefix?.lowest.isExact && pattern?.isWhole ? pattern.condition : undefined;
  const toEnds = (
    ops: readonly string[],
    op: "gte" | "lte",
    toStart: SearchParts["toLowest"] = (value) => ({ value, isExact: true }),
  ): End[] =>
    where.filter(isComparisonOf(column, ops)).flatMap((condition) =>
      condition.values.map((value) => {
        const start = toStart(value);
        return start.isExact
          ? { op: condition.op, value, fulfilled: condition }
          : { op, value: start.value, fulfilled: undefined };
      }),
    );
  const toPrefixEnd = (op: "gte" | "lte", value: string | undefined): End[] =>
    value === undefined ? [] : [{ op, value, fulfilled }];
  const [term = { column }] = toTerms(column);
  const tighten = (ends: readonly End[], sign: 1 | -1): End | undefined => {
    const isStrict = ({ op }: End) => Number(op === "gt" || op === "lt");
    const compare = (a: End, b: End) =>
      sign * compareTerms(term, b.value, a.value) || isStrict(b) - isStrict(a);
    return ends.toSorted(compare)[0];
  };
  return {
    lower: tighten(
      [
        ...toPrefixEnd("gte", prefix?.lowest.value),
        ...toEnds(["gt", "gte"], "gte", parts?.toLowest),
      ],
      1,
    ),
    upper: tighten(
      [
        ...toPrefixEnd("lte", prefix?.highest.value),
        ...toEnds(["lt", "lte"], "lte", parts?.toHighest),
      ],
      -1,
    ),
  };
}

/** A pattern that begins with a text, and whether it is only that text and `*`. */
function findPrefix(where: readonly Condition[], column: QueryColumn) {
  const condition = findComparison(where, column, ["like"]);
  const { prefix, isWhole } = readPrefix(condition?.values[0] ?? "");
  return condition === undefined || prefix === "" ? undefined : { condition, prefix, isWhole };
}

/** The text with which all texts of a pattern begin, and whether these are all that begin with it. */
export function readPrefix(pattern: string): { prefix: string; isWhole: boolean } {
  const [start = ""] = /^(?:[^\\%]|\\.)*/su.exec(pattern) ?? [];
  const prefix = start.replaceAll(/\\(.)/gsu, "$1");
  return { prefix, isWhole: pattern.slice(start.length) === "%" };
}
