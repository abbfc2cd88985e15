/** Who runs a query that no index serves, and when: by counts, without a database. */
import { expect, test } from "bun:test";
import { makeUnindexed } from "../../src/data/mod.ts";

type Context = Parameters<ReturnType<typeof makeUnindexed>["run"]>[0];
const SLOW_MS = 100;

/** Queries in progress, each with the end that it waits for. */
function open(connections: number, msAMinute = 1_000_000) {
  const { run } = makeUnindexed(connections, { msAMinute });
  const running: { name: string; end: (tookMs: number, error?: Error) => void }[] = [];
  const ask = (app: string, { table = "todos", person = "" } = {}) => {
    const context = {
      principal: { appId: app, person: person === "" ? undefined : { id: person } },
      request: new Request("http://localhost"),
      meter: { dbMs: 0 },
    } as unknown as Context;
    return run(context, table, () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const end = (tookMs: number, error?: Error): void => {
        context.meter.dbMs += tookMs;
        if (error === undefined) resolve("found");
        else reject(error);
      };
      running.push({ name: `${app}${person}`, end });
      return promise;
    }).catch((error: { code?: string; message: string }) => error.code ?? error.message);
  };
  const names = async () => {
    await Bun.sleep(0);
    return running.map(({ name }) => name);
  };
  const endNext = async (tookMs: number, error?: Error) => {
    await Bun.sleep(0);
    running.shift()?.end(tookMs, error);
  };
  return { ask, names, endNext };
}

test("an app runs two at a time, all apps together on half of the connections", async () => {
  const { ask, names, endNext } = open(7);
  const asked: Promise<string>[] = ["a", "a", "a", "b", "b"].map((app) => ask(app));
  expect(await names()).toEqual(["a", "a", "b"]);
  await endNext(SLOW_MS);
  expect(await names()).toEqual(["a", "b", "a"]);
  for (let left = 4; left > 0; left--) await endNext(SLOW_MS);
  expect(await Promise.all(asked)).toEqual(Array(5).fill("found"));
});

test("a person runs one at a time, beside the others of the app", async () => {
  const { ask, names, endNext } = open(10);
  const asked = ["ada", "ada", "bob"].map((person) => ask("a ", { person }));
  expect(await names()).toEqual(["a ada", "a bob"]);
  for (let left = 3; left > 0; left--) await endNext(SLOW_MS);
  expect(await Promise.all(asked)).toEqual(Array(3).fill("found"));
});

test.each([
  ["a quick one", undefined, 1, 4],
  ["a slow one", undefined, SLOW_MS, 2],
  ["one that failed soon, as of a caller who left", new Error("left"), 1, 2],
] as const)("after %s, a table has as many at a time as it may", async (_, error, tookMs, most) => {
  const { ask, names, endNext } = open(20);
  const first = ask("a");
  await endNext(tookMs, error);
  expect(await first).toBe(error?.message ?? "found");
  const asked = Array.from({ length: 4 }, () => ask("a"));
  const other = ask("a", { table: "others" });
  expect((await names()).length).toBe(most === 4 ? 5 : most);
  for (let left = 5; left > 0; left--) await endNext(1);
  expect(new Set([...(await Promise.all(asked)), await other])).toEqual(new Set(["found"]));
});

test("an app has its time in a minute, a person half of it, and another app its own", async () => {
  const { ask, endNext } = open(20, 1000);
  const spend = async (app: string, tookMs: number, person = "") => {
    const answer = ask(app, { person });
    await endNext(tookMs);
    return await answer;
  };
  expect(await spend("a", 600, "ada")).toBe("found");
  expect(await spend("a", 0, "ada")).toBe("rate_limited");
  expect(await spend("a", 600, "bob")).toBe("found");
  for (const person of ["bob", "eve", ""]) expect(await spend("a", 0, person)).toBe("rate_limited");
  expect(await spend("b", 600)).toBe("found");
});
