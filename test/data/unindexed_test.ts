/** Who runs a query that no index serves, and when: by counts, in a process without a database to share its limits with. */
import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { makeUnindexed } from "../../src/data/mod.ts";
import { makeSharedBuckets } from "../../src/db/mod.ts";
import { Problem } from "../../src/problem.ts";
import { eventually } from "../support/eventually.ts";

// The clock stands still: on a busy machine, a query that took its turn after a moment would pause at random, and others begin before it.
let clock: ReturnType<typeof stopClock>;
const stopClock = () => spyOn(performance, "now").mockReturnValue(performance.now());
beforeAll(() => {
  clock = stopClock();
});
afterAll(() => clock.mockRestore());

type Context = Parameters<ReturnType<typeof makeUnindexed>["run"]>[0];
type Ended = { tookMs: number; error?: Error | undefined; isBusy?: boolean };
const SLOW_MS = 100;
const FOUND = new TextEncoder().encode("found");

/** Queries in progress, each with the end that it waits for. */
function open(connections: number, msAMinute = 1_000_000) {
  const errors: unknown[] = [];
  const buckets = makeSharedBuckets({
    lease: () => Promise.reject(new Error("no database")),
    logError: (error) => void errors.push(error),
  });
  const { run } = makeUnindexed({ connections, buckets }, { msAMinute });
  const running: { name: string; isInTurn: boolean; end: (ended: Ended) => void }[] = [];
  const ask = (
    app: string,
    { table = "todos", person }: { table?: string; person?: string | undefined } = {},
  ) => {
    const context = {
      principal: { appId: app, person: person === undefined ? undefined : { id: person } },
      request: new Request("http://localhost"),
      meter: { dbMs: 0 },
    } as unknown as Context;
    return run(context, table, (freeMs) => {
      const isInTurn = freeMs === undefined;
      const { promise, resolve, reject } = Promise.withResolvers<typeof FOUND>();
      const end = ({ tookMs, error, isBusy = false }: Ended): void => {
        context.meter.dbMs += tookMs;
        if (error === undefined) resolve(isBusy ? new Uint8Array() : FOUND);
        else reject(error);
      };
      running.push({ name: `${app}${person ?? ""}`, isInTurn, end });
      return promise;
    }).then(
      (found) => new TextDecoder().decode(found ?? undefined),
      (error: { code?: string; message: string }) => error.code ?? error.message,
    );
  };
  /** The queries in progress once there are as many; one more would have begun by then. */
  const progress = async (count: number) => {
    await eventually(() => running.length >= count);
    await Bun.sleep(0);
    return running.map(({ name, isInTurn }) => (isInTurn ? name : `${name} without a turn`));
  };
  const endNext = async (tookMs: number, rest: Omit<Ended, "tookMs"> = {}) => {
    await progress(1);
    running.shift()?.end({ tookMs, ...rest });
  };
  return { ask, progress, endNext, errors };
}

test("an app runs two at a time, all apps together on half of the connections", async () => {
  const { ask, progress, endNext } = open(7);
  const asked: Promise<string>[] = ["a", "a", "a", "b", "b"].map((app) => ask(app));
  expect(await progress(3)).toEqual(["a", "a", "b"]);
  await endNext(SLOW_MS);
  expect(await progress(3)).toEqual(["a", "b", "a"]);
  for (let left = 4; left > 0; left--) await endNext(SLOW_MS);
  expect(await Promise.all(asked)).toEqual(Array(5).fill("found"));
});

test("a person runs one at a time, beside the others of the app", async () => {
  const { ask, progress, endNext } = open(10);
  const asked = ["ada", "ada", "bob"].map((person) => ask("a ", { person }));
  expect(await progress(2)).toEqual(["a ada", "a bob"]);
  for (let left = 3; left > 0; left--) await endNext(SLOW_MS);
  expect(await Promise.all(asked)).toEqual(Array(3).fill("found"));
});

const FREE = "a without a turn";

test.each([
  ["a quick one", undefined, 1, [FREE, FREE, FREE, FREE]],
  ["a slow one", undefined, SLOW_MS, ["a", "a"]],
  ["one that failed soon, as of a caller who left", new Error("left"), 1, ["a", "a"]],
])("after %s, a table has as many at a time as it may", async (_, error, tookMs, expected) => {
  const { ask, progress, endNext } = open(20);
  const first = ask("a");
  await endNext(tookMs, { error });
  expect(await first).toBe(error?.message ?? "found");
  const asked = Array.from({ length: 4 }, () => ask("a"));
  const other = ask("a", { table: "others" });
  expect((await progress(expected.length)).filter((name) => name === expected[0])).toEqual(
    expected,
  );
  for (let left = 5; left > 0; left--) await endNext(1);
  expect(new Set([...(await Promise.all(asked)), await other])).toEqual(new Set(["found"]));
});

test("quick ones without a turn are on half of the connections, and after a slow one all take turns for a minute", async () => {
  const { ask, progress, endNext } = open(4);
  const run = async (tookMs: number) => {
    const answer = ask("a");
    await endNext(tookMs);
    return await answer;
  };
  expect(await run(1)).toBe("found");
  const asked = Array.from({ length: 3 }, () => ask("a"));
  expect(await progress(2)).toEqual([FREE, FREE]);
  await endNext(SLOW_MS);
  for (let left = 2; left > 0; left--) await endNext(1);
  expect(await Promise.all(asked)).toEqual(Array(3).fill("found"));
  expect(await run(1)).toBe("found");
  const last = ask("a");
  expect(await progress(1)).toEqual(["a"]);
  await endNext(1);
  expect(await last).toBe("found");
});

test("one without a turn that is canceled after a moment takes a turn", async () => {
  const { ask, progress, endNext } = open(4);
  const first = ask("a");
  await endNext(1);
  expect(await first).toBe("found");
  const asked = ask("a");
  expect(await progress(1)).toEqual([FREE]);
  await endNext(SLOW_MS, { error: new Problem("timeout") });
  expect(await progress(1)).toEqual(["a"]);
  await endNext(SLOW_MS, { error: new Problem("timeout") });
  expect(await asked).toBe("timeout");
});

test("while other processes have the app's turns, a query asks again, and uses no time", async () => {
  const { ask, progress, endNext } = open(10, 1000);
  const asked = ask("a");
  for (let busy = 3; busy > 0; busy--) await endNext(SLOW_MS * 5, { isBusy: true });
  expect(await progress(1)).toEqual(["a"]);
  await endNext(SLOW_MS);
  expect(await asked).toBe("found");
});

test("without a database an app has its time in a minute, a person half of it, and another app its own", async () => {
  const { ask, endNext, errors } = open(20, 1000);
  const spend = async (app: string, person?: string) => {
    const answer = ask(app, { person });
    await endNext(600);
    return await answer;
  };
  expect(await spend("a", "ada")).toBe("found");
  expect(await ask("a", { person: "ada" })).toBe("rate_limited");
  expect(await spend("a", "bob")).toBe("found");
  for (const person of ["bob", "eve", undefined])
    expect(await ask("a", { person })).toBe("rate_limited");
  expect(await spend("b")).toBe("found");
  expect(errors.length).toBeGreaterThan(0);
});
