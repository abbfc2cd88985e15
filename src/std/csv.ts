/** Lines of CSV that spreadsheets read as text and never as a formula. @module */

/** What a spreadsheet takes for the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;
const NUMBER = /^-?\d+(\.\d+)?$/;

/**
 * One line with its end: `null` is an empty field, an empty text a quoted one. A text that a spreadsheet would calculate gets
 * an apostrophe in front; numbers stay what they are.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4180
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 * @example
 * ```ts
 * import { toCsvLine } from "./csv.ts";
 * import { expect } from "bun:test";
 *
 * expect(toCsvLine(["a,b", 'say "x"', null, "", "-1.5"])).toBe('"a,b","say ""x""",,"",-1.5\r\n');
 * expect(toCsvLine(["=1+1", "@x"])).toBe("'=1+1,'@x\r\n");
 * ```
 */
export function toCsvLine(values: readonly (string | null)[]): string {
  return `${values.map(toField).join(",")}\r\n`;
}

function toField(value: string | null): string {
  if (value === null) return "";
  const text = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
  return text === "" || QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
