/**
 * One app asks for 200 lists of 1,000 rows at once, for as long as it takes; another for five rows at a time. With
 * turns by app and with one queue for all, in one run: what the second app waits, and what the first one loses.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { openTestHouse, type TestApp, type TestHouse } from "../support/house.ts";

const SECONDS = 6;
const LISTERS = 200;
const GETTERS = 5;

let house: TestHouse;
let lister: TestApp;
let getter: TestApp;
let path: string;
beforeAll(async () => {
  house = await openTestHouse({ connections: 10 });
  lister = await house.makeApp(schema);
  getter = await house.makeApp(schema);
  const row = { method: "POST", json: { title: "A row of a usual size, as an app would have it" } };
  for (let made = 0; made < 1000; made += 50)
    await Promise.all(
      Array.from({ length: 50 }, () => house.call(lister, "/v1/data/db/todos", row)),
    );
  const created = await house.call(getter, "/v1/data/db/todos", row);
  path = created.headers.get("location") ?? "";
});
afterAll(() => house.close());

type Measured = { lists: number; listFailures: number; gets: number[]; getFailures: number };

test("an app that floods waits behind itself", async () => {
  const { db } = house.house;
  const fairly = db.query;
  const fair = await measure();
  Object.assign(db, {
    query: (...[text, parameters, options]: Parameters<typeof fairly>) =>
      fairly(text, parameters, { ...options, lane: "all" }),
  });
  const unfair = await measure();
  Object.assign(db, { query: fairly });
  report("by app", fair);
  report("one queue", unfair);
  expect(fair.getFailures).toBe(0);
  expect(p99(fair.gets)).toBeLessThan(p99(unfair.gets) / 5);
  expect(fair.lists).toBeGreaterThan(unfair.lists * 0.7);
}, 60_000);

async function measure(): Promise<Measured> {
  const measured: Measured = { lists: 0, listFailures: 0, gets: [], getFailures: 0 };
  const endsAt = performance.now() + SECONDS * 1000;
  const repeat = async (work: () => Promise<void>): Promise<void> => {
    while (performance.now() < endsAt) await work();
  };
  await Promise.all([
    ...Array.from({ length: LISTERS }, () =>
      repeat(async () => {
        const { status } = await house.call(lister, "/v1/data/db/todos");
        if (status === 200) measured.lists++;
        else measured.listFailures++;
      }),
    ),
    ...Array.from({ length: GETTERS }, () =>
      repeat(async () => {
        const startedAt = performance.now();
        const { status } = await house.call(getter, path);
        if (status === 200) measured.gets.push(performance.now() - startedAt);
        else measured.getFailures++;
      }),
    ),
  ]);
  return measured;
}

function p99(times: readonly number[]): number {
  const sorted = [...times].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
}

function report(name: string, { lists, listFailures, gets, getFailures }: Measured): void {
  console.log(
    `${name}: ${Math.round(lists / SECONDS)} lists/s (${listFailures} refused), ` +
      `${Math.round(gets.length / SECONDS)} gets/s (${getFailures} refused), p99 of a get ${Math.round(p99(gets))} ms`,
  );
}
