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
