/** Parses text that is not always JSON. @module */

/**
 * The value of a JSON text, or `undefined` if it is not JSON.
 *
 * @example
 * ```ts
 * import { tryParseJson } from "./try_parse_json.ts";
 * import { expect } from "bun:test";
 *
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
