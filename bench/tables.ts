/**
 * `bench tables`: apps with tables of their own beside the same apps with shared tables. What each table costs: functions and their
 * text, the catalog, memory of the backends, first and later calls, a push, the start of a process, and commands.
 *
 * @module
 */
import { loadavg, tmpdir } from "node:os";
import { defineSchema, t } from "../src/schema/mod.ts";
import { runCommand } from "../test/support/command.ts";
import { openTestService, type TestApp, type TestService } from "../test/support/service.ts";
import { readBackends, readCatalog, sum } from "./backends.ts";
import type { BenchOptions } from "./options.ts";
import { show, table, times } from "./print.ts";
import { median, percentile } from "./rounds.ts";
import { startServer } from "./servers.ts";

const PREVIEWS = ["filters", "browser"] as const;
/** The tables of an app. */
const TABLES = 4;
const FULL_APPS = 2500;
/** As a small service has them. */
const CONNECTIONS = 10;
const CALLERS = 16;
/** Mixed requests, for each table. */
const MIXED_PER_TABLE = 30;
/** Tables that one session meets, below the estimate at which it is replaced. */
const SESSION_TABLES = 20;
/** Tables that are pushed to measure it; the median counts. */
const PUSHES = 5;

const ROW = { title: "A task", done: false, amount: 7, price: "1.50", status: "open", note: "Now" };

/** The kinds of requests: how many of a hundred are of it, and the request. The first of a table is a create. */
const KINDS = {
  create: [10, "POST", "", ROW],
  get: [35, "GET", "/:id"],
  list: [25, "GET", "?limit=20"],
  update: [13, "PATCH", "/:id", { title: "Other" }],
  query: [10, "GET", "?status=eq.open&order=due&limit=20"],
  count: [2, "GET", "?limit=1"],
  groups: [2, "GET", "/groups?by=status"],
  where: [1, "PATCH", "?status=eq.late", { note: "Call" }],
  delete: [2, "DELETE", "/:new"],
} as const satisfies Record<string, Kind>;
type Kind = readonly [share: number, method: string, path: string, json?: object];
type KindName = keyof typeof KINDS;
const NAMES = Object.keys(KINDS) as KindName[];
/** Those without a preview. */
const PLAIN: readonly KindName[] = ["create", "get", "list", "update", "delete"];

function modelOf() {
  return t
    .model({
      title: t.string().required(),
      done: t.boolean(),
      amount: t.integer(),
      price: t.decimal(),
      status: t.enum(["open", "done", "late"]),
      due: t.timestamp(),
      note: t.string(),
      owner: t.uuid().owner(),
    })
    .index("status", "due")
    .index("owner", "id")
    .allow("reader", { read: true })
    .allow("member", { read: { owner: "me" }, create: true, update: { owner: "me" } });
}

type Side = Awaited<ReturnType<typeof measure>>;
type Session = { plainKb: number; allKb: number };
export type TablesResult = {
  apps: number;
  load: number;
  session: Session;
  own: Side;
  shared: Side;
};

export async function benchTables(options: BenchOptions): Promise<TablesResult> {
  const apps = options.full ? FULL_APPS : options.apps;
  const load = loadavg()[0] ?? 0;
  const session = await measureSession();
  const own = await measure(apps, (app) => `app${app}`);
  return { apps, load, session, own, shared: await measure(apps, () => "shared") };
}

type Target = { app: TestApp; path: string; id: string };

async function measure(apps: number, toPrefix: (app: number) => string) {
  await using service = await openTestService({
    connections: CONNECTIONS,
    service: { previews: PREVIEWS, checkIntervalMs: 3_600_000 },
  });
  const firstPushMs = await pushOthers(service, "early");
  const before = await readCatalog(service);
  const targets: Target[] = [];
  for (let number = 0; number < apps; number++) {
    targets.push(...(await pushTables(service, toPrefix(number), TABLES)));
    report(`${number + 1} of ${apps} apps`);
  }
  const firstMs: Partial<Record<KindName, number>> = {};
  for (const name of NAMES) firstMs[name] = await callAll(service, name, targets);
  report("each kind called once for each table");
  const begin = performance.now();
  const mixed = await callMixed(service, targets);
  const mixedPerS = (targets.length * MIXED_PER_TABLE * 1000) / (performance.now() - begin);
  report("mixed requests");
  const backends = await readBackends(service);
  const after = await readCatalog(service);
  return {
    functions: (after.functions - before.functions) / targets.length,
    textKb: (after.textKb - before.textKb) / targets.length,
    catalogMb: after.catalogMb - before.catalogMb,
    databaseMb: after.databaseMb - before.databaseMb,
    tableKb: ((after.databaseMb - before.databaseMb) * 1000) / targets.length,
    largestBackendMb: Math.max(0, ...backends),
    backendsMb: sum(backends),
    ...{ firstMs, mixed, mixedPerS, firstPushMs, lastPushMs: await pushOthers(service, "late") },
    readyMs: await timeStart(service),
    migrateMs: await timeCommand(service, "migrate"),
    dryRunMs: await timeCommand(service, "migrate", "--dry-run"),
    doctorMs: await timeCommand(service, "doctor"),
  };
}

/** The memory that a session keeps for each table that it has met, without what all tables share. */
async function measureSession(): Promise<Session> {
  await using service = await openTestService({
    connections: 1,
    service: { previews: PREVIEWS, checkIntervalMs: 3_600_000 },
  });
  const [first, ...targets] = await pushTables(service, "met", SESSION_TABLES + 1);
  if (first === undefined) throw new Error("No table was pushed");
  for (const name of NAMES) await send(service, name, first);
  const before = sum(await readBackends(service));
  const toKb = async () => ((sum(await readBackends(service)) - before) * 1024) / targets.length;
  for (const name of PLAIN) await callAll(service, name, targets);
  const plainKb = await toKb();
  for (const name of NAMES) if (!PLAIN.includes(name)) await callAll(service, name, targets);
  const allKb = await toKb();
  report("memory of a session");
  return { plainKb, allKb };
}

/** The tables of a new app. */
async function pushTables(service: TestService, prefix: string, count: number): Promise<Target[]> {
  const app = await service.makeApp();
  const names = Array.from({ length: count }, (_, n) => `${prefix}_table${n}`);
  const schema = defineSchema(Object.fromEntries(names.map((name) => [name, modelOf()])));
  await service.pushSchema(app, schema);
  return names.map((name) => ({ app, path: `/v1/data/db/${name}`, id: "" }));
}

function report(done: string): void {
  process.stderr.write(`${done}\n`);
}

/** Milliseconds of a push of one table of a new app. */
async function pushOthers(service: TestService, prefix: string): Promise<number> {
  const found: number[] = [];
  for (let n = 0; n < PUSHES; n++) {
    const app = await service.makeApp();
    const schema = defineSchema({ [`${prefix}${n}`]: modelOf() });
    found.push(await time(() => service.pushSchema(app, schema)));
  }
  return median(found);
}

async function time(act: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await act();
  return performance.now() - begin;
}

/** @throws {Error} the request fails: a failure would be faster */
async function send(service: TestService, name: KindName, target: Target): Promise<void> {
  const [, method, toPath, json]: Kind = KINDS[name];
  const path = toPath.replace(":id", target.id).replace(":new", crypto.randomUUID());
  const headers = name === "count" ? { prefer: "count=exact" } : {};
  const call = { method, headers, ...(json && { json }) };
  const { status, text } = await service.call(target.app, target.path + path, call);
  if (status >= 400 && !(name === "delete" && status === 404))
    throw new Error(`${name} of ${target.path} responded ${status}: ${text}`);
  if (name === "create") target.id = JSON.parse(text).id;
}

/** Median milliseconds of one request to each table, one after the other. */
async function callAll(service: TestService, name: KindName, targets: readonly Target[]) {
  const found: number[] = [];
  for (const target of targets) found.push(await time(() => send(service, name, target)));
  return median(found);
}

/** Requests to all tables, in a random order. */
async function callMixed(service: TestService, targets: readonly Target[]) {
  const kinds = NAMES.flatMap((name) => Array.from({ length: KINDS[name][0] }, () => name));
  const work = Array.from(
    { length: targets.length * MIXED_PER_TABLE },
    () => [draw(kinds), draw(targets)] as const,
  );
  const found = Object.fromEntries(NAMES.map((name) => [name, [] as number[]]));
  const call = async (): Promise<void> => {
    for (let next = work.pop(); next !== undefined; next = work.pop()) {
      const [name, target] = next;
      found[name]?.push(await time(() => send(service, name, target)));
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  const toFigures = (values: readonly number[] = []) => {
    const sorted = values.toSorted((a, b) => a - b);
    return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
  };
  return Object.fromEntries(NAMES.map((name) => [name, toFigures(found[name])])) as Record<
    KindName,
    ReturnType<typeof toFigures>
  >;
}

function draw<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error("There is nothing to draw from");
  return item;
}

/** Milliseconds until a new process serves with warm connections. */
async function timeStart({ database }: TestService): Promise<number> {
  const begin = performance.now();
  const stage = { database, plainUrl: "" };
  const env = { BENCH_PREVIEWS: PREVIEWS.join(",") };
  await using _server = await startServer(
    "service",
    stage,
    { pool: CONNECTIONS, profile: undefined },
    { env },
  );
  return performance.now() - begin;
}

/** Milliseconds of a command in its own process. */
async function timeCommand({ database }: TestService, ...words: string[]): Promise<number> {
  const env = {
    ADMIN_DATABASE_URL: database.adminUrl,
    DATABASE_URL: database.servingUrl,
    PREVIEW: PREVIEWS.join(","),
  };
  const begin = performance.now();
  const { code, err } = await runCommand(words, { folder: tmpdir(), env });
  if (code !== 0 && words[0] !== "doctor")
    throw new Error(`${words.join(" ")} ended with ${code}: ${err}`);
  return performance.now() - begin;
}

const FIGURES: readonly [name: string, read: (side: Side) => number, digits?: number][] = [
  ["functions of a table", (side) => side.functions, 1],
  ["their text, KB", (side) => side.textKb, 1],
  ["growth of the catalog, MB", (side) => side.catalogMb],
  ["growth of the database, MB", (side) => side.databaseMb],
  ["growth of the database for a table, KB", (side) => side.tableKb],
  ["largest backend, MB", (side) => side.largestBackendMb],
  ["all backends, MB", (side) => side.backendsMb],
  ["mixed requests a second", (side) => side.mixedPerS],
  ["push of one table at first, ms", (side) => side.firstPushMs],
  ["push of one table at the end, ms", (side) => side.lastPushMs],
  ["start of a process, ms", (side) => side.readyMs],
  ["migrate without changes, ms", (side) => side.migrateMs],
  ["migrate --dry-run, ms", (side) => side.dryRunMs],
  ["doctor, ms", (side) => side.doctorMs],
];

export function printTables({ apps, load, session, own, shared }: TablesResult): string {
  const rows = FIGURES.map(([name, read, digits = 0]) => [
    ...[name, show(read(own), digits), show(read(shared), digits)],
    times(read(own) / read(shared)),
  ]);
  const calls = NAMES.map((name) => [
    ...[name, show(own.firstMs[name], 2), show(shared.firstMs[name], 2)],
    ...[show(own.mixed[name].p50, 2), show(shared.mixed[name].p50, 2)],
    times(own.mixed[name].p50 / shared.mixed[name].p50),
    ...[show(own.mixed[name].p99, 1), show(shared.mixed[name].p99, 1)],
  ]);
  const later = [
    "own, later, p50",
    "shared, later, p50",
    "own ÷ shared",
    "own, p99",
    "shared, p99",
  ];
  return `${table(["", "own tables", "shared tables", "own ÷ shared"], rows)}

${table(["ms of a call", "own, first", "shared, first", ...later], calls)}

A session keeps ${show(session.plainKb)} KB for each table that it has met, after ${PLAIN.join(", ")}; ${show(session.allKb)} KB after all kinds.

${apps} apps with ${TABLES} tables each, a pool of ${CONNECTIONS}, ${CALLERS} callers of mixed requests, with a load of ${show(load, 1)} from other work.`;
}
