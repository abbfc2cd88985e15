import { expect, test } from "bun:test";
import { readTimestamp } from "../std/timestamp.ts";
import { toValueSchema } from "./mod.ts";

const pattern = new RegExp(
  String(
    toValueSchema({ name: "at", kind: "timestamp", required: true, unique: false, index: false })[
      "pattern"
    ],
  ),
);

test("the pattern of a timestamp matches the values that its reader accepts", () => {
  const days = Array.from({ length: 12 * 33 }, (_, index) => {
    const [month, day] = [Math.floor(index / 33) + 1, index % 33];
    return `${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
  });
  const years = ["0000", "0004", "1900", "2000", "2023", "2024", "2100", "2400", "9999"];
  const moments = years.flatMap((year) => days.map((day) => `${year}-${day}T23:59:59.999999Z`));
  const forms = [
    ...["2026-01-02T03:04:05+15:59", "2026-01-02T03:04:05+16:00", "2026-01-02T03:04:05-00:60"],
    ...["2026-01-02T24:00:00Z", "2026-01-02T03:04:60Z", "2026-01-02T03:04:05.Z"],
    ...["2026-01-02T03:04:05.1234567Z", "2026-01-02T03:04:05.123456789Z"],
    ...["2026-01-02T03:04:05.1234567891Z", "2026-01-02t03:04:05z", "2026-01-02T03:04:05"],
    ...[" 2026-01-02T03:04:05Z"],
  ];
  const differing = [...moments, ...forms].filter(
    (text) => pattern.test(text) !== (readTimestamp(text) !== undefined),
  );
  expect(differing).toEqual([]);
});
