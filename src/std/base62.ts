/** Base62: digits, uppercase, lowercase. @module */

/** The 62 digits: 0 to 9, A to Z, a to z. */
export const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * A whole number ≥ 0 in base62, padded with zeros to `width`.
 *
 * @example
 * ```ts
 * expect(toBase62(61, 3)).toBe("00z");
 * ```
 */
export function toBase62(value: number, width: number): string {
  let text = "";
  for (let rest = value; rest > 0; rest = Math.floor(rest / BASE62.length))
    text = BASE62.charAt(rest % BASE62.length) + text;
  return text.padStart(width, "0");
}
