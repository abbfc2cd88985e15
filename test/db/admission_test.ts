import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { makeAdmission } from "../../src/db/admission.ts";

const LIMITS = { connections: 4, laneQueue: 3, queue: 5 };

describe("makeAdmission()", () => {
  test("never gives one lane the last connection", () => {
    const admission = makeAdmission<string>(LIMITS);
    const started = ["a", "a", "a", "a"].filter((lane) => {
      const may = admission.mayStart(lane);
      if (may) admission.start(lane);
      return may;
    });
    expect([started.length, admission.mayStart("b")]).toEqual([3, true]);
  });

  test("gives a lane all of a small pool", () => {
    const admission = makeAdmission<string>({ ...LIMITS, connections: 2 });
    admission.start("a");
    expect(admission.mayStart("a")).toBe(true);
  });

  test("serves lanes in rotation, each in order of arrival", () => {
    const admission = makeAdmission<string>(LIMITS);
    for (const [lane, waiter] of [
      ["a", "a1"],
      ["a", "a2"],
      ["a", "a3"],
      ["b", "b1"],
      ["c", "c1"],
    ] as const)
      admission.join(lane, waiter);
    expect([1, 2, 3, 4, 5, 6].map(() => admission.next())).toEqual([
      "a1",
      "b1",
      "c1",
      "a2",
      "a3",
      undefined,
    ]);
  });

  test("lets nobody pass who waits in the same lane", () => {
    const admission = makeAdmission<string>(LIMITS);
    admission.join("a", "a1");
    expect(admission.mayStart("a")).toBe(false);
  });

  test("refuses past a lane's queue and past the whole queue, and tells which", () => {
    const admission = makeAdmission<number>(LIMITS);
    const joined = ["a", "a", "a", "a", "b", "b", "b"].map((lane, index) =>
      admission.join(lane, index),
    );
    expect(joined).toEqual([
      undefined,
      undefined,
      undefined,
      "lane_full",
      undefined,
      undefined,
      "full",
    ]);
  });

  test("forgets a lane that has nobody, and counts right whatever happens", () => {
    const lane = fc.constantFrom("a", "b", "c");
    const action = fc.tuple(fc.constantFrom("start", "finish", "join", "leave", "next"), lane);
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const admission = makeAdmission<{ lane: string }>(LIMITS);
        const running: string[] = [];
        const waiting: { lane: string }[] = [];
        for (const [what, name] of actions) {
          if (what === "start" && running.length < 4 && admission.mayStart(name)) {
            admission.start(name);
            running.push(name);
          }
          if (what === "finish" && running.includes(name)) {
            admission.finish(name);
            running.splice(running.indexOf(name), 1);
          }
          const waiter = { lane: name };
          if (what === "join" && admission.join(name, waiter) === undefined) waiting.push(waiter);
          const leaver = waiting.find((one) => one.lane === name);
          if (what === "leave" && leaver !== undefined) {
            admission.leave(name, leaver);
            waiting.splice(waiting.indexOf(leaver), 1);
          }
          const next = what === "next" && running.length < 4 ? admission.next() : undefined;
          if (next !== undefined) {
            waiting.splice(waiting.indexOf(next), 1);
            running.push(next.lane);
          }
          expect([admission.running(), admission.waiting()]).toEqual([
            running.length,
            waiting.length,
          ]);
          for (const one of ["a", "b", "c"])
            expect(running.filter((name) => name === one).length).toBeLessThanOrEqual(3);
        }
      }),
    );
  });
});
