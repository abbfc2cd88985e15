/**
 * A flood: one app asks for 200 lists of 1,000 rows at once, for as long as it takes; another for five rows at a time.
 * Measured with turns by app, or with one queue for all.
 *
 * @module
 */
import schema from "../../schema/mod.ts";
import type { TestApp, TestHouse } from "../support/house.ts";

const LISTERS = 200;
const GETTERS = 5;
const ROWS = 1000;

export type Flood = { house: TestHouse; lister: TestApp; getter: TestApp; path: string };
export type Flooded = {
  seconds: number;
  lists: number;
  listFailures: number;
  /** Milliseconds of each get that was answered with its row. */
  gets: number[];
  getFailures: number;
};

/** Two apps in a house: one with the rows of a list, one with a row. */
export async function makeFlood(house: TestHouse): Promise<Flood> {
  const lister = await house.makeApp(schema);
  const getter = await house.makeApp(schema);
  const row = { method: "POST", json: { title: "A row of a usual size, as an app would have it" } };
  for (let made = 0; made < ROWS; made += 50)
    await Promise.all(
      Array.from({ length: 50 }, () => house.call(lister, "/v1/data/db/todos", row)),
    );
  const created = await house.call(getter, "/v1/data/db/todos", row);
  return { house, lister, getter, path: created.headers.get("location") ?? "" };
}

/** What both apps reach side by side. */
export async function measureFlood(
  { house, lister, getter, path }: Flood,
  seconds: number,
): Promise<Flooded> {
  const flooded: Flooded = { seconds, lists: 0, listFailures: 0, gets: [], getFailures: 0 };
  const endsAt = performance.now() + seconds * 1000;
  const repeat = async (work: () => Promise<void>): Promise<void> => {
    while (performance.now() < endsAt) await work();
  };
  await Promise.all([
    ...Array.from({ length: LISTERS }, () =>
      repeat(async () => {
        const { status } = await house.call(lister, "/v1/data/db/todos");
        if (status === 200) flooded.lists++;
        else flooded.listFailures++;
      }),
    ),
    ...Array.from({ length: GETTERS }, () =>
      repeat(async () => {
        const startedAt = performance.now();
        const { status } = await house.call(getter, path);
        if (status === 200) flooded.gets.push(performance.now() - startedAt);
        else flooded.getFailures++;
      }),
    ),
  ]);
  return flooded;
}

/** Runs `use` while all data calls of a house wait in one queue, whoever they are for. */
export async function withOneQueue<Result>(
  { house: { db } }: TestHouse,
  use: () => Promise<Result>,
): Promise<Result> {
  const fairly = db.bytes;
  Object.assign(db, {
    bytes: (...[text, parameters, options]: Parameters<typeof fairly>) =>
      fairly(text, parameters, { ...options, lane: "all" }),
  });
  try {
    return await use();
  } finally {
    Object.assign(db, { bytes: fairly });
  }
}

export function p99(times: readonly number[]): number {
  const sorted = [...times].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
}
