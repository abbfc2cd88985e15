import { describe, expect, test } from "bun:test";
import { findOverrun, measureSlowness, type Progress } from "./budget.ts";

const LIMIT = 85;
const START: Progress = { finished: [], remaining: [10, 10, 10], elapsed: 0, limit: LIMIT };

const of = (expected: number, actual: number) => ({ expected, actual });

describe("a run continues", () => {
  test.each(
    Object.entries<Partial<Progress>>({
      "at its start": {},
      "on a machine that is twice as slow": { finished: [of(10, 20)], elapsed: 20 },
      "up to the last minute": { finished: [of(10, 10)], remaining: [10], elapsed: 75 },
      "after a short part that was slow": { finished: [of(1, 9)], elapsed: 9 },
      "if no part remains": { finished: [of(10, 99)], remaining: [], elapsed: 99 },
    }),
  )("%s", (_, progress) => expect(findOverrun({ ...START, ...progress })).toBeUndefined());
});

describe("a run ends early", () => {
  test.each(
    Object.entries<[progress: Partial<Progress>, message: string]>({
      "on a machine that is three times as slow": [
        { finished: [of(10, 30)], elapsed: 30 },
        "The 3 parts that remain need about 90 minutes on this machine, which is 3.0 times as slow as expected, and 55 of 85 minutes are left",
      ],
      "if time passed outside the parts": [
        { remaining: [10], finished: [of(20, 20)], elapsed: 80 },
        "The 1 part that remains needs about 10 minutes on this machine, which is 1.0 times as slow as expected, and 5 of 85 minutes are left",
      ],
      "if the time is over": [
        { remaining: [1], finished: [of(29, 58)], elapsed: 90 },
        "The 1 part that remains needs about 2 minutes on this machine, which is 2.0 times as slow as expected, and 0 of 85 minutes are left",
      ],
    }),
  )("%s", (_, [progress, message]) => {
    expect(findOverrun({ ...START, ...progress })).toBe(message);
  });
});

test("the machine counts as the expected one until a twentieth of the work is done", () => {
  const progress = { ...START, remaining: [95], finished: [{ expected: 4, actual: 40 }] };
  expect(measureSlowness(progress)).toBe(1);
  expect(measureSlowness({ ...progress, finished: [{ expected: 5, actual: 15 }] })).toBe(3);
});
