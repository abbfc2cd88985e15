/** Origins of services. @see https://url.spec.whatwg.org/#origin @module */

/**
 * Returns whether a text is an HTTP origin as browsers write it: without a path, a final slash or the default port.
 *
 * @example
 * ```ts
 * import { isHttpOrigin } from "./is_http_origin.ts";
 * import { expect } from "bun:test";
 *
 * expect(isHttpOrigin("https://api.example.org")).toBe(true);
 * expect(isHttpOrigin("https://api.example.org/")).toBe(false);
 * expect(isHttpOrigin("ftp://api.example.org")).toBe(false);
 * ```
 */
export function isHttpOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, origin } = new URL(text);
  return /^https?:$/.test(protocol) && origin === text;
}
