/** The terms by which an index is searched and sorted: columns, and parts of their values. Pure. @module */

import { COMPARES, type Comparable, compareValues, isText, SQL, VALUES } from "../../kinds/mod.ts";
import type { QueryColumn } from "./filter.ts";

/** A column, or a part of its values, by which an index is searched and sorted. */
export type Term = { readonly column: QueryColumn; readonly part?: "start" | "rest" | "exact" };

/** A column as an index contains it. */
export function toTerms(column: QueryColumn): Term[] {
  const { parts } = SQL[column.kind];
  if (parts === undefined) return [{ column }];
  const start = { column, part: "start" } as const;
  return parts.rest === undefined ? [start] : [start, { column, part: "rest" }];
}

export function toTermValues({ kind }: QueryColumn, value: string): readonly string[] {
  return SQL[kind].parts?.toParts(value, md5) ?? [value];
}

const md5 = (text: string) => Bun.CryptoHasher.hash("md5", text, "hex");

/** The lowest and the highest value of a term. */
export function endsOf({ column, part }: Term): Readonly<Record<"lower" | "upper", string>> {
  const { ends, parts } = SQL[column.kind];
  const [lower, upper] = (part === "rest" ? parts?.restEnds : ends) ?? [];
  if (lower === undefined || upper === undefined)
    throw new Error(`No index can be searched by ${column.name}`);
  return { lower, upper };
}

export function compareTerms(term: Term, a: string, b: string): number {
  if (a === b) return 0;
  const { lower, upper } = endsOf(term);
  if (b === lower || a === upper) return 1;
  if (b === upper || a === lower) return -1;
  const { kind } = term.column;
  const toValue = (text: string) => (VALUES[kind].fromQuery?.(text) ?? text) as Comparable;
  // An index has texts by code points. The start of a pattern on email addresses can have capitals.
  const compare = isText({ kind }) ? compareValues : (COMPARES[kind] ?? compareValues);
  return compare(toValue(a), toValue(b), term.column);
}

/** Whether exactly the rows with these terms have the value. */
export function isWholeValue({ kind }: QueryColumn, value: string): boolean {
  return SQL[kind].parts?.isWhole(value) ?? true;
}
