/** Lines of CSV that spreadsheets read as text and never as a formula. @module */

/**
 * Positions where a spreadsheet can detect a formula: at the start of a field, and after every character at which it
 * splits fields or rows if it guesses the wrong format. Some languages treat full-width signs as narrow.
 */
const FORMULA = /(?<=^|[;\t\r\n])(?=[=+\-@＝＋－＠])/gu;
/** Some spreadsheets trim these before they search for a formula. */
const TRIMMED = /^[\0\t\r\n]/;
const QUOTED = /[",;\t\r\n]/;
const NUMBER = /^-?\d+(\.\d+)?$/;

/**
 * One line with its line break: `null` is an empty field, an empty text a quoted field. Each formula in a text gets a
 * leading apostrophe; numbers are unchanged.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4180
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 * @example
 * ```ts
 * import { toCsvLine } from "./csv.ts";
 * import { expect } from "bun:test";
 *
 * expect(toCsvLine(["a,b", 'an "x"', null, "", "-1.5"])).toBe('"a,b","an ""x""",,"",-1.5\r\n');
 * expect(toCsvLine(["=1+1", "@x", "a;=1+1"])).toBe(`'=1+1,'@x,"a;'=1+1"\r\n`);
 * ```
 */
export function toCsvLine(values: readonly (string | null)[]): string {
  return toExactCsvLine(
    values.map((value) => (value === null || NUMBER.test(value) ? value : toInertText(value))),
  );
}

/**
 * Like `toCsvLine`, but for programs: values are unchanged, and a spreadsheet would evaluate formulas.
 *
 * @example
 * ```ts
 * import { toExactCsvLine } from "./csv.ts";
 * import { expect } from "bun:test";
 *
 * expect(toExactCsvLine(["=1+1", null, ""])).toBe('=1+1,,""\r\n');
 * ```
 */
export function toExactCsvLine(values: readonly (string | null)[]): string {
  return `${values.map(toField).join(",")}\r\n`;
}

function toField(value: string | null): string {
  if (value === null) return "";
  return value === "" || QUOTED.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

function toInertText(text: string): string {
  return text.replace(FORMULA, "'").replace(TRIMMED, "'$&");
}
