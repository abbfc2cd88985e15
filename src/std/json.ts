/**
 * JSON values: canonical text, depth, pointers, and parsers that return `undefined` instead of throwing. Canonical JSON
 * is the same text for the same value, so that texts can be compared and hashed. Never indented.
 *
 * @module
 */

/**
 * The JSON text of a value with the keys of every object sorted by code unit; arrays keep their order.
 *
 * @example
 * ```ts
 * expect(canonicalJson({ b: [2, 1], a: { d: null, c: "x" } })).toBe('{"a":{"c":"x","d":null},"b":[2,1]}');
 * ```
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, sortKeys) ?? "null";
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // fromEntries defines keys instead of assigning them, so "__proto__" stays a key. Keys that look like
  // whole numbers come first in any object, in the same order whatever the input was.
  return Object.fromEntries(entries);
}

// Measures the nesting depth of JSON text in one scan, without parsing.

/** Max nesting of the JSON body of a request. */
export const MAX_BODY_DEPTH = 64;

/**
 * The deepest nesting of arrays and objects in a JSON text: 0 for a scalar. The result is meaningless if the text is not JSON.
 *
 * @example
 * ```ts
 * expect(jsonDepth('{"a":[1,"]["]}')).toBe(2);
 * ```
 */
export function jsonDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index);
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) deepest = Math.max(deepest, ++depth);
    else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--;
  }
  return deepest;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The index of the quote that ends the string which starts at `start`, or the text's end. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(index - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

// JSON Pointers. @see https://www.rfc-editor.org/rfc/rfc6901

/**
 * A name as a part of a JSON Pointer.
 *
 * @example
 * ```ts
 * expect(escapePointer("a/b~c")).toBe("a~1b~0c");
 * ```
 */
export function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

// Parses text that is not always JSON.

/**
 * The value of a JSON text, or `undefined` if it is not JSON.
 *
 * @example
 * ```ts
 * expect(tryParseJson('{"a":1}')).toEqual({ a: 1 });
 * expect(tryParseJson("{")).toBeUndefined();
 * ```
 */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Parses JSON with comments, as in tsconfig.json.

const COMMENT = /("(?:\\.|[^"\\])*")|\/\/.*|\/\*[\s\S]*?\*\//g;
const FINAL_COMMA = /("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g;

/**
 * The value of JSON that can have comments and a comma after the last item, or `undefined` if the text is anything else.
 *
 * @example
 * ```ts
 * const text = '{ "include": ["src/*", ".rowhouse/*.d.ts",], // "files": []\n }';
 * expect(tryParseJsonc(text)).toEqual({ include: ["src/*", ".rowhouse/*.d.ts"] });
 * expect(tryParseJsonc("{")).toBeUndefined();
 * ```
 */
export function tryParseJsonc(text: string): unknown {
  return tryParseJson(text.replace(COMMENT, "$1").replace(FINAL_COMMA, "$1"));
}

// JSON objects.

/**
 * Returns whether a value is an object with keys, not an array or `null`.
 *
 * @example
 * ```ts
 * expect(isObject({ a: 1 })).toBe(true);
 * expect(isObject([1])).toBe(false);
 * expect(isObject(null)).toBe(false);
 * ```
 */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
