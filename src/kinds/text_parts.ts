/**
 * The parts of a text by which an index is searched: its start, the whole characters in the first 63 bytes, and its rest,
 * the MD5 of a longer text. Also bounds of starts that include every text of a condition,
 * and the order of texts by code points. Pure.
 *
 * @see string.ts for the same parts in SQL
 * @module
 */

import { utf8Length } from "../std/text.ts";
import type { Comparable, Edge } from "./kind.ts";

const START_BYTES = 63;
/** Bytes of a character, at most. */
const CHARACTER_BYTES = 4;
/** Up to this many bytes, the start of a longer text is not shorter than the text in a condition. */
const SAFE_BYTES = START_BYTES - CHARACTER_BYTES + 1;
/** The highest character of 0 to 3 bytes. */
const HIGHEST = ["", "\u{7f}", "\u{7ff}", "\u{ffff}"] as const;
const HIGHEST_CHARACTER = "\u{10ffff}";

type TextParts = readonly [start: string, rest: string];

export function toTextParts(text: string, md5: (text: string) => string): TextParts {
  if (utf8Length(text) <= START_BYTES) return [text, ""];
  return [cut(text, START_BYTES), md5(text)];
}

/**
 * The parts in a cursor: a text of up to 63 bytes, or a start of at least 60 bytes, an MD5, and a SHA-256, which tells apart texts
 * with the same MD5. `undefined` for any other text.
 */
export function readTextParts(text: string): readonly string[] | undefined {
  if (utf8Length(text) <= START_BYTES) return [text, ""];
  const [, start = "", ...digests] = /^(.*)([0-9a-f]{32})([0-9a-f]{64})$/s.exec(text) ?? [];
  const bytes = utf8Length(start);
  return bytes >= SAFE_BYTES && bytes <= START_BYTES ? [start, ...digests] : undefined;
}

/** Whether the parts of a text differ from those of every other text. */
export function isWholeText(text: string): boolean {
  return utf8Length(text) <= START_BYTES;
}

/** The lowest start of a text from `text` on. */
export function toLowestStart(text: string): Edge {
  return { value: cut(text, SAFE_BYTES), isExact: isShort(text) };
}

/** The highest start of a text up to `text`. */
export function toHighestStart(text: string): Edge {
  const start = cut(text, START_BYTES);
  if (start === text) return { value: text, isExact: isShort(text) };
  // The next character does not fit, and is higher than each character that does.
  return { value: start + (HIGHEST[START_BYTES - utf8Length(start)] ?? ""), isExact: false };
}

/**
 * The highest start of a text below `text`, which is short; `undefined` for the empty text. No text has the rest
 * {@linkcode HIGHEST_REST}, so that the position after this start is before each text from `text` on.
 */
export function toStartBefore(text: string): string | undefined {
  const last = [...text].at(-1);
  if (last === undefined) return undefined;
  const prefix = text.slice(0, -last.length);
  const code = (last.codePointAt(0) ?? 0) - 1;
  // A text has no U+0000.
  if (code === 0) return prefix;
  const before = String.fromCodePoint(code === LAST_SURROGATE ? FIRST_SURROGATE - 1 : code);
  return toPrefixStarts(prefix + before).highest.value;
}

const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;

/** After the rest of every text: hexadecimal digits, or nothing. */
export const HIGHEST_REST = "g";

/** The lowest and the highest start of a text that begins with `prefix`. */
export function toPrefixStarts(prefix: string): { lowest: Edge; highest: Edge } {
  const start = cut(prefix, SAFE_BYTES);
  const isExact = start === prefix;
  const left = START_BYTES - utf8Length(start);
  const filled =
    start +
    HIGHEST_CHARACTER.repeat(Math.floor(left / CHARACTER_BYTES)) +
    (HIGHEST[left % CHARACTER_BYTES] ?? "");
  return { lowest: { value: start, isExact }, highest: { value: filled, isExact } };
}

/** The texts with the start of a shorter text are that text and longer ones, in the same order as their starts. */
function isShort(text: string): boolean {
  return utf8Length(text) < SAFE_BYTES;
}

/** The whole characters in the first bytes. */
function cut(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text.slice(0, maxBytes + 1)) {
    bytes += utf8Length(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Texts by code points, others as numbers. */
export function compareValues(a: Comparable, b: Comparable): number {
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  return Number(a) - Number(b);
}

/** Compares by code points, as the service does in every database. */
export function compareTexts(a: string, b: string): number {
  let position = 0;
  while (position < a.length && a.charCodeAt(position) === b.charCodeAt(position)) position++;
  return toRank(a.charCodeAt(position)) - toRank(b.charCodeAt(position));
}

/** The end of a text sorts before any character. Half a surrogate pair represents a code point after all others. */
function toRank(unit: number): number {
  if (Number.isNaN(unit)) return -1;
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
