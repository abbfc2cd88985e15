/**
 * Names that resemble each other: the term that a user probably meant to type, and the item that another may have
 * replaced.
 *
 * @module
 */

import { quote } from "./quote.ts";

export type Named = { readonly name: string };

const CHARACTERS_PER_EDIT = 3;

/**
 * The term nearest to the input; `undefined` if every term needs more than one edit per three characters.
 *
 * @example
 * ```ts
 * expect(findNearest("migrte", ["serve", "migrate"])).toBe("migrate");
 * expect(findNearest("psuh", ["pull", "push"])).toBe("push");
 * expect(findNearest("banana", ["serve", "migrate"])).toBeUndefined();
 * ```
 */
export function findNearest(typed: string, terms: readonly string[]): string | undefined {
  const maxEdits = Math.max(1, Math.floor(typed.length / CHARACTERS_PER_EDIT));
  const near = terms
    .filter(({ length }) => Math.abs(length - typed.length) <= maxEdits)
    .map((term) => ({ term, edits: countEdits(typed, term) }))
    .filter(({ edits }) => edits <= maxEdits);
  return near.sort((a, b) => a.edits - b.edits)[0]?.term;
}

/** The end of a message about an unknown name: the nearest of the named items, or nothing. */
export function suggestName(typed: string, items: readonly Named[]): string {
  const near = findNearest(
    typed,
    items.map(({ name }) => name),
  );
  return near === undefined ? "" : `; did you mean ${quote(near)}?`;
}

/** The fewest characters to insert, remove, replace or swap with the next character that turn `from` into `to`. */
function countEdits(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const [above = 0, left = 0, diagonal = 0] = [last[j], row[j - 1], last[j - 1]];
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwapped ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      row[j] = Math.min(above + 1, left + 1, diagonal + (isSame ? 0 : 1), swapped);
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length] ?? 0;
}
