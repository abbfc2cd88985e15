/** Canonical JSON: the same text for the same value, so that texts can be compared and hashed. Never indented. @module */

/**
 * The JSON text of a value with the keys of every object sorted by code unit; arrays keep their order.
 *
 * @example
 * ```ts
 * import { canonicalJson } from "./canonical_json.ts";
 * import { expect } from "bun:test";
 *
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
