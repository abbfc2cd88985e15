/** The text of a time in the reader's time zone and language. Runs in workers too. @module */

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const SECOND = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A value of a row, without zero seconds; empty if it is not a time. */
export function formatTime(value: string): string {
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return "";
  return (at.getUTCSeconds() === 0 ? MOMENT : SECOND).format(at);
}

/** A time to the minute. */
export function formatMinute(at: Date): string {
  return MOMENT.format(at);
}
