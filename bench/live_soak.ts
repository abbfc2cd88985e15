/**
 * `bench live-soak`: checks that a process's memory stays constant while readers of event streams come and go and writers
 * change rows, at a low rate. At the end every reader must have the rows of its app.
 *
 * @module
 */

import { SERVICE_QUEUE } from "../src/db/mod.ts";
import { setAppSwitch } from "../src/records/apps/mod.ts";
import { withDatabase } from "../test/support/cluster.ts";
import { testDeps } from "../test/support/deps.ts";
import { openEvents, type StreamEvent } from "../test/support/event_stream.ts";
import { eventually } from "../test/support/eventually.ts";
import { residentMb } from "../test/support/memory.ts";
import { readCpu } from "./cpu.ts";
import type { BenchOptions } from "./options.ts";
import { show, table } from "./print.ts";
import { type Server, startServer } from "./servers.ts";
import { slope } from "./soak.ts";
import { type Stage, type StageApp, withStage } from "./stage.ts";

const SIZE = { apps: 5, rows: 100 };
const READERS_PER_APP = 20;
const WRITE_INTERVAL_MS = 1000;
const MAX_STAY_MS = 60_000;
const MAX_PAUSE_MS = 5000;
/** Longer than the retention of changes. Absent readers disconnect for this time. */
const ABSENCE_MS = 1_260_000;
/** The habits of each app's first readers. A staying reader leaves only when the service ends its stream. */
const HABITS: readonly Habit[] = ["absent", "staying"];
const SAMPLE_MS = 60_000;
const RETRY_MS = 500;

type Row = { id: string; app_id: string };
type Change = { put?: Row; delete?: string };
/** A restless reader leaves and resumes soon. Most readers are restless. */
type Habit = "absent" | "staying" | "restless";
type Reader = { app: StageApp; rows: Map<string, string>; habit: Habit };
type Counts = {
  writes: number;
  failedWrites: number;
  events: number;
  resumes: number;
  resets: number;
  foreignRows: number;
};
type Soak = { server: Server; endsAt: number; counts: Counts };
type Sample = { minute: number; mb: number; changes: number };
type LiveSoakResult = Awaited<ReturnType<typeof benchLiveSoak>>;

export async function benchLiveSoak(options: BenchOptions) {
  const { minutes } = options;
  return await withStage(SIZE, async (stage) => {
    await startLive(stage);
    await using server = await startServer("service", stage, options, {
      env: { BENCH_PREVIEWS: "live" },
    });
    const counts = {
      writes: 0,
      failedWrites: 0,
      events: 0,
      resumes: 0,
      resets: 0,
      foreignRows: 0,
    };
    const soak = { server, endsAt: performance.now() + minutes * 60_000, counts };
    const readers = stage.apps.flatMap((app) =>
      Array.from({ length: READERS_PER_APP }, (_, index) => ({
        app,
        rows: new Map<string, string>(),
        habit: HABITS[index] ?? ("restless" as const),
      })),
    );
    const stopped = new AbortController();
    const reading = readers.map((reader) => follow(soak, reader, stopped.signal));
    const writing = stage.apps.map((app) => write(soak, app));
    const [samples, cpu] = await watch(stage, soak);
    await Promise.all(writing);
    const equal = await compareAll(soak, stage.apps, readers);
    stopped.abort();
    await Promise.all(reading);
    const slopeMb = slope(samples.slice(Math.floor(samples.length / 4)));
    return { minutes, readers: readers.length, equal, counts, cpu, samples, slopeMb };
  });
}

/** Turns live updates on for these apps. */
export async function startLive({
  database,
  apps,
}: Pick<Stage, "database" | "apps">): Promise<void> {
  await withDatabase(database.adminUrl, async (admin) => {
    for (const { number } of apps)
      await setAppSwitch(testDeps({ admin }), `bench-${number}`, ["live", true]);
  });
}

/** Samples memory and the number of stored changes until the end. Also returns the used CPU, in percent of a core. */
async function watch(stage: Stage, { server, endsAt }: Soak) {
  const { database, postmaster } = stage;
  const samples: Sample[] = [];
  const [startedAt, before] = [performance.now(), readCpu(server.pid, postmaster)];
  while (performance.now() < endsAt) {
    const minute = (performance.now() - startedAt) / 60_000;
    const mb = residentMb(server.pid)?.now ?? 0;
    samples.push({ minute, mb, changes: await countChanges(database.adminUrl) });
    process.stderr.write(`${JSON.stringify(samples.at(-1))}\n`);
    await Bun.sleep(SAMPLE_MS);
  }
  const after = readCpu(server.pid, postmaster);
  const share = (from = 0, to = 0) => (100_000 * (to - from)) / (performance.now() - startedAt);
  const cpu = {
    server: share(before.server, after.server),
    database: share(before.database, after.database),
  };
  return [samples, cpu] as const;
}

async function countChanges(adminUrl: string): Promise<number> {
  const [row] = await withDatabase(adminUrl, (admin) =>
    admin.query<{ count: number }>("select count(*)::integer as count from rowhouse.changes", [], {
      retry: "safe",
      queue: SERVICE_QUEUE,
    }),
  );
  return row?.count ?? 0;
}

function callTable({ server }: Soak, app: StageApp, path: string, request: RequestInit = {}) {
  const headers = { authorization: `Bearer ${app.key}`, "content-type": "application/json" };
  return fetch(`${server.url}/v1/data/db/tasks${path}`, { ...request, headers });
}

/** Creates, updates and deletes rows, so that the number of rows stays constant. */
async function write(soak: Soak, app: StageApp): Promise<void> {
  const ids: string[] = [];
  while (performance.now() < soak.endsAt) {
    const roll = Math.random();
    const id = ids[Math.floor(Math.random() * ids.length)];
    const body = JSON.stringify({ title: `Task ${roll}`, notes: "Two coats".repeat(20 * roll) });
    const isCreate = id === undefined || (roll < 0.25 && ids.length < SIZE.rows);
    const isDelete = !isCreate && roll < 0.5;
    const method = isCreate ? "POST" : isDelete ? "DELETE" : "PATCH";
    const request = isDelete ? { method } : { method, body };
    const response = await callTable(soak, app, isCreate ? "" : `/${id}`, request);
    const row = isDelete ? undefined : ((await response.json()) as Row);
    if (!response.ok) soak.counts.failedWrites++;
    else if (isCreate && row !== undefined) ids.push(row.id);
    else if (isDelete) ids.splice(ids.indexOf(id ?? ""), 1);
    soak.counts.writes++;
    await Bun.sleep(2 * Math.random() * WRITE_INTERVAL_MS);
  }
}

/** Reads the stream, leaves at random times, and resumes. */
async function follow(soak: Soak, reader: Reader, stopped: AbortSignal): Promise<void> {
  let since: string | undefined;
  const { key } = reader.app;
  while (!stopped.aborted) {
    const url = `${soak.server.url}/v1/data/db/tasks/changes`;
    const events = await openEvents(url, { key, since });
    if (!events.response.ok) throw new Error(`Cannot open a stream: ${events.response.status}`);
    const left = soak.endsAt - performance.now();
    const leave = () => void events.close();
    stopped.addEventListener("abort", leave);
    const stay = Math.random() * MAX_STAY_MS;
    const timer = left > stay && reader.habit !== "staying" ? setTimeout(leave, stay) : undefined;
    for (;;) {
      const event = await events.next().catch(() => undefined);
      if (event === undefined) break;
      await apply(soak, reader, event);
      since = event.id;
    }
    clearTimeout(timer);
    stopped.removeEventListener("abort", leave);
    soak.counts.resumes++;
    const pause = reader.habit === "absent" ? ABSENCE_MS : Math.random() * MAX_PAUSE_MS;
    await Bun.sleep(Math.max(Math.min(pause, soak.endsAt - performance.now()), 0));
  }
}

async function apply(
  { ...soak }: Soak,
  reader: Reader,
  { kind, data }: StreamEvent,
): Promise<void> {
  const { counts } = soak;
  counts.events++;
  if (kind !== "changes") {
    counts.resets += kind === "reset" ? 1 : 0;
    reader.rows = await list(soak, reader.app);
    return;
  }
  for (const { put, delete: deleted = "" } of data as Change[])
    if (put === undefined) reader.rows.delete(deleted);
    else {
      if (put.app_id !== reader.app.id) counts.foreignRows++;
      reader.rows.set(put.id, JSON.stringify(put));
    }
}

async function list(soak: Soak, app: StageApp): Promise<Map<string, string>> {
  const response = await callTable(soak, app, "?limit=1000");
  if (response.status !== 200) {
    await response.text();
    await Bun.sleep(RETRY_MS);
    return await list(soak, app);
  }
  const { rows } = (await response.json()) as { rows: Row[] };
  return new Map(rows.map((row) => [row.id, JSON.stringify(row)]));
}

/** Waits for the last events, and returns how many readers have the rows of their app. */
async function compareAll(
  soak: Soak,
  apps: readonly StageApp[],
  readers: readonly Reader[],
): Promise<number> {
  const toText = (rows: Map<string, string>) => JSON.stringify([...rows].sort());
  const lists = await Promise.all(
    apps.map(async (app) => [app, toText(await list(soak, app))] as const),
  );
  const truth = new Map(lists);
  const count = () => readers.filter(({ app, rows }) => toText(rows) === truth.get(app)).length;
  await eventually(() => count() === readers.length).catch(() => undefined);
  return count();
}

export function printLiveSoak(result: LiveSoakResult): string {
  const { samples, counts, cpu } = result;
  const quarters = [0, 0.25, 0.5, 0.75, 1].flatMap(
    (share) => samples[Math.round(share * (samples.length - 1))] ?? [],
  );
  const lines = table(
    ["event streams, minute", "memory MB", "stored changes"],
    quarters.map(({ minute, mb, changes }) => [show(minute), show(mb), show(changes)]),
  );
  const summary = `${show(result.minutes)} minutes, ${result.readers} readers of ${SIZE.apps} apps: ${show(counts.writes)} writes (${counts.failedWrites} failed), ${show(counts.events)} events, ${show(counts.resumes)} reconnections, ${counts.resets} resets, ${counts.foreignRows} rows of another app; ${result.equal} readers ended with their app's rows. ${show(cpu.server, 1)} % of a core for the process, ${show(cpu.database, 1)} % for PostgreSQL. Memory grows by ${show(result.slopeMb, 3)} MB a minute after the first quarter.`;
  return `${lines}\n\n${summary}`;
}
