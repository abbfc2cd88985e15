/** Relative times as text, the same on the server and in the browser. @module */

const UNITS = [
  { unit: "day", seconds: 86_400 },
  { unit: "hour", seconds: 3600 },
  { unit: "minute", seconds: 60 },
] as const;

/** After this number of days a date is clearer. */
const MAX_DAYS = 60;

/** "3 hours ago", "in 2 days"; `undefined` for a distant time, which is clearer as a date. */
export function toDistance(ms: number): string | undefined {
  const seconds = Math.abs(ms) / 1000;
  const found = UNITS.find((unit) => seconds >= unit.seconds);
  if (found === undefined) return ms > 0 ? "in less than a minute" : "just now";
  // Rounds a future time: two days and 23:59 hours are displayed as "in 3 days".
  const count = (ms > 0 ? Math.round : Math.floor)(seconds / found.seconds);
  if (found.unit === "day" && count > MAX_DAYS) return undefined;
  const terms = `${count} ${found.unit}${count === 1 ? "" : "s"}`;
  return ms > 0 ? `in ${terms}` : `${terms} ago`;
}
