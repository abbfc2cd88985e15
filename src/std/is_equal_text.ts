/** Comparing texts without revealing, by its duration, how much of them is equal. @module */
import { timingSafeEqual } from "node:crypto";

/**
 * Whether two texts are equal, in a time that depends only on their lengths.
 *
 * @example
 * ```ts
 * import { isEqualText } from "./is_equal_text.ts";
 * import { expect } from "bun:test";
 * expect([isEqualText("proof", "proof"), isEqualText("proof", "prove")]).toEqual([true, false]);
 * ```
 */
export function isEqualText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
