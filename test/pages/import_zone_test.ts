/** The times of a file that have no time zone, read in the zone of the browser. */
import { afterEach, expect, test } from "bun:test";
import { toLocalOffset } from "../../src/pages/scripts/import/parts.ts";

const { TZ } = process.env;
afterEach(() => {
  process.env["TZ"] = TZ ?? "UTC";
});

test.each([
  { zone: "Europe/Berlin", local: "2026-01-02T03:04:05", moment: "2026-01-02T02:04:05.000Z" },
  { zone: "Europe/Berlin", local: "2026-07-02T03:04:05.5", moment: "2026-07-02T01:04:05.500Z" },
  // The hour exists twice: the first.
  { zone: "Europe/Berlin", local: "2026-10-25T02:30:00", moment: "2026-10-25T00:30:00.000Z" },
  // The hour does not exist: the clock shows 03:30.
  { zone: "Europe/Berlin", local: "2026-03-29T02:30:00", moment: "2026-03-29T01:30:00.000Z" },
  // The day begins at 01:00.
  { zone: "America/Havana", local: "2026-03-08T00:00:00", moment: "2026-03-08T05:00:00.000Z" },
  { zone: "Asia/Kolkata", local: "2026-03-08T00:00:00", moment: "2026-03-07T18:30:00.000Z" },
  { zone: "America/St_Johns", local: "2026-01-01T00:00:00", moment: "2026-01-01T03:30:00.000Z" },
])("$local in $zone is $moment", ({ zone, local, moment }) => {
  process.env["TZ"] = zone;
  expect(new Date(local + toLocalOffset(local)).toISOString()).toBe(moment);
});

test("a time that does not exist anywhere is left to the check of the value", () => {
  expect(toLocalOffset("2026-13-01T00:00:00")).toBe("Z");
});
