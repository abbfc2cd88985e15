/** Decimals as text, exact. Never turns one into a JavaScript number. @module */

/** Maximum number of characters of a decimal, sign and point included. */
export const DECIMAL_MAX_CHARS = 400;

const DECIMAL = /^-?[0-9]+(\.[0-9]+)?$/;

/**
 * Whether a text is a plain decimal of at most 400 characters: `-?digits[.digits]`, no exponent, no plus sign.
 *
 * @example
 * ```ts
 * import { isDecimal } from "./is_decimal.ts";
 * import { expect } from "bun:test";
 *
 * expect(isDecimal("-12.50")).toBe(true);
 * expect(isDecimal("1e3")).toBe(false);
 * ```
 */
export function isDecimal(text: string): boolean {
  return text.length <= DECIMAL_MAX_CHARS && DECIMAL.test(text);
}
