/**
 * `bun run bench:citus`: requests per second on a Citus cluster of one worker, two, and so on, beside those on one PostgreSQL,
 * which is a plain database of the coordinator's server. All in turns, in one run: only the ratios mean something.
 *
 * @module
 */
import { type Database, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/dsl/mod.ts";
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
/** Of each app. */
const ROWS = 50;
const ROUNDS = 5;
const ROUND_MS = 1500;
const CALLERS = [1, 8];

type Filled = { app: TestApp; ids: string[] };
type Place = { service: TestService; filled: Filled[] };
type Ask = (place: Place, number: number) => Promise<number>;

const row = (number: number) => ({ title: `Row ${number}`, count: number });
const appOf = ({ filled }: Place, number: number) => filled[number % APPS] as Filled;

function idOf(place: Place, number: number): string {
  const { ids } = appOf(place, number);
  return ids[Math.floor(number / APPS) % ids.length] ?? "";
}

async function send(
  place: Place,
  number: number,
  { path = "", ...call }: Call & { path?: string },
): Promise<number> {
  const { url } = place.service;
  return (await callService({ url }, appOf(place, number).app, `${PATH}${path}`, call)).status;
}

const REQUESTS: readonly { name: string; ask: Ask; want: number }[] = [
  { name: "get", ask: (at, n) => send(at, n, { path: `/${idOf(at, n)}` }), want: 200 },
  {
    name: "list of 20",
    ask: (at, n) => send(at, n, { path: `?limit=20&offset=${n % 30}` }),
    want: 200,
  },
  { name: "create", ask: (at, n) => send(at, n, { method: "POST", json: row(n) }), want: 201 },
  {
    name: "update",
    ask: (at, n) => send(at, n, { path: `/${idOf(at, n)}`, method: "PATCH", json: row(n) }),
    want: 200,
  },
];

/** Apps with rows in a database of this server: plain, or distributed over so many workers. */
async function openPlace(admin: string, workers: number): Promise<Place> {
  const isPlain = workers === 0;
  const cluster = { admin, serving: admin, prepare: true, isPlain, workers };
  const service = await openTestService({ cluster });
  const filled: Filled[] = [];
  for (let made = 0; made < APPS; made++) {
    const app = await service.makeApp(SCHEMA);
    const json = Array.from({ length: ROWS }, (_, number) => row(number));
    const response = await service.call(app, PATH, { method: "POST", json });
    const { rows } = response.json as unknown as { rows: { id: string }[] };
    filled.push({ app, ids: rows.map(({ id }) => id) });
  }
  return { service, filled };
}

/** Requests per second of so many callers. */
async function measure(
  place: Place,
  { ask, want }: (typeof REQUESTS)[number],
  callers: number,
): Promise<number> {
  const started = performance.now();
  let count = 0;
  const call = async (): Promise<void> => {
    while (performance.now() - started < ROUND_MS) {
      const status = await ask(place, count++);
      if (status !== want) throw new Error(`Status ${status}`);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return (count * 1000) / (performance.now() - started);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

async function countWorkers(admin: Database): Promise<number> {
  const [found] = await admin.query<{ workers: number }>(
    "select count(*)::int4 as workers from pg_dist_node where noderole = 'primary' and groupid <> 0",
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return found?.workers ?? 0;
}

/** Prints a row: what one PostgreSQL does, and by how much each cluster does more or less. */
async function compare(request: (typeof REQUESTS)[number], callers: number): Promise<void> {
  const rounds: number[][] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const found: number[] = [];
    for (const place of places) found.push(await measure(place, request, callers));
    // The first one warms.
    if (round > 0) rounds.push(found);
  }
  const show = (value: number) => value.toFixed(2);
  const ratios = places.slice(1).map((_, index) => {
    const all = rounds.map(([one = 0, ...many]) => (many[index] ?? 0) / one);
    return `${show(median(all))} (${show(Math.min(...all))}–${show(Math.max(...all))})`;
  });
  const one = median(rounds.map(([first = 0]) => first));
  console.log(`| ${request.name} | ${callers} | ${one.toFixed()} | ${ratios.join(" | ")} |`);
}

const url = citusUrl();
if (url === undefined) {
  console.error("CITUS_ADMIN_URL is not set: nothing was measured (docs/scaling.md)");
  process.exit(1);
}
const workers = await withDatabase(url, countWorkers);
const places: Place[] = [];
for (let count = 0; count <= workers; count++) places.push(await openPlace(url, count));
const headings = places.slice(1).map((_, index) => `${index + 1} worker${index === 0 ? "" : "s"}`);
console.log(`| request | callers | one PostgreSQL, req/s | ${headings.join(" | ")} |`);
console.log(`|---|---:|---:|${headings.map(() => "---:|").join("")}`);
for (const request of REQUESTS) for (const callers of CALLERS) await compare(request, callers);
for (const { service } of places) await service.close();
