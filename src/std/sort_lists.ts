/** Lists of words: in a fixed order, independent of their original order, and contained in others. @module */

/**
 * The lists sorted by their words; the words of each list stay as they are.
 *
 * @example
 * ```ts
 * expect(sortLists([["b"], ["a", "c"], ["a"]])).toEqual([["a"], ["a", "c"], ["b"]]);
 * ```
 */
export function sortLists(lists: readonly (readonly string[])[]): string[][] {
  return lists.map((list) => [...list]).sort(compareLists);
}

function compareLists(a: readonly string[], b: readonly string[]): number {
  for (const [index, term] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (term !== other) return term < other ? -1 : 1;
  }
  return a.length - b.length;
}

/**
 * Whether the words of a list are in another list, in the same order.
 *
 * @example
 * ```ts
 * expect(isSubsequence(["a", "c"], ["a", "b", "c"])).toBe(true);
 * expect(isSubsequence(["c", "a"], ["a", "b", "c"])).toBe(false);
 * ```
 */
export function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let next = 0;
  for (const value of whole) if (value === part[next]) next++;
  return next === part.length;
}
