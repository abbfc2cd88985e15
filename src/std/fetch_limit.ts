/** Bun's limit of concurrent requests of a process. @module */

/** Bun reads the variable when it starts, and ignores values above the max. */
export const FETCH_LIMIT = {
  variable: "BUN_CONFIG_MAX_HTTP_REQUESTS",
  /** Well above the streams and requests that a gateway admits. */
  min: 16_384,
  max: 65_535,
} as const;

/**
 * Whether a value of the variable is sufficient for a process that forwards requests.
 *
 * @example
 * ```ts
 * import { FETCH_LIMIT, isFetchLimit } from "./fetch_limit.ts";
 * import { expect } from "bun:test";
 *
 * expect(isFetchLimit(String(FETCH_LIMIT.max))).toBe(true);
 * expect(isFetchLimit("256")).toBe(false);
 * expect(isFetchLimit("65536")).toBe(false);
 * ```
 */
export function isFetchLimit(text: string): boolean {
  const { min, max } = FETCH_LIMIT;
  return /^\d{1,5}$/.test(text) && Number(text) >= min && Number(text) <= max;
}
