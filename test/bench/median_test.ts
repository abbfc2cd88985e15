/** Medians and percentiles, by hand. */
import { expect, test } from "bun:test";
import { median, percentile } from "./median.ts";

test.each([
  { values: [], want: 0 },
  { values: [7], want: 7 },
  { values: [9, 1], want: 5 },
  { values: [3, 1, 2], want: 2 },
  { values: [4, 100, 1, 2], want: 3 },
])("median() of $values is $want", ({ values, want }) => expect(median(values)).toBe(want));

test.each([
  { share: 0.5, want: 51 },
  { share: 0.99, want: 100 },
  { share: 1, want: 100 },
])("percentile() $share of 1 to 100 is $want", ({ share, want }) => {
  const sorted = Array.from({ length: 100 }, (_, index) => index + 1);
  expect(percentile(sorted, share)).toBe(want);
});
