/**
 * The work of comparing texts, which no number of rows bounds: a row can have a text of megabytes, and a pattern can compare each
 * character many times. A unit is about the work to read one byte of a text: 1 to 3 ns. Pure.
 *
 * @module
 */

import type { Condition, QueryColumn } from "./filter.ts";

/** A text that a condition reads in each visited row. */
export type TextRead = {
  readonly column: QueryColumn;
  /** Units for each byte. */
  readonly work: number;
  readonly maxBytes: number;
  /** Whether the walk reads the text in each visited row, also in rows that do not match. */
  readonly isWalked?: boolean;
};

/** Max work of a query: enough for a pattern over a KB of text in each of 10,000 rows; 0.2 to 0.5 s. */
export const MAX_WORK = 134_217_728;

export const WHOLE_BYTES = 2 ** 30;
/** The work of `in`, which hashes the text. */
const HASH_WORK = 2;
/** The work of the MD5 of a text, which tells apart texts with the same start in an order. */
export const DIGEST_WORK = 1;
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

/** One read for each column, length and reader. */
export function sumReads(reads: readonly TextRead[]): TextRead[] {
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
