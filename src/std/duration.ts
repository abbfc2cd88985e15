/** Durations as people write them. @module */

const UNIT_S = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

export const HOUR_S = UNIT_S.h;
export const DAY_S = UNIT_S.d;

/**
 * The seconds of a duration such as `90s`, `30m`, `24h`, `7d` or `4w`; `undefined` for any other text.
 *
 * @example
 * ```ts
 * import { readDuration } from "./duration.ts";
 * import { expect } from "bun:test";
 *
 * expect(readDuration("30m")).toBe(1800);
 * expect(readDuration("1.5h")).toBeUndefined();
 * ```
 */
export function readDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * UNIT_S[unit as keyof typeof UNIT_S];
}
