/** Medians, percentiles and alternating rounds, compared with values computed by hand. */
import { expect, test } from "bun:test";
import { compare, compareCpu } from "./compare.ts";
import { median, percentile } from "./rounds.ts";

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

test("compare() alternates the rounds, and a round that is slow for all leaves the ratio unchanged", async () => {
  const speeds = [100, 10, 90];
  const order: string[] = [];
  const measure = (side: string, factor: number) => async () => {
    const round = Math.floor((order.push(side) - 1) / 2);
    return { perSecond: (speeds[round] ?? 0) * factor, p50Ms: 1, p99Ms: 2, serverCpu: undefined };
  };
  const sides = { first: measure("first", 2), second: measure("second", 1) };
  const found = await compare("test", sides, { rounds: 3, seconds: 1, connections: 1 });
  expect(order).toEqual(["first", "second", "first", "second", "first", "second"]);
  expect(found.ratios).toEqual({ second: 2 });
  expect(found.sides["first"]).toEqual({
    perSecond: 180,
    p50Ms: 1,
    p99Ms: 2,
    serverCpu: undefined,
  });
});

test("compareCpu() compares server and database together, and skips rounds without a measurement", () => {
  const sides = {
    first: { perSecond: 1, serverCpu: 1, databaseCpu: 3 },
    second: { perSecond: 1, serverCpu: 2, databaseCpu: 6 },
    pgbench: { perSecond: 1, databaseCpu: 3 },
  };
  expect(compareCpu(sides, "second", "first")).toBe(2);
  expect(compareCpu(sides, "pgbench", "one")).toBeUndefined();
});
