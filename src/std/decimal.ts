/** Exact decimals as text. Never converts a decimal to a JavaScript number. @module */

/** Maximum number of characters of a decimal, sign and point included. */
export const DECIMAL_MAX_CHARS = 400;

const DECIMAL = /^-?[0-9]+(\.[0-9]+)?$/;

/**
 * Returns whether a text is a plain decimal of at most 400 characters: `-?digits[.digits]`, no exponent, no plus sign.
 *
 * @example
 * ```ts
 * expect(isDecimal("-12.50")).toBe(true);
 * expect(isDecimal("1e3")).toBe(false);
 * ```
 */
export function isDecimal(text: string): boolean {
  return text.length <= DECIMAL_MAX_CHARS && DECIMAL.test(text);
}

/** `digits` × 10^`exponent`, without leading or trailing zeros in `digits`; zero has no digits. */
type DecimalParts = { negative: boolean; digits: string; exponent: number };

/**
 * The exact value of a JSON number's text, or `undefined` if it is not a number.
 *
 * @example
 * ```ts
 * expect(decimalParts("-1.50e3")).toEqual({ negative: true, digits: "15", exponent: 2 });
 * expect(decimalParts("1500")).toEqual({ negative: false, digits: "15", exponent: 2 });
 * ```
 */
export function decimalParts(text: string): DecimalParts | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", power = "0"] = match;
  const all = (whole + fraction).replace(/^0+/, "");
  const digits = all.replace(/0+$/, "");
  if (digits === "") return { negative: false, digits, exponent: 0 };
  return {
    negative: sign === "-",
    digits,
    exponent: Number(power) - fraction.length + (all.length - digits.length),
  };
}
