/** The time in a UUID. @module */
import { isUuid } from "./patterns.ts";

/**
 * The milliseconds since 1970 at which a UUIDv7 was created; `undefined` for other texts.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9562#section-5.7
 * @example
 * ```ts
 * expect(uuidTime("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")).toBe(1645557742000);
 * expect(uuidTime("919108f7-52d1-4320-9bac-f847db4148a8")).toBeUndefined();
 * ```
 */
export function uuidTime(text: string): number | undefined {
  if (!isUuid(text) || text[14] !== "7") return undefined;
  return Number.parseInt(text.slice(0, 8) + text.slice(9, 13), 16);
}
