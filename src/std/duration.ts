/** Durations as short text, such as 30m. @module */

import { cleanPasted } from "./pasted_text.ts";

const UNIT_S = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

export const HOUR_S = UNIT_S.h;
export const DAY_S = UNIT_S.d;

const NAMES = [
  ["day", UNIT_S.d],
  ["hour", UNIT_S.h],
  ["minute", UNIT_S.m],
  ["second", 1],
] as const;

/**
 * A readable duration, in the largest unit that divides it.
 *
 * @example
 * ```ts
 * import { toDurationText } from "./duration.ts";
 * import { expect } from "bun:test";
 *
 * expect(toDurationText(1800)).toBe("30 minutes");
 * expect(toDurationText(86_400)).toBe("1 day");
 * expect(toDurationText(90)).toBe("90 seconds");
 * ```
 */
export function toDurationText(seconds: number): string {
  const [name, unitS] = NAMES.find(([, unit]) => seconds % unit === 0) ?? ["second", 1];
  const count = seconds / unitS;
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/**
 * The seconds of a duration such as `90s`, `30m`, `24h`, `7d`, `4w` or `5 min`; `undefined` for any other text.
 *
 * @example
 * ```ts
 * import { readDuration } from "./duration.ts";
 * import { expect } from "bun:test";
 *
 * expect(readDuration("30m")).toBe(1800);
 * expect(readDuration("5 min")).toBe(300);
 * expect(readDuration("1.5h")).toBeUndefined();
 * ```
 */
export function readDuration(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,9}) ?(\p{L}+)$/u.exec(cleanPasted(text)) ?? [];
  const [, unitS] = UNITS.find(([names]) => names.test(unit)) ?? [];
  return count === undefined || unitS === undefined ? undefined : Number(count) * unitS;
}

const UNITS: readonly (readonly [names: RegExp, seconds: number])[] = [
  [/^s(ec(ond)?s?)?$/i, UNIT_S.s],
  // Only "M" can mean months.
  [/^(m|[Mm]in(ute)?s?)$/, UNIT_S.m],
  [/^h(r|our)?s?$/i, UNIT_S.h],
  [/^d(ays?)?$/i, UNIT_S.d],
  [/^w(eeks?)?$/i, UNIT_S.w],
];
