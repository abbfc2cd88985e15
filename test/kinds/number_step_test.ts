/** The next and the previous number: a strict bound of a walk begins or ends there. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { SQL } from "../../src/kinds/mod.ts";

const next = (value: number, by: 1 | -1) => Number(SQL.number.step?.(String(value), by));

test("no number lies between a number and the next one", () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, noDefaultInfinity: true, max: 1e300, min: -1e300 }),
      (value) => {
        for (const by of [1, -1] as const) {
          const found = next(value, by);
          expect(by > 0 ? found > value : found < value).toBe(true);
          expect([value, found]).toContain((value + found) / 2);
          expect(next(found, by > 0 ? -1 : 1) === value).toBe(true);
        }
      },
    ),
  );
});

test("the smallest numbers are next to zero, and the largest number is the last", () => {
  expect(next(0, 1)).toBe(Number.MIN_VALUE);
  expect(next(0, -1)).toBe(-Number.MIN_VALUE);
  expect(SQL.number.step?.(String(Number.MAX_VALUE), 1)).toBeUndefined();
  expect(SQL.number.step?.(String(-Number.MAX_VALUE), -1)).toBeUndefined();
});
