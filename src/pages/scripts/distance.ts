/** Relative times as text, the same on the server and in the browser. @module */

const UNITS = [
  { unit: "day", seconds: 86_400 },
  { unit: "hour", seconds: 3600 },
  { unit: "minute", seconds: 60 },
] as const;

/** Beyond this many days a date says more. */
const MAX_DAYS = 60;

/** "3 hours ago", "in 2 days"; `undefined` for what is so far away that its date says more. */
export function toDistance(ms: number): string | undefined {
  const seconds = Math.abs(ms) / 1000;
  const found = UNITS.find((unit) => seconds >= unit.seconds);
  if (found === undefined) return ms > 0 ? "in less than a minute" : "just now";
  // What was given three days a moment ago ends in three days, not in two.
  const count = (ms > 0 ? Math.round : Math.floor)(seconds / found.seconds);
  if (found.unit === "day" && count > MAX_DAYS) return undefined;
  const words = `${count} ${found.unit}${count === 1 ? "" : "s"}`;
  return ms > 0 ? `in ${words}` : `${words} ago`;
}
