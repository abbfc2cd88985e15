/**
 * JSON as text, for values that must stay as they are: a JavaScript number rounds long digits, and an object reorders its
 * properties. The text must be valid JSON.
 *
 * @module
 */

import { decimalParts } from "./decimal.ts";
import { endOfString } from "./json_depth.ts";

type Token = { readonly text: string; readonly start: number };

const SPACE = /\s/;
const MARKS = "{}[],:";

/** By hand, because a regular expression does not match a string of several megabytes, and reports no error. */
function* readTokens(json: string): Generator<Token, void> {
  for (let at = 0; at < json.length; ) {
    const start = at;
    const character = json.charAt(at);
    if (SPACE.test(character)) {
      at += 1;
      continue;
    }
    if (character === '"') at = findEnd(json, at) + 1;
    else if (MARKS.includes(character)) at += 1;
    else while (at < json.length && !isEnd(json.charAt(at))) at += 1;
    yield { text: json.slice(start, at), start };
  }
}

function isEnd(character: string): boolean {
  return character === '"' || MARKS.includes(character) || SPACE.test(character);
}

function findEnd(json: string, start: number): number {
  const end = endOfString(json, start);
  if (end === json.length) throw new SyntaxError("A string has no end");
  return end;
}

/** The text of each item of a list, or of each name and value of an object. */
function* readItems(json: string): Generator<string, void> {
  let depth = 0;
  let start: number | undefined;
  let end = 0;
  for (const token of readTokens(json)) {
    const { text } = token;
    const isOpening = text === "{" || text === "[";
    const isClosing = text === "}" || text === "]";
    if (depth === 1 && (isClosing || text === "," || text === ":")) {
      if (start !== undefined) yield json.slice(start, end);
      start = undefined;
    } else if (depth === 1) start ??= token.start;
    if (isOpening) depth += 1;
    if (isClosing) depth -= 1;
    end = token.start + text.length;
  }
}

/**
 * The text of each item of a list.
 *
 * @example
 * ```ts
 * expect(splitList('[1.0, {"a": [2]}]')).toEqual(["1.0", '{"a": [2]}']);
 * ```
 */
export function splitList(json: string): string[] {
  return [...readItems(json)];
}

/**
 * The text of each property of an object.
 *
 * @example
 * ```ts
 * expect([...splitObject('{"b": 12345678901234567890, "2": null}')]).toEqual([
 *   ["b", "12345678901234567890"],
 *   ["2", "null"],
 * ]);
 * ```
 */
export function splitObject(json: string): Map<string, string> {
  const items = [...readItems(json)];
  const names = items.filter((_, place) => place % 2 === 0);
  return new Map(names.map((name, place) => [JSON.parse(name), items[2 * place + 1] ?? ""]));
}

/**
 * The text with a line for each property and item, like `JSON.stringify(value, null, 2)`.
 *
 * @example
 * ```ts
 * expect(indentJson('{"n":1.0,"list":[1],"none":{}}')).toBe(
 *   '{\n  "n": 1.0,\n  "list": [\n    1\n  ],\n  "none": {}\n}',
 * );
 * ```
 */
export function indentJson(json: string): string {
  let depth = 0;
  let before = "";
  const parts: string[] = [];
  const startLine = () => parts.push(`\n${"  ".repeat(depth)}`);
  for (const { text } of readTokens(json)) {
    const isClosing = text === "}" || text === "]";
    const isEmpty = isClosing && (before === "{" || before === "[");
    if (isClosing) depth -= 1;
    if (!isEmpty && (isClosing || before === "{" || before === "[" || before === ",")) startLine();
    parts.push(text === ":" ? ": " : text);
    if (text === "{" || text === "[") depth += 1;
    before = text;
  }
  return parts.join("");
}

/**
 * The text without spaces between its parts, like `JSON.stringify(value)`.
 *
 * @example
 * ```ts
 * expect(compactJson('{"n": 1.0, "text": "a b"}')).toBe('{"n":1.0,"text":"a b"}');
 * ```
 */
export function compactJson(json: string): string {
  return [...readTokens(json)].map(({ text }) => text).join("");
}

// JSON without rounded numbers: a literal that JavaScript would round becomes a marker that no column accepts.

/** Replaces a number that JavaScript would round. It is not a JSON value, so no reader accepts it. */
export const INEXACT: unique symbol = Symbol("inexact number");

/** JavaScript never rounds 15 digits without an exponent: only other literals need the comparison. */
const MAY_BE_INEXACT = /[\d.]{16}|\d[eE]/;

type Reviver = (key: string, value: unknown, context: { source: string }) => unknown;

/**
 * The reviver for a text, if the text needs one.
 *
 * @example
 * ```ts
 * const text = '{"a":0.1,"b":12345678901234567890}';
 * expect(JSON.parse(text, findReviver(text))).toEqual({ a: 0.1, b: INEXACT });
 * expect(findReviver('{"a":0.1}')).toBeUndefined();
 * ```
 */
export function findReviver(text: string): Reviver | undefined {
  return MAY_BE_INEXACT.test(text) ? markInexact : undefined;
}

/** The value of a JSON text, with markers for numbers that JavaScript would round. @throws {SyntaxError} not JSON */
export function parseExactJson(text: string): unknown {
  return JSON.parse(text, findReviver(text) as Parameters<JSON["parse"]>[1]);
}

function markInexact(_key: string, value: unknown, context: { source: string }): unknown {
  if (typeof value !== "number") return value;
  return isExact(context.source, value) ? value : INEXACT;
}

function isExact(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return false;
  const sent = decimalParts(source);
  const stored = decimalParts(String(value));
  if (sent === undefined || stored === undefined) return false;
  return (
    sent.negative === stored.negative &&
    sent.digits === stored.digits &&
    sent.exponent === stored.exponent
  );
}
