/**
 * `bun run bench:citus`: compares requests per second on Citus clusters of one worker, two workers, and so on, with a plain
 * database on the coordinator. The measurements alternate in one run, so only the ratios are meaningful.
 *
 * @module
 */
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
const ROUNDS = 5;
const ROUND_MS = 1500;
const CALLERS = [1, 8];

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
  const service = await openTestService({ cluster });
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

/** Returns the requests per second of this many callers. */
async function measure(
  side: Side,
  request: (typeof REQUESTS)[number],
  callers: number,
): Promise<number> {
  const started = performance.now();
  let count = 0;
  const call = async (): Promise<void> => {
    while (performance.now() - started < ROUND_MS) {
      const status = await request.send(side, count++);
      if (status !== request.want) throw new Error(`Status ${status}`);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return (count * 1000) / (performance.now() - started);
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

/** Prints a row: the requests per second on one PostgreSQL, and the ratio of each cluster to it. */
async function compare(request: (typeof REQUESTS)[number], callers: number): Promise<void> {
  const rounds: number[][] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const found: number[] = [];
    for (const side of sides) found.push(await measure(side, request, callers));
    // The first round warms up the services.
    if (round > 0) rounds.push(found);
  }
  const show = (value: number) => value.toFixed(2);
  const ratios = sides.slice(1).map((_, index) => {
    const all = rounds.map(([plain = 0, ...clusters]) => (clusters[index] ?? 0) / plain);
    return `${show(median(all))} (${show(Math.min(...all))}–${show(Math.max(...all))})`;
  });
  const plainRate = median(rounds.map(([plain = 0]) => plain));
  console.log(`| ${request.name} | ${callers} | ${plainRate.toFixed()} | ${ratios.join(" | ")} |`);
}

const url = citusUrl();
if (url === undefined) {
  console.error("CITUS_ADMIN_URL is not set: nothing was measured (docs/scaling.md)");
  process.exit(1);
}
const workers = await withDatabase(url, countWorkers);
const sides: Side[] = [];
for (let count = 0; count <= workers; count++) sides.push(await openSide(url, count));
const headings = sides.slice(1).map((_, index) => `${index + 1} worker${index === 0 ? "" : "s"}`);
console.log(`| request | callers | one PostgreSQL, req/s | ${headings.join(" | ")} |`);
console.log(`|---|---:|---:|${headings.map(() => "---:|").join("")}`);
for (const request of REQUESTS) for (const callers of CALLERS) await compare(request, callers);
for (const { service } of sides) await service.close();
