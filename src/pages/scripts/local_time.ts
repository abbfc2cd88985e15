/** Times of a field in the reader's time zone, to the second, and the instants that they mean. Pure. @module */

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
