/** Moments: timestamps as text, to the microsecond, and the time in a UUID. Never accepts a time without an offset. @module */

const TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** PostgreSQL rejects offsets of 16 hours or more. */
const OFFSET_MAX_HOURS = 15;
const MINUTE_MS = 60_000;

/**
 * A moment in UTC, as PostgreSQL prints it in JSON, from an ISO 8601 text with `Z` or an offset; `undefined` for
 * anything else. Rounds to the microsecond like PostgreSQL.
 *
 * Rejects a time without offset, a date that does not exist, more than nine decimals, a 60th second, 24:00, an offset of
 * 16 hours or more, lowercase `t` and `z`, and years outside 0001 to 9999 after the offset is applied.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3339#section-5.6
 * @example
 * ```ts
 * expect(readTimestamp("2026-01-02T03:04:05.123456+02:00")).toBe("2026-01-02T01:04:05.123456+00:00");
 * expect(readTimestamp("2026-01-02T03:04:05.500Z")).toBe("2026-01-02T03:04:05.5+00:00");
 * expect(readTimestamp("2026-01-02T03:04:05.9999996Z")).toBe("2026-01-02T03:04:06+00:00");
 * expect(readTimestamp("2026-02-30T00:00:00Z")).toBeUndefined();
 * expect(readTimestamp("2026-01-02T03:04:05")).toBeUndefined();
 * ```
 */
export function readTimestamp(text: string): string | undefined {
  const parts = TIMESTAMP.exec(text);
  if (parts === null) return undefined;
  const local = toLocalMoment(parts);
  const offset = toOffsetMs(parts);
  if (local === undefined || offset === undefined) return undefined;
  const micros = roundFraction(parts[7]);
  const utc = new Date(local - offset + (micros === SECOND_MICROS ? 1000 : 0));
  const year = utc.getUTCFullYear();
  if (year < 1 || year > 9999) return undefined;
  return `${utc.toISOString().slice(0, 19)}${toFraction(micros)}+00:00`;
}

/**
 * The moment a microsecond later or earlier, in UTC; `undefined` if the text is no moment, or outside the years 0001 to 9999.
 *
 * @example
 * ```ts
 * expect(toNextMicrosecond("2025-12-31T23:59:59.999999Z", 1)).toBe("2026-01-01T00:00:00+00:00");
 * expect(toNextMicrosecond("2026-01-01T00:00:00Z", -1)).toBe("2025-12-31T23:59:59.999999+00:00");
 * expect(toNextMicrosecond("9999-12-31T23:59:59.999999Z", 1)).toBeUndefined();
 * ```
 */
export function toNextMicrosecond(text: string, by: 1 | -1): string | undefined {
  const moment = readTimestamp(text);
  if (moment === undefined) return undefined;
  const micros = Number((moment.slice(19, -6) || ".").slice(1).padEnd(6, "0")) + by;
  const isMoved = micros < 0 || micros === SECOND_MICROS;
  const second = new Date(Date.parse(`${moment.slice(0, 19)}Z`) + (isMoved ? by * 1000 : 0));
  const year = second.getUTCFullYear();
  if (year < 1 || year > 9999) return undefined;
  const fraction = toFraction((micros + SECOND_MICROS) % SECOND_MICROS);
  return `${second.toISOString().slice(0, 19)}${fraction}+00:00`;
}

/** Milliseconds to the whole second, or `undefined` if no such moment exists. */
function toLocalMoment(parts: RegExpExecArray): number | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(1, 7)
    .map(Number);
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  // Date.UTC reads the years 0 to 99 as 1900 to 1999; setUTCFullYear reads them literally.
  const moment = new Date(0);
  moment.setUTCFullYear(year, month - 1, day);
  const exists = moment.getUTCMonth() === month - 1 && moment.getUTCDate() === day;
  return exists ? moment.setUTCHours(hour, minute, second) : undefined;
}

function toOffsetMs(parts: RegExpExecArray): number | undefined {
  const [sign, hours, minutes] = [parts[8], Number(parts[9] ?? 0), Number(parts[10] ?? 0)];
  if (hours > OFFSET_MAX_HOURS || minutes > 59) return undefined;
  return (sign === "-" ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS;
}

const SECOND_MICROS = 1_000_000;

/** Microseconds, rounded by the same operations on the same doubles as in PostgreSQL: half to even. */
function roundFraction(digits = "0"): number {
  const micros = Number(`0.${digits}`) * SECOND_MICROS;
  const below = Math.floor(micros);
  const isUp = micros - below > 0.5 || (micros - below === 0.5 && below % 2 === 1);
  return isUp ? below + 1 : below;
}

/** Drops trailing zeros, and a fraction of only zeros, like PostgreSQL. */
function toFraction(micros: number): string {
  const digits = String(micros % SECOND_MICROS).padStart(6, "0");
  const significant = digits.replace(/0+$/, "");
  return significant === "" ? "" : `.${significant}`;
}
