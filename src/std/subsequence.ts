/** Lists that contain others. @module */

/**
 * Whether the words of a list are in another list, in the same order.
 *
 * @example
 * ```ts
 * import { isSubsequence } from "./subsequence.ts";
 * import { expect } from "bun:test";
 *
 * expect(isSubsequence(["a", "c"], ["a", "b", "c"])).toBe(true);
 * expect(isSubsequence(["c", "a"], ["a", "b", "c"])).toBe(false);
 * ```
 */
export function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let next = 0;
  for (const value of whole) if (value === part[next]) next++;
  return next === part.length;
}
