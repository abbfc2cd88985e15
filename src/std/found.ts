/** Classes of rejected values: what was found in a field, from fixed words, so that nothing of the value is stored. @module */

import { isDecimal } from "./decimal.ts";
import { INEXACT } from "./json_text.ts";
import { isUuid } from "./patterns.ts";
import { isStorableText } from "./text.ts";

/** The classes, in words. Without exact numbers and lengths, which could tell values apart. */
export const FOUND = {
  missing: "no value",
  null: "null",
  boolean: "true or false",
  integer: "a whole number",
  decimal: "a decimal number",
  inexact: "a number with too many digits",
  list: "a list",
  object: "an object",
  empty: "an empty text",
  blank: "a text of spaces",
  unstorable: "a text with characters that cannot be stored",
  boolean_text: "a text that looks like true or false",
  number_text: "a text that looks like a number",
  date_text: "a text that looks like a date",
  time_text: "a text that looks like a date and time",
  id_text: "a text that looks like an id",
  text_10: "a text of up to 10 characters",
  text_100: "a text of up to 100 characters",
  text_1000: "a text of up to 1,000 characters",
  text: "a text of more than 1,000 characters",
} as const;

export type Found = keyof typeof FOUND;

export function isFound(text: string | undefined): text is Found {
  return text !== undefined && Object.hasOwn(FOUND, text);
}

/**
 * The class of a value of a body; `undefined` is a missing value.
 *
 * @example
 * ```ts
 * expect([undefined, 7, "7", "2026-11-27", "seven"].map(classify)).toEqual(
 *   ["missing", "integer", "number_text", "date_text", "text_10"],
 * );
 * ```
 */
export function classify(value: unknown): Found {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (value === INEXACT) return "inexact";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number") return classifyNumber(value);
  if (typeof value === "string") return classifyText(value);
  return Array.isArray(value) ? "list" : "object";
}

function classifyNumber(value: number): Found {
  if (!Number.isInteger(value)) return "decimal";
  return Number.isSafeInteger(value) ? "integer" : "inexact";
}

/** Longer texts look like nothing. */
const MAX_LOOK = 40;

const LOOKS: readonly (readonly [found: Found, test: (text: string) => boolean])[] = [
  ["boolean_text", (text) => /^(true|false)$/i.test(text)],
  ["time_text", (text) => DATE.test(text) && /\d[T ]+\d{1,2}:\d\d/i.test(text)],
  ["date_text", (text) => DATE.test(text)],
  ["number_text", (text) => isDecimal(text) || /^[+-]?\d[\d.,' ]*([eE][+-]?\d+)?$/.test(text)],
  ["id_text", isUuid],
];
const DATE = /^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ]|$)/i;

function classifyText(text: string): Found {
  if (text === "") return "empty";
  if (!isStorableText(text)) return "unstorable";
  const trimmed = text.length > MAX_LOOK ? text : text.trim();
  if (trimmed === "") return "blank";
  const look = text.length > MAX_LOOK ? undefined : LOOKS.find(([, test]) => test(trimmed));
  if (look !== undefined) return look[0];
  if (text.length > 1000) return "text";
  if (text.length > 100) return "text_1000";
  return text.length > 10 ? "text_100" : "text_10";
}
