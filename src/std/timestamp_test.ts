import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cases } from "../../test/support/cases.ts";
import { drawRuns } from "../../test/support/tier.ts";
import { readTimestamp } from "./timestamp.ts";

describe("readTimestamp() reads", () => {
  test.each(cases("name", "text", "want")`
    Z                                         | 2026-01-02T03:04:05Z                | 2026-01-02T03:04:05+00:00
    an offset and microseconds                | 2026-01-02T03:04:05.123456+02:00    | 2026-01-02T01:04:05.123456+00:00
    an offset behind UTC, over midnight       | 2025-12-31T23:30:00.1-01:45         | 2026-01-01T01:15:00.1+00:00
    zeros after the last significant digit    | 2026-01-02T03:04:05.120000Z         | 2026-01-02T03:04:05.12+00:00
    a fraction of zeros                       | 2026-01-02T03:04:05.000Z            | 2026-01-02T03:04:05+00:00
    seven decimals, as .NET writes            | 2026-01-02T03:04:05.1234567Z        | 2026-01-02T03:04:05.123457+00:00
    nine decimals, as Go, Java and Rust write | 2026-01-02T03:04:05.123456789+01:00 | 2026-01-02T02:04:05.123457+00:00
    decimals that round to the next year      | 2025-12-31T23:59:59.9999995Z        | 2026-01-01T00:00:00+00:00
    29 February of a leap year                | 2024-02-29T00:00:00Z                | 2024-02-29T00:00:00+00:00
    29 February of 2000                       | 2000-02-29T00:00:00Z                | 2000-02-29T00:00:00+00:00
    the earliest timestamp                    | 0001-01-01T00:00:00Z                | 0001-01-01T00:00:00+00:00
    the latest timestamp                      | 9999-12-31T23:59:59.999999Z         | 9999-12-31T23:59:59.999999+00:00
    year 0000 that becomes 0001 by the offset | 0000-12-31T23:00:00-01:00           | 0001-01-01T00:00:00+00:00
    the year 50, not 1950                     | 0050-06-01T12:00:00+00:00           | 0050-06-01T12:00:00+00:00
    the largest offset                        | 2026-01-02T00:00:00-15:59           | 2026-01-02T15:59:00+00:00
  `)("$name", ({ text, want }) => expect(readTimestamp(text)).toBe(want));
});

describe("readTimestamp() rejects", () => {
  test.each([
    { name: "a local time", text: "2026-01-02T03:04:05" },
    { name: "a date", text: "2026-01-02" },
    { name: "no seconds", text: "2026-01-02T03:04Z" },
    { name: "30 February", text: "2026-02-30T00:00:00Z" },
    { name: "29 February of 1900", text: "1900-02-29T00:00:00Z" },
    { name: "31 April", text: "2026-04-31T00:00:00Z" },
    { name: "month 0", text: "2026-00-10T00:00:00Z" },
    { name: "month 13", text: "2026-13-10T00:00:00Z" },
    { name: "day 0", text: "2026-01-00T00:00:00Z" },
    { name: "hour 24", text: "2026-01-02T24:00:00Z" },
    { name: "minute 60", text: "2026-01-02T03:60:00Z" },
    { name: "a leap second", text: "2016-12-31T23:59:60Z" },
    { name: "ten decimals", text: "2026-01-02T03:04:05.1234567891Z" },
    { name: "a time that rounds to the year 10000", text: "9999-12-31T23:59:59.9999996Z" },
    { name: "a point without digits", text: "2026-01-02T03:04:05.Z" },
    { name: "a comma", text: "2026-01-02T03:04:05,5Z" },
    { name: "a space instead of T", text: "2026-01-02 03:04:05Z" },
    { name: "lowercase", text: "2026-01-02t03:04:05z" },
    { name: "an offset of 16 hours", text: "2026-01-02T03:04:05+16:00" },
    { name: "an offset of 60 minutes", text: "2026-01-02T03:04:05+01:60" },
    { name: "an offset without colon", text: "2026-01-02T03:04:05+0100" },
    { name: "year 0000", text: "0000-12-31T23:59:59Z" },
    { name: "a year after 9999 by its offset", text: "9999-12-31T23:59:59-00:01" },
    { name: "a year before 0001 by its offset", text: "0001-01-01T00:00:00+00:01" },
    { name: "infinity", text: "infinity" },
    { name: "now", text: "now" },
    { name: "surrounding space", text: " 2026-01-02T03:04:05Z" },
    { name: "a trailing newline", text: "2026-01-02T03:04:05Z\n" },
    { name: "digits of other scripts", text: "٢٠٢٦-01-02T03:04:05Z" },
    { name: "nothing", text: "" },
  ])("$name", ({ text }) => expect(readTimestamp(text)).toBeUndefined());
});

const moment = fc.date({
  min: new Date("0001-01-02T00:00:00Z"),
  max: new Date("9999-12-30T23:59:59.999Z"),
  noInvalidDate: true,
});

test("readTimestamp() agrees with Date to the millisecond, and reads its own output", () => {
  fc.assert(
    fc.property(moment, fc.integer({ min: -959, max: 959 }), (date, offset) => {
      const local = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, -1);
      const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60];
      const digits = `${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`;
      const read = readTimestamp(`${local}${offset < 0 ? "-" : "+"}${digits}`) ?? "";
      expect(new Date(read).getTime()).toBe(date.getTime());
      expect(readTimestamp(read)).toBe(read);
    }),
    drawRuns(1000),
  );
});
