/** JSON objects. @module */

/**
 * Returns whether a value is an object with keys, not an array or `null`.
 *
 * @example
 * ```ts
 * import { isObject } from "./is_object.ts";
 * import { expect } from "bun:test";
 *
 * expect(isObject({ a: 1 })).toBe(true);
 * expect(isObject([1])).toBe(false);
 * expect(isObject(null)).toBe(false);
 * ```
 */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
