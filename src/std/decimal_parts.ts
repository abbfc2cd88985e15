/** The parts of a decimal text, to compare different spellings of a number without rounding. @module */

/** `digits` × 10^`exponent`, without leading or trailing zeros in `digits`; zero has no digits. */
export type DecimalParts = { negative: boolean; digits: string; exponent: number };

/**
 * The exact value of a JSON number's text, or `undefined` if it is not a number.
 *
 * @example
 * ```ts
 * import { decimalParts } from "./decimal_parts.ts";
 * import { expect } from "bun:test";
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
