/** UUIDs as text. Ignores version and variant, like PostgreSQL. @module */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Returns whether a text is a UUID in its usual form: 32 hexadecimal digits of either case, in groups of 8-4-4-4-12.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9562#section-4
 * @example
 * ```ts
 * import { isUuid } from "./is_uuid.ts";
 * import { expect } from "bun:test";
 *
 * expect(isUuid("0190163D-8694-739B-aea5-966c26f8ad91")).toBe(true);
 * expect(isUuid("{0190163d8694739baea5966c26f8ad91}")).toBe(false);
 * ```
 */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
