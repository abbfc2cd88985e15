/** The current state in /metrics: requests in flight, busy connections, and waiting, shed and rejected requests. @module */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { whileRowLocked } from "../support/held_lock.ts";
import { limitHeaders } from "../support/limit_headers.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService, type TestApp, type TestService, UNGUARDED } from "../support/service.ts";

const LIST = "/v1/data/db/todos";
const SCHEMA = defineSchema({ todos: { title: t.string() } });
const CONNECTIONS = 2;
const LIMIT_MS = 20_000;
/** The limits of waiting calls: of one app, and of all apps. */
const LANE_QUEUE = 256;
const QUEUE = 1024;

let proxy: PostgresProxy;
let service: TestService;
let app: TestApp;
let row: string;
beforeEach(async () => {
  proxy = await openPostgresProxy();
  service = await openTestService({
    shape: "one",
    connections: CONNECTIONS,
    limitMs: LIMIT_MS,
    toServingUrl: proxy.toUrl,
    service: UNGUARDED,
  });
  app = await service.makeApp(SCHEMA);
  const created = await service.call(app, LIST, { method: "POST", json: { title: "first" } });
  row = created.headers.get("location") ?? "";
  await untilQuiet();
});
afterEach(async () => {
  await service.close();
  await proxy.close();
});

/** The statements of a service in the second after its start, which would wait with the calls of the test. */
const FIRST_WORK = [
  ...["throttle", "audit", "idempotency_keys", "leases", "statistics"].map(
    (table) => `sweep_${table}`,
  ),
  "add_minute",
];

/** Waits until the service has no other work than its version check. */
async function untilQuiet(): Promise<void> {
  await eventually(() => FIRST_WORK.every((text) => proxy.count(text) > 0), {
    describe: () => FIRST_WORK.filter((text) => proxy.count(text) === 0).join(),
  });
  await untilMetrics(QUIET);
}

/** Returns every sample by its printed name and labels. */
async function readMetrics(): Promise<Map<string, number>> {
  const response = await service.service.adminFetch(new Request("http://localhost/metrics"));
  const samples = (await response.text()).split("\n").filter((line) => /^[a-z]/.test(line));
  return new Map(
    samples.map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

type Samples = Readonly<Record<string, number>>;

async function readSamples(names: readonly string[]): Promise<Samples> {
  const metrics = await readMetrics();
  return Object.fromEntries(names.map((name) => [name, metrics.get(name) ?? 0]));
}

/** A value, or its minimum and maximum: the service's version check can wait with the calls. */
type Wanted = Readonly<Record<string, number | readonly [min: number, max: number]>>;

/** Waits until one response contains all these values. */
async function untilMetrics(wanted: Wanted): Promise<void> {
  let found: Samples = {};
  await eventually(
    async () => {
      found = await readSamples(Object.keys(wanted));
      return Object.entries(wanted).every(([name, want]) => {
        const [min, max] = typeof want === "number" ? [want, want] : want;
        const value = found[name] ?? 0;
        return value >= min && value <= max;
      });
    },
    { describe: () => JSON.stringify({ wanted, found }) },
  );
}

const IN_FLIGHT = "rowhouse_requests_in_flight";
const pool = (state: string) => `rowhouse_pool_connections{pool="serving",state="${state}"}`;
const shed = (reason: string) => `rowhouse_shed_total{pool="serving",reason="${reason}"}`;
const errors = (code: string) => `rowhouse_errors_total{code="${code}"}`;
const QUIET = { [IN_FLIGHT]: 0, [pool("busy")]: 0, [pool("waiting")]: 0 };

/** Runs `use` while another session has locked the row. Returns the results after the lock is released. */
async function whileHeld<Result>(use: () => Promise<Promise<Result>[]>): Promise<Result[]> {
  const id = row.slice(row.lastIndexOf("/") + 1);
  return await Promise.all(await whileRowLocked(service.database.adminUrl, id, use));
}

/** Changes the row without a socket: a client cannot open as many connections. */
async function send(by = app, path = row): Promise<Response> {
  const request = new Request(`http://localhost${path}`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${by.key}`, "content-type": "application/json" },
    body: '{"title":"changed"}',
  });
  return await service.service.fetch(request, { requestIP: () => null });
}

const change = async (by?: TestApp, path?: string) => (await send(by, path)).status;

const changes = (count: number, by = app) => Array.from({ length: count }, () => change(by));

test("a locked row's requests are counted in flight, connected or waiting, and not afterward", async () => {
  await untilMetrics(QUIET);
  const statuses = await whileHeld(async () => {
    const requests = changes(6);
    await untilMetrics({
      [IN_FLIGHT]: 6,
      [pool("open")]: CONNECTIONS,
      [pool("busy")]: CONNECTIONS,
      [pool("waiting")]: [6 - CONNECTIONS, 6 - CONNECTIONS + 1],
    });
    return requests;
  });
  expect(statuses).toEqual(statuses.map(() => 200));
  await untilMetrics(QUIET);
});

test("a request that waits too long is counted as shed for that reason, and under its error code", async () => {
  const statuses = await whileHeld(async () => {
    const requests = changes(5);
    await untilMetrics({ [shed("waited")]: [3, 4], [errors("overloaded")]: 3, [IN_FLIGHT]: 2 });
    return requests;
  });
  expect(statuses.sort()).toEqual([200, 200, 503, 503, 503]);
});

test("requests of an app with a full queue are counted as shed, with the limits of their key", async () => {
  const responses = await whileHeld(async () => {
    const requests = Array.from({ length: CONNECTIONS + LANE_QUEUE + 7 }, () => send());
    await untilMetrics({ [shed("queue_full")]: 7, [errors("rate_limited")]: 7, [shed("full")]: 0 });
    return requests;
  });
  const rejected = responses.filter(({ status }) => status === 429);
  expect(rejected).toHaveLength(7);
  for (const { headers } of rejected)
    expect(limitHeaders(headers)).toEqual({
      "retry-after": "1",
      "ratelimit-policy": '"app";q=600000;w=60, "key";q=600000;w=60',
      ratelimit: expect.stringMatching(/^"(app|key)";r=\d{6};t=\d+$/),
    });
});

test("requests above the total limit of all queues are counted as shed for that reason", async () => {
  const others: TestApp[] = [];
  for (let n = 0; n < 5; n++) others.push(await service.makeApp(SCHEMA));
  // Cache the keys while connections are free.
  for (const other of others) await service.call(other, LIST);
  const statuses = await whileHeld(async () => {
    const requests = changes(CONNECTIONS);
    await untilMetrics({ [pool("busy")]: CONNECTIONS });
    const each = Math.floor(QUEUE / others.length) + 10;
    requests.push(...others.flatMap((other) => changes(each, other)));
    const over = each * others.length - QUEUE;
    // On a slow machine, requests stop waiting before all are sent. Then they are rejected, too.
    await eventually(async () => {
      const metrics = await readMetrics();
      const [full = 0, rejected = 0, waiting = 0, inFlight = 0] = [
        ...[shed("full"), errors("overloaded"), pool("waiting"), IN_FLIGHT],
      ].map((name) => metrics.get(name));
      const isFull = full >= over && full <= over + 2;
      const known = rejected + waiting - over - QUEUE;
      const connected = inFlight - waiting;
      return isFull && [0, 1].includes(known) && [CONNECTIONS - 1, CONNECTIONS].includes(connected);
    });
    return requests;
  });
  // A 404 for another app's row means that the request was admitted. On a slow machine, the other requests can time out.
  const count = (wanted: number) => statuses.filter((status) => status === wanted).length;
  expect(count(200)).toBe(CONNECTIONS);
  expect(count(404)).toBeGreaterThan(0);
  expect(count(404) + count(503)).toBe(statuses.length - CONNECTIONS);
});

test("requests rejected in an outage are counted as shed and under their error code", async () => {
  proxy.refuse();
  await untilMetrics({ [pool("open")]: 0 });
  const before = await readSamples([errors("unavailable")]);
  const statuses = await Promise.all(changes(9));
  expect(statuses).toEqual(statuses.map(() => 503));
  const after = await readMetrics();
  expect((after.get(errors("unavailable")) ?? 0) - (before[errors("unavailable")] ?? 0)).toBe(9);
  expect(after.get(shed("unavailable")) ?? 0).toBeGreaterThanOrEqual(1);
  await proxy.heal();
});
