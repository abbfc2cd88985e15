/** Durations as short text, such as 30m. @module */

import { cleanPasted } from "./pasted_text.ts";

const MINUTE_S = 60;
export const HOUR_S = 3600;
export const DAY_S = 86_400;
const WEEK_S = 604_800;

const NAMES = [
  ["day", DAY_S],
  ["hour", HOUR_S],
  ["minute", MINUTE_S],
  ["second", 1],
] as const;

/**
 * A readable duration, in the largest unit that divides it.
 *
 * @example
 * ```ts
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
  [/^s(ec(ond)?s?)?$/i, 1],
  // Only "M" can mean months.
  [/^(m|[Mm]in(ute)?s?)$/, MINUTE_S],
  [/^h(r|our)?s?$/i, HOUR_S],
  [/^d(ays?)?$/i, DAY_S],
  [/^w(eeks?)?$/i, WEEK_S],
];
