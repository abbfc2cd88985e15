/**
 * Days as spreadsheets write them, such as 29.09.2025 or 9/29/2025. Whether the day or the month comes first is chosen, or known
 * from a number above 12, and never assumed. Pure.
 *
 * @module
 */

import type { ReadText } from "../kinds/mod.ts";

/** Day.month.year or month/day/year. */
export const DAY_ORDERS = { dmy: "day.month.year", mdy: "month/day/year" } as const;
export type DayOrder = keyof typeof DAY_ORDERS;

/** The first day of a file that shows an order, and the first that shows none. */
export type DaysFound = { readonly [Shown in DayOrder | "unclear"]?: string };

export type DayReader = {
  readonly read: ReadText;
  /** What the days show that were read without an order. */
  readonly found: () => DaysFound;
};

const DAY = /^(\d{1,4})([./-]) ?(\d{1,2})\2 ?(\d{4}|\d{1,2})(?=$|[ ,T])/;
const CLOCK = /^(?:T|,? +)(\d{1,2}):(\d\d)(:\d\d(?:\.\d{1,9})?)?(?: ?([ap])\.?m\.?)?(?=$|[ Z+-])/i;

const ISSUES = {
  dmy: "Has the day before the month: write it as 2026-10-31",
  mdy: "Has the month before the day: write it as 2026-10-31",
  unclear: "Can be day.month.year or month/day/year: write it as 2026-10-31",
} as const satisfies Record<DayOrder | "unclear", string>;

/** A reader of the days of one file. Without an order, each day in another notation than ISO 8601 is an error. */
export function makeDayReader(order?: DayOrder): DayReader {
  const found: { [Shown in DayOrder | "unclear"]?: string } = {};
  return {
    read: (written) => {
      const match = DAY.exec(written);
      if (match === null) return { value: written };
      const [day, first = "", , second = "", third = ""] = match;
      const rest = toClock(written.slice(day.length));
      if (first.length === 4) return { value: toIso([first, second, third]) + rest };
      if (first.length > 2 || third.length < 2) return { value: written };
      if (order !== undefined) {
        const [date, month] = order === "dmy" ? [first, second] : [second, first];
        if (Number(month) <= 12) return { value: toIso([toYear(third), month, date]) + rest };
        return { issue: `Is not a day as ${DAY_ORDERS[order]}: there is no month ${month}` };
      }
      const shown = findOrder(first, second, third);
      found[shown] ??= day;
      return { issue: ISSUES[shown] };
    },
    found: () => found,
  };
}

/** The only order in which the numbers are a day. A year of two digits can also be the first number. */
function findOrder(first: string, second: string, third: string): DayOrder | "unclear" {
  if (Number(second) > 12 && Number(first) <= 12) return "mdy";
  return Number(first) > 12 && Number(second) <= 12 && third.length === 4 ? "dmy" : "unclear";
}

/** The order of all days of a file; `undefined` if none shows it, or if they contradict each other. */
export function decideDayOrder({ dmy, mdy }: DaysFound): DayOrder | undefined {
  if ((dmy === undefined) === (mdy === undefined)) return undefined;
  return dmy === undefined ? "mdy" : "dmy";
}

function toIso([year = "", month = "", day = ""]: readonly string[]): string {
  return `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
}

/** As spreadsheets do: 29 is 2029, and 30 is 1930. */
function toYear(year: string): string {
  if (year.length === 4) return year;
  return `${Number(year) < 30 ? "20" : "19"}${year.padStart(2, "0")}`;
}

/** The time after a day, in 24 hours with two digits. Any other text unchanged. */
function toClock(text: string): string {
  const [clock, hour = "", minute = "", second = ":00", half] = CLOCK.exec(text) ?? [];
  if (clock === undefined) return text;
  const isTwelve = half !== undefined;
  if (isTwelve && (Number(hour) < 1 || Number(hour) > 12)) return text;
  const hours = isTwelve ? (Number(hour) % 12) + (half.toLowerCase() === "p" ? 12 : 0) : hour;
  return ` ${String(hours).padStart(2, "0")}:${minute}${second}${text.slice(clock.length)}`;
}
