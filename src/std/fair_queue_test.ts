import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { drawRuns } from "../../test/support/tier.ts";
import { makeFairQueue } from "./fair_queue.ts";

const LIMITS = { connections: 4, perQueue: 3, total: 5 };

describe("makeFairQueue()", () => {
  test("never gives one queue the last connection", () => {
    const fairQueue = makeFairQueue<string>(LIMITS);
    const started = ["a", "a", "a", "a"].filter((queue) => {
      const may = fairQueue.mayStart(queue);
      if (may) fairQueue.start(queue);
      return may;
    });
    expect([started.length, fairQueue.mayStart("b")]).toEqual([3, true]);
  });

  test("reserves connections for the queues of other nodes, and for queues without a node", () => {
    const nodeOf = (queue: string) => ({ a: "one", b: "one", c: "two" })[queue];
    const fairQueue = makeFairQueue<string>({ ...LIMITS, connections: 8, nodeOf });
    const started = ["a", "b", "a", "b", "a", "b", "c", "service"].filter((queue) => {
      const may = fairQueue.mayStart(queue);
      if (may) fairQueue.start(queue);
      return may;
    });
    expect(started).toEqual(["a", "b", "a", "b", "a", "c", "service"]);
    for (const queue of ["b", "c"]) fairQueue.join(queue, `${queue} waits`);
    expect([fairQueue.next(), fairQueue.next()]).toEqual(["c waits", undefined]);
    fairQueue.finish("a");
    expect(fairQueue.next()).toBe("b waits");
  });

  test("reserves a connection for other queues of a node with a busy queue, and for other nodes", () => {
    const nodeOf = (queue: string) => ({ a: "one", b: "one", c: "two" })[queue];
    const fairQueue = makeFairQueue<string>({ ...LIMITS, share: 2, nodeOf });
    const started = ["a", "a", "a", "b", "b", "c"].filter((queue) => {
      const may = fairQueue.mayStart(queue);
      if (may) fairQueue.start(queue);
      return may;
    });
    expect(started).toEqual(["a", "a", "b", "c"]);
  });

  test("gives a queue all connections of a small pool", () => {
    const fairQueue = makeFairQueue<string>({ ...LIMITS, connections: 2 });
    fairQueue.start("a");
    expect(fairQueue.mayStart("a")).toBe(true);
  });

  test("gives a queue only its share, also in a small pool", () => {
    const fairQueue = makeFairQueue<string>({ ...LIMITS, connections: 2, share: 1 });
    fairQueue.start("a");
    fairQueue.join("a", "a2");
    fairQueue.join("b", "b1");
    expect([fairQueue.mayStart("a"), fairQueue.next(), fairQueue.next()]).toEqual([
      false,
      "b1",
      undefined,
    ]);
  });

  test("serves queues in rotation, each in order of arrival", () => {
    const fairQueue = makeFairQueue<string>(LIMITS);
    for (const [queue, waiter] of [
      ["a", "a1"],
      ["a", "a2"],
      ["a", "a3"],
      ["b", "b1"],
      ["c", "c1"],
    ] as const)
      fairQueue.join(queue, waiter);
    expect([1, 2, 3, 4, 5, 6].map(() => fairQueue.next())).toEqual([
      "a1",
      "b1",
      "c1",
      "a2",
      "a3",
      undefined,
    ]);
  });

  test("serves lanes of a queue in rotation, and leaves a quarter to the others of the queue", () => {
    const fairQueue = makeFairQueue<string>({ connections: 9, perQueue: 8, total: 20 });
    const heavy = { name: "ada", weight: 2 };
    const light = { name: "bob" };
    const start = (lane?: typeof heavy | typeof light) => {
      const may = fairQueue.mayStart("app", lane);
      if (may) fairQueue.start("app", lane);
      return may;
    };
    // Three quarters of 8 connections, at a weight of 2.
    expect([1, 2, 3, 4].map(() => start(heavy))).toEqual([true, true, true, false]);
    const joined = [1, 2, 3, 4, 5, 6, 7].map((n) => fairQueue.join("app", `a${n}`, heavy));
    expect(joined.map((reason): string => reason ?? "waits")).toEqual([
      ...Array.from({ length: 6 }, () => "waits"),
      "queue_full",
    ]);
    expect([start(light), start(), start()]).toEqual([true, true, true]);
    fairQueue.join("app", "b1", light);
    fairQueue.join("app", "server");
    fairQueue.finish("app", heavy);
    expect([1, 2, 3, 4].map(() => fairQueue.next())).toEqual(["a1", "b1", "server", undefined]);
  });

  test("keeps the order within a queue", () => {
    const fairQueue = makeFairQueue<string>(LIMITS);
    fairQueue.join("a", "a1");
    expect(fairQueue.mayStart("a")).toBe(false);
  });

  test("rejects when one queue or all queues are full, and names which", () => {
    const fairQueue = makeFairQueue<number>(LIMITS);
    const joined = ["a", "a", "a", "a", "b", "b", "b"].map((queue, index) =>
      fairQueue.join(queue, index),
    );
    expect(joined).toEqual([
      undefined,
      undefined,
      undefined,
      "queue_full",
      undefined,
      undefined,
      "full",
    ]);
  });

  test("removes empty queues, and counts correctly after any sequence of calls", () => {
    const queue = fc.constantFrom("a", "b", "c");
    const action = fc.tuple(fc.constantFrom("start", "finish", "join", "leave", "next"), queue);
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const fairQueue = makeFairQueue<{ queue: string }>(LIMITS);
        const running: string[] = [];
        const waiting: { queue: string }[] = [];
        for (const [step, name] of actions) {
          if (step === "start" && running.length < 4 && fairQueue.mayStart(name)) {
            fairQueue.start(name);
            running.push(name);
          }
          if (step === "finish" && running.includes(name)) {
            fairQueue.finish(name);
            running.splice(running.indexOf(name), 1);
          }
          const waiter = { queue: name };
          if (step === "join" && fairQueue.join(name, waiter) === undefined) waiting.push(waiter);
          const leaver = waiting.find((waiter) => waiter.queue === name);
          if (step === "leave" && leaver !== undefined) {
            fairQueue.leave(name, leaver);
            waiting.splice(waiting.indexOf(leaver), 1);
          }
          const next = step === "next" && running.length < 4 ? fairQueue.next() : undefined;
          if (next !== undefined) {
            waiting.splice(waiting.indexOf(next), 1);
            running.push(next.queue);
          }
          expect([fairQueue.running(), fairQueue.waiting()]).toEqual([
            running.length,
            waiting.length,
          ]);
          for (const queue of ["a", "b", "c"])
            expect(running.filter((name) => name === queue).length).toBeLessThanOrEqual(3);
        }
      }),
      drawRuns(1000),
    );
  });
});
