/**
 * `bench admission`: what turns, time limits and attempts cost a call. The service's own call through the pool and by the
 * driver alone, as many at once as there are connections, in this process and in turns.
 *
 * @module
 */
import postgres from "postgres";
import { openDatabase } from "../../src/db/mod.ts";
import { median, percentile } from "./median.ts";
import { rowId } from "./names.ts";
import type { BenchOptions } from "./options.ts";
import { type Stage, withStage } from "./stage.ts";

export type AdmissionSide = {
  perSecond: number;
  /** CPU of this process, microseconds a call. */
  cpuUs: number;
  p50Us: number;
  p99Us: number;
};
export type AdmissionResult = {
  rounds: number;
  seconds: number;
  connections: number;
  pool: AdmissionSide;
  driver: AdmissionSide;
  /** Medians of each round: what the pool's call costs more, and its share of the driver's rate. */
  addedCpuUs: number;
  poolToDriver: number;
};

const CALL = "select api.tasks_get($1, $2) as row";
const WARM_S = 1;

type Call = (app: string, row: string) => Promise<unknown[]>;

export async function benchAdmission(options: BenchOptions): Promise<AdmissionResult> {
  return await withStage({ apps: options.apps, rows: options.rows }, async (stage) => {
    const { servingUrl: url, prepare } = stage.database;
    const connections = options.pool;
    const database = openDatabase({ url, connections, prepare, name: "rowhouse bench" });
    const sql = postgres(url, { max: connections, fetch_types: false });
    try {
      return await measure(stage, options, {
        pool: (app, row) => database.query(CALL, [app, row], { retry: "safe", queue: app }),
        driver: (app, row) => sql.unsafe(CALL, [app, row], { prepare }),
      });
    } finally {
      await Promise.all([database.close(), sql.end({ timeout: 5 })]);
    }
  });
}

async function measure(
  stage: Stage,
  { rounds, seconds, pool: connections }: BenchOptions,
  calls: { pool: Call; driver: Call },
): Promise<AdmissionResult> {
  const run = (call: Call, lasting: number) =>
    measureCall(stage, call, { seconds: lasting, connections });
  await run(calls.pool, WARM_S);
  await run(calls.driver, WARM_S);
  const pairs: { pool: AdmissionSide; driver: AdmissionSide }[] = [];
  for (let round = 0; round < rounds; round++) {
    const pool = await run(calls.pool, seconds);
    pairs.push({ pool, driver: await run(calls.driver, seconds) });
    process.stderr.write(`admission ${round + 1}/${rounds}\n`);
  }
  return {
    rounds,
    seconds,
    connections,
    pool: toMiddle(pairs.map(({ pool }) => pool)),
    driver: toMiddle(pairs.map(({ driver }) => driver)),
    addedCpuUs: median(pairs.map(({ pool, driver }) => pool.cpuUs - driver.cpuUs)),
    poolToDriver: median(pairs.map(({ pool, driver }) => pool.perSecond / driver.perSecond)),
  };
}

async function measureCall(
  { apps, size }: Stage,
  call: Call,
  { seconds, connections }: { seconds: number; connections: number },
): Promise<AdmissionSide> {
  const times: number[] = [];
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const endsAt = startedAt + seconds * 1000;
  const callers = Array.from({ length: connections }, async (_, caller) => {
    for (let turn = caller; performance.now() < endsAt; turn += connections) {
      const app = apps[turn % apps.length];
      if (app === undefined) throw new Error("The stage has no app");
      const sentAt = performance.now();
      const rows = await call(app.id, rowId(size, app.number, 1 + (turn % size.rows)));
      times.push((performance.now() - sentAt) * 1000);
      if (rows.length !== 1) throw new Error(`A get gave ${rows.length} rows: must be 1`);
    }
  });
  await Promise.all(callers);
  const used = process.cpuUsage(cpu);
  const lastedMs = performance.now() - startedAt;
  times.sort((one, other) => one - other);
  return {
    perSecond: (times.length / lastedMs) * 1000,
    cpuUs: (used.user + used.system) / times.length,
    p50Us: percentile(times, 0.5),
    p99Us: percentile(times, 0.99),
  };
}

function toMiddle(sides: readonly AdmissionSide[]): AdmissionSide {
  const read = (name: keyof AdmissionSide) => median(sides.map((side) => side[name]));
  return {
    perSecond: read("perSecond"),
    cpuUs: read("cpuUs"),
    p50Us: read("p50Us"),
    p99Us: read("p99Us"),
  };
}
