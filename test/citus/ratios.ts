/**
 * `bun run bench:citus`: compares the CPU time of the servers per call on Citus clusters of one worker, two workers, and so on, with a
 * plain database on the coordinator. The measurements alternate in one run, so only the ratios are meaningful. On Linux.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { parentOf } from "../../bench/cpu.ts";
import { type Database, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { citusUrl } from "../support/citus.ts";
import { withDatabase } from "../support/cluster.ts";
import {
  type Call,
  callService,
  openTestService,
  type TestApp,
  type TestService,
} from "../support/service.ts";

const SCHEMA = defineSchema({
  figures: { title: t.string().required(), count: t.number().required() },
});
const PATH = "/v1/data/db/figures";
const APPS = 12;
/** Rows per app. */
const ROWS = 50;
const ROUNDS = 3;
const CALLS = 300;
/** Of each node, straight from the service; 0: through the coordinator. */
const NODE_POOL = Number(process.env["CITUS_NODE_POOL"] ?? 2);

type Filled = { app: TestApp; ids: string[] };
type Side = { service: TestService; filled: Filled[] };
type Send = (side: Side, number: number) => Promise<number>;

const row = (number: number) => ({ title: `Row ${number}`, count: number });
const appOf = ({ filled }: Side, number: number) => filled[number % APPS] as Filled;

function idOf(side: Side, number: number): string {
  const { ids } = appOf(side, number);
  return ids[Math.floor(number / APPS) % ids.length] ?? "";
}

async function send(
  side: Side,
  number: number,
  { path = "", ...call }: Call & { path?: string },
): Promise<number> {
  const { url } = side.service;
  return (await callService({ url }, appOf(side, number).app, `${PATH}${path}`, call)).status;
}

const REQUESTS: readonly { name: string; send: Send; want: number }[] = [
  { name: "get", send: (side, n) => send(side, n, { path: `/${idOf(side, n)}` }), want: 200 },
  {
    name: "list of 20",
    send: (side, n) => send(side, n, { path: `?limit=20&offset=${n % 30}` }),
    want: 200,
  },
  { name: "create", send: (side, n) => send(side, n, { method: "POST", json: row(n) }), want: 201 },
  {
    name: "update",
    send: (side, n) => send(side, n, { path: `/${idOf(side, n)}`, method: "PATCH", json: row(n) }),
    want: 200,
  },
];

/** Creates apps with rows in a database: plain for 0 workers, otherwise distributed over the workers. */
async function openSide(admin: string, workers: number): Promise<Side> {
  const isPlain = workers === 0;
  const cluster = { admin, serving: admin, prepare: true, isPlain, workers };
  const service = await openTestService({
    cluster,
    service: { nodeConnections: isPlain ? 0 : NODE_POOL },
  });
  const filled: Filled[] = [];
  for (let count = 0; count < APPS; count++) {
    const app = await service.makeApp(SCHEMA);
    const json = Array.from({ length: ROWS }, (_, number) => row(number));
    const response = await service.call(app, PATH, { method: "POST", json });
    const { rows } = response.json as unknown as { rows: { id: string }[] };
    filled.push({ app, ids: rows.map(({ id }) => id) });
  }
  return { service, filled };
}

type Cpu = ReadonlyMap<number, number>;

/** The CPU time of the backends of a database so far, in microseconds, by their server. */
function readCpu({ service }: Side): Cpu {
  const backend = new RegExp(`^postgres: \\S+ ${service.database.name} `);
  const servers = new Map<number, number>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (!backend.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"))) continue;
      const parent = parentOf(Number(pid)) ?? 0;
      const [ns = 0] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ").map(Number);
      servers.set(parent, (servers.get(parent) ?? 0) + ns / 1000);
    } catch {} // It has ended.
  }
  return servers;
}

type Cost = { all: number; busiest: number };

/** The CPU time per call, of all servers and of the busiest. */
async function measure(side: Side, request: (typeof REQUESTS)[number]): Promise<Cost> {
  const before = readCpu(side);
  for (let count = 0; count < CALLS; count++) {
    const status = await request.send(side, count);
    if (status !== request.want) throw new Error(`Status ${status}`);
  }
  const used = [...readCpu(side)].map(([server, us]) => (us - (before.get(server) ?? 0)) / CALLS);
  return { all: used.reduce((sum, us) => sum + us, 0), busiest: Math.max(...used) };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

async function countWorkers(admin: Database): Promise<number> {
  const [found] = await admin.query<{ workers: number }>(
    "select count(*)::int4 as workers from pg_dist_node where noderole = 'primary' and groupid <> 0",
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return found?.workers ?? 0;
}

/** Prints a row: the CPU time on one PostgreSQL, and of each cluster the ratio to it and the share of the busiest server. */
async function compare(request: (typeof REQUESTS)[number]): Promise<void> {
  const rounds: Cost[][] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const found: Cost[] = [];
    for (const side of sides) found.push(await measure(side, request));
    // The first round warms up the services.
    if (round > 0) rounds.push(found);
  }
  const of = (toNumber: (costs: Cost[]) => number) => median(rounds.map(toNumber));
  const ratios = sides.slice(1).map((_, index) => {
    const ratio = of(([plain, ...clusters]) => (clusters[index]?.all ?? 0) / (plain?.all ?? 0));
    const busiest = of((costs) => costs[index + 1]?.busiest ?? 0);
    return `${ratio.toFixed(2)} | ${busiest.toFixed()}`;
  });
  console.log(
    `| ${request.name} | ${of(([plain]) => plain?.all ?? 0).toFixed()} | ${ratios.join(" | ")} |`,
  );
}

const url = citusUrl();
if (url === undefined) {
  console.error("CITUS_ADMIN_URL is not set: nothing was measured (docs/scaling.md)");
  process.exit(1);
}
const workers = await withDatabase(url, countWorkers);
const sides: Side[] = [];
for (let count = 0; count <= workers; count++) sides.push(await openSide(url, count));
const headings = sides.slice(1).map((_, n) => `${n + 1} workers: ratio | busiest server, µs`);
console.log(`| request | one PostgreSQL, µs | ${headings.join(" | ")} |`);
console.log(`|---|---:|${headings.map(() => "---:|---:|").join("")}`);
for (const request of REQUESTS) await compare(request);
for (const { service } of sides) await service.close();
