/**
 * Random text, sealed text (AES-256-GCM), base62, and a comparison whose duration does not reveal how many characters
 * are equal.
 *
 * @module
 */

import { timingSafeEqual } from "node:crypto";

/**
 * Returns whether two texts are equal, in a time that depends only on their lengths.
 *
 * @example
 * ```ts
 * expect([isEqualText("proof", "proof"), isEqualText("proof", "prove")]).toEqual([true, false]);
 * ```
 */
export function isEqualText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
