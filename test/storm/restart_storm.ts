/**
 * The database fails under load: backends are killed, the server restarts after a shutdown and after a crash, or it freezes. No
 * caller gets another caller's response, acknowledged writes persist, rejected writes have no effect, and the pool recovers.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import schema from "../../schema/mod.ts";
import { type Cluster, startCluster } from "../../src/db/embedded/mod.ts";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { errorCode } from "../../src/std/network.ts";
import { withDatabase } from "../support/cluster.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { killBackends } from "./kill.ts";
import { type Load, rate, recovery, startLoad } from "./load.ts";

const CONNECTIONS = 10;
/** The connections that are not for pipelining. */
const OWN_CONNECTIONS = 8;
const CALLERS = 24;
const BACK_WITHIN_MS = 2000;

let folder: string;
let cluster: Cluster;
let service: TestService;
let app: TestApp;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rowhouse-storm-"));
  await Bun.$`chmod 755 ${folder}`.quiet();
  cluster = await startCluster({ dataDir: join(folder, "postgres"), durable: true });
  service = await openTestService({
    connections: CONNECTIONS,
    cluster: { admin: cluster.url, serving: cluster.url, prepare: true },
  });
  app = await service.makeApp(schema);
});
afterAll(async () => {
  await service.close();
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("the service survives randomly killed backends for 6 s", async () => {
  const admin = { url: cluster.url, database: service.database.name };
  await runUnderLoad("kill", async () => void (await killBackends(admin, 6000)));
}, 60_000);

test.each(["fast", "immediate"] as const)(
  "the service survives a %s restart of PostgreSQL",
  async (mode) => {
    await runUnderLoad(mode, () => cluster.restart(mode));
  },
  60_000,
);

test("the service survives a PostgreSQL that freezes for 10 s", async () => {
  const pids = await findProcesses();
  await runUnderLoad("frozen", async () => {
    signalAll(pids(), "SIGSTOP");
    await Bun.sleep(10_000);
    signalAll(pids(), "SIGCONT");
  });
}, 60_000);

/** Applies load before, during and after `fail`, and then checks the record. */
async function runUnderLoad(name: string, fail: () => Promise<void>): Promise<void> {
  const load = startLoad(service, app, CALLERS);
  const startedAt = performance.now();
  await Bun.sleep(2000);
  const failedAt = performance.now();
  await fail();
  const healedAt = performance.now();
  await Bun.sleep(BACK_WITHIN_MS + 1000);
  const endedAt = performance.now();
  await load.stop();
  const back = recovery(load.record, healedAt);
  console.log(
    `${name}: ${rate(load.record, startedAt, failedAt)} requests/s before, ` +
      `${rate(load.record, failedAt, healedAt)} during, ` +
      `${rate(load.record, endedAt - 1000, endedAt)} after; back in ${back} ms; ` +
      `${load.record.done.size} rows done, ` +
      `${load.record.notDone.size} rejected, ${load.record.unknown.size} unknown`,
  );
  expect(back).toBeLessThan(BACK_WITHIN_MS);
  await checkRecord(load);
  await checkPool();
}

async function checkRecord({ record }: Load): Promise<void> {
  expect(record.foreign).toEqual([]);
  expect(record.odd).toEqual([]);
  const rows = await withDatabase(service.database.adminUrl, (admin) =>
    admin.query<{ title: string }>("select title from data.todos", [], {
      retry: "safe",
      queue: SERVICE_QUEUE,
    }),
  );
  const stored = new Set(rows.map((row) => row.title));
  expect([...record.done].filter((nonce) => !stored.has(nonce))).toEqual([]);
  expect([...record.notDone].filter((nonce) => stored.has(nonce))).toEqual([]);
}

/** Runs as many statements in parallel as there are connections for them. */
async function checkPool(): Promise<void> {
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: OWN_CONNECTIONS }, (_, index) =>
      service.service.db.query("select pg_sleep(0.5)", [], { retry: "safe", queue: `${index}` }),
    ),
  );
  expect(performance.now() - startedAt).toBeLessThan(1500);
  const { open, waiting } = service.service.db.stats();
  expect(open).toBeGreaterThanOrEqual(OWN_CONNECTIONS);
  expect(open).toBeLessThanOrEqual(CONNECTIONS);
  expect(waiting).toBe(0);
  // The service reads its versions every second. No other statement runs once no connection is busy.
  while (service.service.db.stats().busy > 0) await Bun.sleep(1);
}

/** Returns a function that returns the ids of the server's current processes. */
async function findProcesses(): Promise<() => number[]> {
  const directory = await withDatabase(cluster.url, async (admin) => {
    const [row] = await admin.query<{ folder: string }>(
      "select current_setting('data_directory') as folder",
      [],
      { retry: "safe", queue: SERVICE_QUEUE },
    );
    return row?.folder ?? "";
  });
  const postmaster = Number(readFileSync(join(directory, "postmaster.pid"), "utf8").split("\n")[0]);
  return () => {
    const children = Bun.spawnSync(["pgrep", "-P", String(postmaster)]).stdout.toString();
    return [postmaster, ...children.trim().split("\n").filter(Boolean).map(Number)];
  };
}

/** Ignores processes that have ended since they were listed, such as autovacuum workers. */
function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (errorCode(error) !== "ESRCH") throw error;
    }
  }
}
