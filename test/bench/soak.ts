/** `bench soak`: minutes of mixed requests, and whether memory, sockets and connections stay what they were. @module */

import { readdirSync, readlinkSync } from "node:fs";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { residentMb } from "./cpu.ts";
import { type Run, runLoad } from "./load.ts";
import { percentile } from "./median.ts";
import type { BenchOptions } from "./options.ts";
import { pickScenarios } from "./requests.ts";
import { makeRequests } from "./scenarios.ts";
import { type Server, startServer } from "./servers.ts";
import { type Stage, withStage } from "./stage.ts";

/** What a serving process holds; absent where it cannot be read. */
export type Held = { memoryMb?: number; sockets?: number; databaseConnections: number };
export type SoakResult = {
  seconds: number;
  connections: number;
  pool: number;
  reads: Run;
  creates: Run;
  start: Held;
  end: Held;
  /** Of the line through the later three quarters of the samples: what warms up first does not count. */
  memorySlopeMbPerMinute?: number;
};

/** Requests whose good answer is 200, drawn evenly. */
const MIXED = ["get", "list-20", "list-100", "update"];
const CREATORS = 2;
/** How long after the load begins, and before it ends, it is looked at. */
const EDGE_S = 3;
const SAMPLE_MS = 1000;

export async function benchSoak(options: BenchOptions): Promise<SoakResult> {
  return await withStage({ apps: options.apps, rows: options.rows }, async (stage) => {
    const server = await startServer("service", stage, options);
    try {
      const seconds = options.soakSeconds;
      const mixed = runMixed(stage, server, { ...options, seconds });
      const watched = watchHeld(stage, server, seconds);
      const [runs, held] = await Promise.all([mixed, watched]);
      const { connections, pool } = options;
      return { seconds, connections, pool, ...runs, ...held };
    } finally {
      await server.stop();
    }
  });
}

/** Under load at both ends: connections whose callers have gone are closed, which would look like fewer. */
async function watchHeld(
  stage: Stage,
  server: Server,
  seconds: number,
): Promise<Pick<SoakResult, "start" | "end" | "memorySlopeMbPerMinute">> {
  await Bun.sleep(EDGE_S * 1000);
  const start = await readHeld(stage, server);
  const samples = startSampling(server.pid);
  await Bun.sleep(Math.max(seconds - 2 * EDGE_S, 1) * 1000);
  const memorySlopeMbPerMinute = samples.stop();
  const end = await readHeld(stage, server);
  return {
    start,
    end,
    ...(memorySlopeMbPerMinute === undefined ? {} : { memorySlopeMbPerMinute }),
  };
}

async function runMixed(
  stage: Stage,
  server: Server,
  { connections, seconds }: Pick<BenchOptions, "connections" | "seconds">,
): Promise<{ reads: Run; creates: Run }> {
  const toRequests = (names: readonly string[]) =>
    pickScenarios(names).flatMap((scenario) => makeRequests(scenario, stage));
  const measured = { server, postmaster: undefined };
  const plan = { url: server.url, seconds };
  const [reads, creates] = await Promise.all([
    runLoad({ ...plan, connections, status: 200, requests: toRequests(MIXED) }, measured),
    runLoad(
      { ...plan, connections: CREATORS, status: 201, requests: toRequests(["create"]) },
      measured,
    ),
  ]);
  return { reads, creates };
}

async function readHeld({ database }: Stage, { pid }: Server): Promise<Held> {
  const memoryMb = residentMb(pid)?.now;
  const sockets = countSockets(pid);
  const databaseConnections = await withDatabase(database.adminUrl, async (admin) => {
    const [row] = await admin.query<{ count: number }>(
      `select count(*)::integer as count from pg_stat_activity
      where datname = current_database() and application_name like 'rowhouse%' and pid <> pg_backend_pid()`,
      [],
      { retry: "safe", queue: SERVICE_QUEUE },
    );
    return row?.count ?? 0;
  });
  return {
    ...(memoryMb === undefined ? {} : { memoryMb }),
    ...(sockets === undefined ? {} : { sockets }),
    databaseConnections,
  };
}

function countSockets(pid: number): number | undefined {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).filter((name) => isSocket(`${folder}/${name}`)).length;
  } catch {
    return undefined; // no /proc
  }
}

function isSocket(file: string): boolean {
  try {
    return readlinkSync(file).startsWith("socket:");
  } catch {
    return false; // closed meanwhile
  }
}

type Sample = { minute: number; mb: number };

/** Notes the process's memory until stopped, which gives its slope. */
function startSampling(pid: number): { stop: () => number | undefined } {
  const samples: Sample[] = [];
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const mb = residentMb(pid)?.now;
    if (mb !== undefined) samples.push({ minute: (performance.now() - startedAt) / 60_000, mb });
  }, SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return slope(samples.slice(Math.floor(samples.length / 4)));
    },
  };
}

/** The median of the slopes between all pairs, which one garbage collection does not tilt. */
export function slope(samples: readonly Sample[]): number | undefined {
  const slopes = samples.flatMap((from, index) =>
    samples.slice(index + 1).map((to) => (to.mb - from.mb) / (to.minute - from.minute)),
  );
  if (slopes.length === 0) return undefined;
  return percentile(
    slopes.sort((one, other) => one - other),
    0.5,
  );
}
