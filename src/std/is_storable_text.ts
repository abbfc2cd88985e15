/** Text that PostgreSQL stores unchanged. Never repairs rejected text. @module */

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Returns whether PostgreSQL can store a text unchanged: no U+0000, which no text type accepts, and no lone surrogate, which has
 * no UTF-8 encoding.
 *
 * @see https://www.postgresql.org/docs/current/datatype-character.html
 * @example
 * ```ts
 * import { isStorableText } from "./is_storable_text.ts";
 * import { expect } from "bun:test";
 *
 * expect(isStorableText("naïve 🙂")).toBe(true);
 * expect(isStorableText("half a smile: \ud83d")).toBe(false);
 * expect(isStorableText("a\u0000b")).toBe(false);
 * ```
 */
export function isStorableText(text: string): boolean {
  return !text.includes("\u0000") && !LONE_SURROGATE.test(text);
}
