/** Base62: digits, upper case, lower case. @module */

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * A whole number ≥ 0 in base62, filled up with zeros to `width`.
 *
 * @example
 * ```ts
 * import { toBase62 } from "./base62.ts";
 * import { expect } from "bun:test";
 * expect(toBase62(61, 3)).toBe("00z");
 * ```
 */
export function toBase62(value: number, width: number): string {
  let text = "";
  for (let rest = value; rest > 0; rest = Math.floor(rest / DIGITS.length))
    text = DIGITS.charAt(rest % DIGITS.length) + text;
  return text.padStart(width, "0");
}
