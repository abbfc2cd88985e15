/**
 * A flood: one app asks for 200 lists of 1,000 rows at once, for as long as it takes; another for five rows at a time, each
 * by a list of its own that may be of 1,000 rows, too, because a get or a short list would be pipelined. Measured with turns by app, or with one queue for all. Every page
 * is built by the database and sent as it is: what is measured is who waits for connections.
 *
 * @module
 */
import schema from "../../schema/mod.ts";
import type { TestApp, TestService } from "../support/service.ts";

const LISTERS = 200;
const GETTERS = 5;
const ROWS = 1000;

/** What the service must be opened with. */
export const FLOOD_OPTIONS = { listCacheBytes: 0 };

export type Flood = { service: TestService; lister: TestApp; getter: TestApp; path: string };
export type Flooded = {
  seconds: number;
  lists: number;
  listFailures: number;
  /** Milliseconds of each get that returned its row. */
  gets: number[];
  getFailures: number;
};

/** Two apps in a service: one with the rows of a list, one with a row. */
export async function makeFlood(service: TestService): Promise<Flood> {
  const lister = await service.makeApp(schema);
  const getter = await service.makeApp(schema);
  const row = { method: "POST", json: { title: "A row of a usual size, as an app would have it" } };
  for (let made = 0; made < ROWS; made += 50)
    await Promise.all(
      Array.from({ length: 50 }, () => service.call(lister, "/v1/data/db/todos", row)),
    );
  await service.call(getter, "/v1/data/db/todos", row);
  return { service, lister, getter, path: "/v1/data/db/todos" };
}

/** What both apps reach side by side. */
export async function measureFlood(
  { service, lister, getter, path }: Flood,
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
        const status = await skim(service, lister, "/v1/data/db/todos");
        if (status === 200) flooded.lists++;
        else flooded.listFailures++;
      }),
    ),
    ...Array.from({ length: GETTERS }, () =>
      repeat(async () => {
        const startedAt = performance.now();
        const status = await skim(service, getter, path);
        if (status === 200) flooded.gets.push(performance.now() - startedAt);
        else flooded.getFailures++;
      }),
    ),
  ]);
  return flooded;
}

/** The status of a response whose body is received and not read: callers and service share one thread. */
async function skim({ url }: TestService, { key }: TestApp, path: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "accept-encoding": "identity" };
  const response = await fetch(url + path, { headers });
  await response.arrayBuffer();
  return response.status;
}

/** Runs `use` while all data calls of a service wait in one queue, whoever they are for. */
export async function withOneQueue<Result>(
  { service: { db } }: TestService,
  use: () => Promise<Result>,
): Promise<Result> {
  const fairly = db.bytes;
  Object.assign(db, {
    bytes: (...[text, parameters, options]: Parameters<typeof fairly>) =>
      fairly(text, parameters, { ...options, queue: "all" }),
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
