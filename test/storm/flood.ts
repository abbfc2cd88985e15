/**
 * A flood: one app keeps 200 requests in flight, and another app five. Both list up to 1,000 rows, because gets and short lists
 * would be pipelined, or both create rows. Measured with a queue per app, with one queue for all apps, or without groups of
 * creates. The database builds every page, so the times include the wait for connections.
 *
 * @module
 */
import schema from "../../schema/mod.ts";
import type { Database } from "../../src/db/mod.ts";
import type { TestApp, TestService } from "../support/service.ts";

const LISTERS = 200;
const GETTERS = 5;
const ROWS = 1000;

/** Required options of the service. */
export const FLOOD_OPTIONS = { listCacheBytes: 0 };

export type Flood = { service: TestService; lister: TestApp; getter: TestApp; path: string };
export type Flooded = {
  seconds: number;
  lists: number;
  listFailures: number;
  /** The duration of each successful get, in milliseconds. */
  gets: number[];
  getFailures: number;
};

/** Creates an app with the rows of a list, and an app with one row. */
export async function makeFlood(service: TestService): Promise<Flood> {
  const lister = await service.makeApp(schema);
  const getter = await service.makeApp(schema);
  const row = { method: "POST", json: { title: "A row of a usual size, as an app would have it" } };
  for (let count = 0; count < ROWS; count += 50)
    await Promise.all(
      Array.from({ length: 50 }, () => service.call(lister, "/v1/data/db/todos", row)),
    );
  await service.call(getter, "/v1/data/db/todos", row);
  return { service, lister, getter, path: "/v1/data/db/todos" };
}

const CREATE: RequestInit = {
  method: "POST",
  body: JSON.stringify({ title: "A row of a usual size, as an app would have it" }),
};

/** Measures both apps, which list rows, or create rows. */
export async function measureFlood(
  { service, lister, getter, path }: Flood,
  seconds: number,
  { creates = false } = {},
): Promise<Flooded> {
  const [request, successStatus] = creates ? [CREATE, 201] : [{}, 200];
  const flooded: Flooded = { seconds, lists: 0, listFailures: 0, gets: [], getFailures: 0 };
  const endsAt = performance.now() + seconds * 1000;
  const repeat = async (work: () => Promise<void>): Promise<void> => {
    while (performance.now() < endsAt) await work();
  };
  await Promise.all([
    ...Array.from({ length: LISTERS }, () =>
      repeat(async () => {
        const status = await skim(service, lister, path, request);
        if (status === successStatus) flooded.lists++;
        else flooded.listFailures++;
      }),
    ),
    ...Array.from({ length: GETTERS }, () =>
      repeat(async () => {
        const startedAt = performance.now();
        const status = await skim(service, getter, path, request);
        if (status === successStatus) flooded.gets.push(performance.now() - startedAt);
        else flooded.getFailures++;
      }),
    ),
  ]);
  return flooded;
}

/** Returns the status of a response. Does not parse the body, because callers and service share a thread. */
async function skim(
  { url }: TestService,
  { key }: TestApp,
  path: string,
  request: RequestInit,
): Promise<number> {
  const headers = {
    authorization: `Bearer ${key}`,
    "accept-encoding": "identity",
    "content-type": "application/json",
  };
  const response = await fetch(url + path, { ...request, headers });
  await response.arrayBuffer();
  return response.status;
}

/** Runs `use` while the data calls of all apps wait in one queue. */
export async function withOneQueue<Result>(
  service: TestService,
  use: () => Promise<Result>,
): Promise<Result> {
  return await withOptions(service, { queue: "all" }, use);
}

/** Runs `use` while a service sends each create in its own statement. */
export async function withoutGroups<Result>(
  service: TestService,
  use: () => Promise<Result>,
): Promise<Result> {
  return await withOptions(service, { grouping: undefined }, use);
}

async function withOptions<Result>(
  { service: { db } }: TestService,
  changed: Partial<Parameters<Database["bytes"]>[2]>,
  use: () => Promise<Result>,
): Promise<Result> {
  const bytes = db.bytes;
  Object.assign(db, {
    bytes: (...[text, parameters, options]: Parameters<typeof bytes>) =>
      bytes(text, parameters, { ...options, ...changed }),
  });
  try {
    return await use();
  } finally {
    Object.assign(db, { bytes });
  }
}

export function p99(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
}
