/** The order of values that need nothing of their kind. @module */
import type { Comparable } from "./kind.ts";

/** Texts by code points, others as numbers. */
export function compareValues(a: Comparable, b: Comparable): number {
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  return Number(a) - Number(b);
}

/** Compares by code points, as the service does in every database. */
export function compareTexts(a: string, b: string): number {
  let position = 0;
  while (position < a.length && a.charCodeAt(position) === b.charCodeAt(position)) position++;
  return toRank(a.charCodeAt(position)) - toRank(b.charCodeAt(position));
}

/** The end of a text sorts before any character. Half a surrogate pair represents a code point after all others. */
function toRank(unit: number): number {
  if (Number.isNaN(unit)) return -1;
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
