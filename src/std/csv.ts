/** Lines of CSV that spreadsheets read as text and never as a formula. @module */

/** Begins a file: without it Excel reads a CSV in the encoding of the computer's language. */
export const BYTE_ORDER_MARK = "\uFEFF";

/**
 * A spreadsheet detects a formula at the start of a field. Some trim white space first. Some languages treat full-width signs
 * as narrow. Text that starts with an apostrophe gets another one, so that `unprotectText` restores every text.
 */
const FORMULA = /^(?=[=+\-@＝＋－＠'\0\t\r\n])/u;
/** After these characters, a spreadsheet that guesses the wrong format begins another field. */
const INNER_FORMULA = /(?<=[;\t\r\n])(?='*[=+\-@＝＋－＠])/gu;
const PROTECTED_INSIDE = /(?<=[;\t\r\n])'(?='*[=+\-@＝＋－＠])/gu;
const QUOTED = /[",;\t\r\n]/;
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/;

/**
 * One line with its line break: `null` is an empty field, an empty text a quoted field. Texts are protected by `protectText`.
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
  return toExactCsvLine(values.map((value) => (value === null ? value : protectText(value))));
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
  return needsQuotes(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** Returns whether a text is quoted in a CSV. */
export function needsQuotes(text: string): boolean {
  return text === "" || QUOTED.test(text);
}

/**
 * A text that a spreadsheet does not evaluate: every formula, and an apostrophe at the start, gets a leading apostrophe. Numbers
 * are unchanged.
 *
 * @example
 * ```ts
 * import { protectText, unprotectText } from "./csv.ts";
 * import { expect } from "bun:test";
 *
 * expect(["=1+1", "'quoted", "it's", "-1.5"].map(protectText)).toEqual(["'=1+1", "''quoted", "it's", "-1.5"]);
 * expect(unprotectText(protectText("'=1\n=2"))).toBe("'=1\n=2");
 * ```
 */
export function protectText(text: string): string {
  return NUMBER.test(text) ? text : text.replace(FORMULA, "'").replace(INNER_FORMULA, "'");
}

/** The text before `protectText`. */
export function unprotectText(text: string): string {
  return text.replace(/^'/, "").replace(PROTECTED_INSIDE, "");
}
