/** Times in the reader's time zone and language: shown with UTC on hover, relative to now, and as values of a field. @module */

// Relative times as text, the same on the server and in the browser.

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

// The text of a time in the reader's time zone and language. Runs in workers too.

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const SECOND = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** A value of a row, without zero seconds; empty if it is not a time. */
export function formatTime(value: string): string {
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return "";
  return (at.getUTCSeconds() === 0 ? MOMENT : SECOND).format(at);
}

/** A time to the minute. */
function formatMinute(at: Date): string {
  return MOMENT.format(at);
}

const REFRESH_MS = 30_000;
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

export function startTimes(): void {
  showTimes(document);
  setInterval(() => showTimes(document), REFRESH_MS);
  document.addEventListener("visibilitychange", () => showTimes(document));
}

export function showTimes(root: ParentNode): void {
  if (document.hidden) return;
  for (const time of root.querySelectorAll<HTMLTimeElement>("time[datetime*=T]")) showTime(time);
}

function showTime(time: HTMLTimeElement): void {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) return;
  if (time.dataset["exact"] !== undefined) {
    showExact(time);
    return;
  }
  const utc = `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const isRelative = time.dataset["relative"] !== undefined;
  const text = isRelative
    ? (toDistance(at.getTime() - Date.now()) ?? DATE.format(at))
    : formatMinute(at);
  if (time.textContent !== text) time.textContent = text;
  time.title = isRelative ? `${formatMinute(at)}\n${utc}` : utc;
}

/** A value of a row. On hover it shows all digits from the server. */
function showExact(time: HTMLTimeElement): void {
  if (time.title !== "") return;
  time.title = time.textContent;
  time.textContent = formatTime(time.dateTime);
}

// Times of a field in the reader's time zone, to the second, and the instants that they mean. Pure.

const SECOND_MS = 1000;
/** Clocks change by at most this much, in steps of half an hour. */
const MAX_CHANGE_MS = 2 * 3_600_000;
const STEP_MS = 1_800_000;

/** The value of a `datetime-local` field; empty if the text is not a time. */
export function toLocalText(instant: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return "";
  const pad = (value: number, length = 2) => String(value).padStart(length, "0");
  const day = [pad(at.getFullYear(), 4), pad(at.getMonth() + 1), pad(at.getDate())].join("-");
  return `${day}T${[at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => pad(part)).join(":")}`;
}

/** The instant of a `datetime-local` field. */
export function toInstant(local: string): string {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}

/** The first instant after the second of an instant. */
export function toNextSecond(instant: string): string {
  const ms = new Date(instant).getTime();
  return new Date(ms - (ms % SECOND_MS) + SECOND_MS).toISOString();
}

/** All instants with the same displayed time: two while clocks are set back. */
export function listSameTimes(instant: string): string[] {
  const ms = new Date(instant).getTime();
  const steps = (2 * MAX_CHANGE_MS) / STEP_MS + 1;
  return Array.from({ length: steps }, (_, step) => ms - MAX_CHANGE_MS + step * STEP_MS)
    .map((other) => new Date(other).toISOString())
    .filter((other) => toLocalText(other) === toLocalText(instant));
}

/** The name of the reader's time zone. */
export function nameZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
