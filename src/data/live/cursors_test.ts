/** Positions of event streams: which of two includes the other. */
import { expect, test } from "bun:test";
import { isIncluded } from "./cursors.ts";

const AT = (snapshot: string, { feed = "f-1-1", set = "abc" } = {}) => `${feed}.${snapshot}.${set}`;

test.each([
  { before: "10:10:", after: "10:10:", included: true },
  { before: "10:10:", after: "10:11:", included: true },
  { before: "10:12:10,11", after: "10:12:10", included: true },
  { before: "10:12:10", after: "10:12:10,11", included: false },
  // Transaction 13 has ended, 10 to 12 still run.
  { before: "10:10:", after: "10:14:10,11,12", included: true },
  { before: "10:14:10,11,12", after: "10:10:", included: false },
])("$before is included in $after: $included", ({ before, after, included }) => {
  expect(isIncluded(AT(before), AT(after))).toBe(included);
});

test("positions of other feeds or columns are not comparable", () => {
  expect(isIncluded(AT("1:1:", { feed: "g-1-1" }), AT("9:9:"))).toBe(false);
  expect(isIncluded(AT("1:1:", { set: "def" }), AT("9:9:"))).toBe(false);
});
