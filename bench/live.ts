/**
 * `bench live`: the cost of event streams: a write with the preview off, by an app that is not live, and by a live app; a check
 * that finds no changes; and many readers of one process.
 *
 * @module
 */
import { SERVICE_QUEUE } from "../src/db/mod.ts";
import { withDatabase } from "../test/support/cluster.ts";
import { residentMb } from "../test/support/memory.ts";
import { type Comparison, compare, printComparison } from "./compare.ts";
import { readCpu } from "./cpu.ts";
import { openReaders } from "./live_readers.ts";
import { startLive } from "./live_soak.ts";
import { appId, drawRowOf } from "./names.ts";
import type { BenchOptions } from "./options.ts";
import { findPgbench, runPgbench } from "./pgbench.ts";
import { show, table } from "./print.ts";
import { percentile } from "./rounds.ts";
import { findScenario } from "./scenarios.ts";
import { startServer } from "./servers.ts";
import { PROOF, type Stage, withStage } from "./stage.ts";

const WRITES = ["update", "create"];
const APPS_PER_CHECK = [1, 50];
/** The maximum number of streams of a key. */
const READERS_PER_APP = 500;
const CROWDS = [
  { readers: 1000, writesPerSecond: 5 },
  { readers: 8000, writesPerSecond: 2 },
];
const CROWD_S = 20;
const IDLE_S = 10;
/** Wait for the last events. */
const SETTLE_MS = 2000;

type Crowd = Awaited<ReturnType<typeof measureCrowd>>;
type LiveResult = {
  writes: Readonly<Record<string, Comparison>>;
  checks: Comparison;
  crowds: readonly Crowd[];
};

export async function benchLive(options: BenchOptions): Promise<LiveResult> {
  const { writes, checks } = await benchStatements(options);
  const crowds: Crowd[] = [];
  for (const crowd of CROWDS) crowds.push(await measureCrowd(crowd, options));
  return { writes, checks, crowds };
}

async function benchStatements(options: BenchOptions): Promise<Omit<LiveResult, "crowds">> {
  const found = findPgbench();
  if (found === undefined) throw new Error("Cannot measure statements: pgbench is not installed");
  const { rounds, seconds } = options;
  const asked = { rounds, seconds, connections: 1 };
  return await withStage(options, (off) =>
    withStage(options, async (stage) => {
      // The second app does not become live.
      await startLive({ ...stage, apps: stage.apps.filter(({ number }) => number !== 2) });
      const run = (of: Stage, script: string, body = "none") => {
        const plan = { url: of.database.servingUrl, script, body, seconds, connections: 1 };
        return runPgbench(found, plan, of.postmaster);
      };
      const writes: Record<string, Comparison> = {};
      for (const name of WRITES) {
        const { call, http } = findScenario(name);
        const write = (of: Stage, app: number) =>
          run(of, `${drawRowOf(of.size, app)}\n${call};\n`, http.body);
        const sides = {
          "the preview off": () => write(off, 1),
          "an app that is not live": () => write(stage, 2),
          "a live app": () => write(stage, 1),
        };
        writes[name] = await compare(name, sides, asked);
      }
      const cursor = await readCursor(stage);
      const check = (apps: number) => () => run(stage, toCheck(cursor, apps));
      const sides = Object.fromEntries(
        APPS_PER_CHECK.map((apps) => [
          `a check of ${apps} ${apps === 1 ? "app" : "apps"}`,
          check(apps),
        ]),
      );
      return { writes, checks: await compare("checks", sides, asked) };
    }),
  );
}

/** Returns the database's current cursor. */
async function readCursor({ database }: Stage): Promise<string> {
  const [row] = await withDatabase(database.adminUrl, (admin) =>
    admin.query<{ cursor: string }>(
      "select state as cursor from rowhouse.poll_changes(null, '{}', '{}')",
      [],
      { retry: "safe", queue: SERVICE_QUEUE },
    ),
  );
  return row?.cursor ?? "";
}

/** Renders pgbench's script of a check. Values are encoded, because a colon in a literal begins a variable. */
function toCheck(cursor: string, apps: number): string {
  const numbers = Array.from({ length: apps }, (_, index) => 3 + index);
  const ids = numbers.map(appId).join(",");
  const proofs = numbers.map(() => `\\\\x${Buffer.from(PROOF).toString("hex")}`).join(",");
  const since = `convert_from(decode('${Buffer.from(cursor).toString("hex")}', 'hex'), 'UTF8')`;
  return `select * from rowhouse.poll_changes(${since}, '{${ids}}', '{${proofs}}');\n`;
}

/** Measures the events that readers of one process receive, and their cost. */
async function measureCrowd(
  { readers, writesPerSecond }: (typeof CROWDS)[number],
  options: BenchOptions,
) {
  const size = { apps: readers / READERS_PER_APP, rows: 10 };
  return await withStage(size, async (stage) => {
    await startLive(stage);
    await using server = await startServer("service", stage, options, {
      env: { BENCH_PREVIEWS: "live" },
    });
    const readMb = () => residentMb(server.pid)?.now ?? Number.NaN;
    const measureShare = async (work: () => Promise<void>) => {
      const [startedAt, before] = [performance.now(), readCpu(server.pid, stage.postmaster)];
      await work();
      const after = readCpu(server.pid, stage.postmaster);
      const share = (from = 0, to = 0) => (100_000 * (to - from)) / (performance.now() - startedAt);
      return {
        server: share(before.server, after.server),
        database: share(before.database, after.database),
      };
    };
    const emptyMb = readMb();
    const crowd = await openReaders(server.url, stage.apps, READERS_PER_APP);
    const openMb = readMb();
    const idle = await measureShare(() => Bun.sleep(IDLE_S * 1000));
    const count = CROWD_S * writesPerSecond;
    const busy = await measureShare(async () => {
      for (let written = 0; written < count; written++) {
        const app = stage.apps[written % stage.apps.length];
        if (app !== undefined) await create(server.url, app.key);
        await Bun.sleep(1000 / writesPerSecond);
      }
    });
    await Bun.sleep(SETTLE_MS);
    const { delivered, delays } = crowd.close();
    const sorted = delays.toSorted((a, b) => a - b);
    return {
      ...{ readers, writesPerSecond, delivered, idle, busy, emptyMb, openMb },
      expected: count * READERS_PER_APP,
      p50Ms: percentile(sorted, 0.5),
      p95Ms: percentile(sorted, 0.95),
    };
  });
}

/** Creates a row whose title is the current time, to measure the delay of its events. */
async function create(url: string, key: string): Promise<void> {
  const response = await fetch(`${url}/v1/data/db/tasks`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ title: String(performance.now()) }),
  });
  await response.arrayBuffer();
  if (response.status !== 201) throw new Error(`Cannot create a row: ${response.status}`);
}

export function printLive({ writes, checks, crowds }: LiveResult): string {
  const statements = Object.entries(writes).map(([name, found]) =>
    printComparison(`${name} a row, by pgbench`, found),
  );
  const rows = crowds.map((crowd) => [
    show(crowd.readers),
    show(crowd.writesPerSecond),
    `${show(crowd.delivered)} of ${show(crowd.expected)}`,
    show(crowd.p50Ms),
    show(crowd.p95Ms),
    ...[crowd.idle, crowd.busy].map((share) => show(share.server, 1)),
    show(crowd.busy.database, 1),
    show((1024 * (crowd.openMb - crowd.emptyMb)) / crowd.readers, 1),
  ]);
  const head = [
    "readers",
    "writes/s",
    "delivered",
    "p50 ms",
    "p95 ms",
    "idle: process %",
    "process %",
    "PostgreSQL %",
    "KB a stream",
  ];
  return [...statements, printComparison("by pgbench", checks), table(head, rows)].join("\n\n");
}
