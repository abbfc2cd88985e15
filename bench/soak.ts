/**
 * `bench soak`: checks that memory, sockets and connections stay constant over minutes of mixed requests, and then kills
 * connections.
 *
 * @module
 */
import { readdirSync, readlinkSync } from "node:fs";
import { SERVICE_QUEUE } from "../src/db/mod.ts";
import { withDatabase } from "../test/support/cluster.ts";
import { residentMb } from "../test/support/memory.ts";
import { runLoad, type Served } from "./load.ts";
import type { BenchOptions } from "./options.ts";
import { show, table } from "./print.ts";
import { median } from "./rounds.ts";
import { findScenario, makeRequests } from "./scenarios.ts";
import { startServer } from "./servers.ts";
import { withStage } from "./stage.ts";
import { measureKills, printKills } from "./storm.ts";

type Held = Awaited<ReturnType<typeof readHeld>>;
type SoakResult = Awaited<ReturnType<typeof benchSoak>>;

/** Requests with the status 200, drawn evenly. */
const MIXED = ["get", "list-20", "list-100", "update"];
const CREATORS = 2;
/** The time of the measurements after the start of the load and before its end. */
const EDGE_S = 3;
const SAMPLE_MS = 1000;

export async function benchSoak(options: BenchOptions) {
  return await withStage(options, async (stage) => {
    await using server = await startServer("service", stage, options);
    const { connections, pool } = options;
    const seconds = options.minutes * 60;
    const run = (names: readonly string[], status: number, callers: number) => {
      const requests = names.flatMap((name) => makeRequests(findScenario(name), stage));
      return runLoad({ stage, server }, { status, requests }, { seconds, connections: callers });
    };
    const [reads, creates, watched] = await Promise.all([
      run(MIXED, 200, connections),
      run(["create"], 201, CREATORS),
      watch({ stage, server }, seconds),
    ]);
    const storm = await measureKills({ stage, server }, options.seconds);
    return { seconds, connections, pool, reads, creates, ...watched, storm };
  });
}

/** Measures under load at both ends, because idle connections are closed. */
async function watch(served: Served, seconds: number) {
  await Bun.sleep(EDGE_S * 1000);
  const start = await readHeld(served);
  const samples: Sample[] = [];
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const mb = residentMb(served.server.pid)?.now;
    if (mb !== undefined) samples.push({ minute: (performance.now() - startedAt) / 60_000, mb });
  }, SAMPLE_MS);
  await Bun.sleep(Math.max(seconds - 2 * EDGE_S, 1) * 1000);
  clearInterval(timer);
  // Ignores the first quarter, in which the process warms up.
  const memorySlopeMbPerMinute = slope(samples.slice(Math.floor(samples.length / 4)));
  return { start, end: await readHeld(served), memorySlopeMbPerMinute };
}

/** Returns the resources of a serving process; `undefined` for those that cannot be read. */
async function readHeld({ stage, server }: Served) {
  const count = `select count(*)::integer as count from pg_stat_activity
    where datname = current_database() and application_name like 'rowhouse%' and pid <> pg_backend_pid()`;
  const rows = await withDatabase(stage.database.adminUrl, (admin) =>
    admin.query<{ count: number }>(count, [], { retry: "safe", queue: SERVICE_QUEUE }),
  );
  const databaseConnections = rows[0]?.count ?? 0;
  const memoryMb = residentMb(server.pid)?.now;
  return { memoryMb, sockets: countSockets(server.pid), databaseConnections };
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
    return false; // closed since it was listed
  }
}

type Sample = { minute: number; mb: number };

/** Returns the median of the slopes between all pairs, which a single garbage collection does not change. */
export function slope(samples: readonly Sample[]): number | undefined {
  const slopes = samples.flatMap((from, index) =>
    samples.slice(index + 1).map((to) => (to.mb - from.mb) / (to.minute - from.minute)),
  );
  return slopes.length === 0 ? undefined : median(slopes);
}

export function printSoak(result: SoakResult): string {
  const row = (name: string, figure: keyof Held) => [
    name,
    show(result.start[figure]),
    show(result.end[figure]),
  ];
  const lines = table(
    [`${show(result.seconds / 60, 1)} minutes of mixed requests`, "start", "end"],
    [
      row("memory MB", "memoryMb"),
      row("sockets", "sockets"),
      row("database connections", "databaseConnections"),
    ],
  );
  const { reads, creates, connections, pool } = result;
  const grown = show(result.memorySlopeMbPerMinute, 2) ?? "–";
  const summary = `Memory grows by ${grown} MB a minute; ${show(reads.perSecond)} gets, lists and updates a second (p99 ${show(reads.p99Ms, 1)} ms) and ${show(creates.perSecond)} creates; ${connections} connections, a pool of ${pool}.`;
  return `${lines}\n\n${summary}\n\n${printKills(result.storm)}`;
}
