/** Values of any type in messages. @module */
import { quote } from "./quote.ts";

/**
 * A value as text for a message.
 *
 * @example
 * ```ts
 * import { describe } from "./describe.ts";
 * import { expect } from "bun:test";
 * expect([describe("a"), describe(1), describe([])]).toEqual(['"a"', "1", "a list"]);
 * ```
 */
export function describe(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "function" ? "a function" : String(value);
}
