import { describe, expect, test } from "bun:test";
import { findOverrun, measureSlowness, type Progress } from "./budget.ts";

const LIMIT = 85;
const START: Progress = { finished: [], remaining: [10, 10, 10], elapsed: 0, limit: LIMIT };

describe("a run continues", () => {
  test.each<{ name: string; progress: Progress }>([
    { name: "at its start", progress: START },
    {
      name: "on a machine that is twice as slow",
      progress: { ...START, finished: [{ expected: 10, actual: 20 }], elapsed: 20 },
    },
    {
      name: "up to the last minute",
      progress: {
        finished: [{ expected: 10, actual: 10 }],
        remaining: [10],
        elapsed: 75,
        limit: 85,
      },
    },
    {
      name: "after a short part that was slow",
      progress: { ...START, finished: [{ expected: 1, actual: 9 }], elapsed: 9 },
    },
    {
      name: "if no part remains",
      progress: { finished: [{ expected: 10, actual: 99 }], remaining: [], elapsed: 99, limit: 85 },
    },
  ])("$name", ({ progress }) => expect(findOverrun(progress)).toBeUndefined());
});

describe("a run ends early", () => {
  test.each<{ name: string; progress: Progress; message: string }>([
    {
      name: "on a machine that is three times as slow",
      progress: { ...START, finished: [{ expected: 10, actual: 30 }], elapsed: 30 },
      message:
        "The 3 parts that remain need about 90 minutes on this machine, which is 3.0 times as slow as expected, and 55 of 85 minutes are left",
    },
    {
      name: "if time passed outside the parts",
      progress: {
        ...START,
        remaining: [10],
        finished: [{ expected: 20, actual: 20 }],
        elapsed: 80,
      },
      message:
        "The 1 part that remains needs about 10 minutes on this machine, which is 1.0 times as slow as expected, and 5 of 85 minutes are left",
    },
    {
      name: "if the time is over",
      progress: { ...START, remaining: [1], finished: [{ expected: 29, actual: 58 }], elapsed: 90 },
      message:
        "The 1 part that remains needs about 2 minutes on this machine, which is 2.0 times as slow as expected, and 0 of 85 minutes are left",
    },
  ])("$name", ({ progress, message }) => expect(findOverrun(progress)).toBe(message));
});

test("the machine counts as the expected one until a twentieth of the work is done", () => {
  const progress = { ...START, remaining: [95], finished: [{ expected: 4, actual: 40 }] };
  expect(measureSlowness(progress)).toBe(1);
  expect(measureSlowness({ ...progress, finished: [{ expected: 5, actual: 15 }] })).toBe(3);
});
