/** The slope of memory: growth counts, and temporary changes do not. */
import { expect, test } from "bun:test";
import { slope } from "./soak.ts";

const MINUTES = Array.from({ length: 21 }, (_, index) => index / 4);

test.each([
  { name: "a steady leak", toMb: (minute: number) => 80 + 3 * minute, wanted: 3 },
  { name: "constant memory", toMb: () => 80, wanted: 0 },
  {
    name: "a leak with one garbage collection",
    toMb: (minute: number) => 80 + 3 * minute + (minute === 2 ? 40 : 0),
    wanted: 3,
  },
])("slope() of $name is $wanted MB a minute", ({ toMb, wanted }) => {
  const samples = MINUTES.map((minute) => ({ minute, mb: toMb(minute) }));
  expect(slope(samples)).toBeCloseTo(wanted, 6);
});

test("slope() of one sample is undefined", () => {
  expect(slope([{ minute: 0, mb: 80 }])).toBeUndefined();
});
