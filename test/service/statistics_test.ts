/** Processes add their counts and failed requests once a minute and exactly once, despite outages and at their end. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { ALL_APPS, CONSOLE_APP, NO_APP, readRows } from "../../src/db/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { SLOW_MS } from "../../src/std/limits.ts";
import { eventually, untilRead } from "../support/eventually.ts";
import { whileRowLocked } from "../support/held_lock.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { shapeOfRun } from "../support/shape.ts";

const LIST = "/v1/data/db/todos";
const MINUTE_MS = 60_000;

let proxy: PostgresProxy;
let service: TestService;
let app: TestApp;
let ahead: number;
beforeEach(async () => {
  ahead = 0;
  proxy = await openPostgresProxy();
  service = await openTestService({
    toServingUrl: proxy.toUrl,
    limitMs: 1200,
    service: { now: () => Date.now() + ahead },
  });
  app = await service.makeApp(defineSchema({ todos: { title: t.string() } }));
});
afterEach(async () => {
  await service.close();
  await proxy.close();
});

const nextMinute = () => {
  ahead += MINUTE_MS;
};

type Sum = { requests: number; errors: number; rejections: number; latencies: number };

/** Returns the app's totals by minute and by hour. */
async function readSums(): Promise<[minutes: Sum, hours: Sum]> {
  const sumOf = async (span: string) => {
    const [sum] = await service.query<Sum>(`select coalesce(sum(requests), 0)::int4 as requests,
      coalesce(sum(errors), 0)::int4 as errors, coalesce(sum(rejections), 0)::int4 as rejections,
      coalesce(sum((select sum(latency) from unnest(latencies) as latency)), 0)::int4 as latencies
      from rowhouse.statistics where app_id = '${app.id}' and span = '${span}'`);
    if (sum === undefined) throw new Error("No sum");
    return sum;
  };
  return [await sumOf("minute"), await sumOf("hour")];
}

async function untilCounted(requests: number): Promise<void> {
  await untilRead(readSums, ([minutes]) => minutes.requests >= requests);
}

test("requests of an app, their errors and durations are counted by minute and by hour", async () => {
  await service.call(app, LIST);
  await service.call(app, "/v1/data/db/none");
  nextMinute();
  await untilCounted(2);
  await service.call(app, LIST);
  nextMinute();
  await untilCounted(3);
  const sum = { requests: 3, errors: 0, rejections: 1, latencies: 3 };
  expect(await readSums()).toEqual([sum, sum]);
  const minutes = await service.query(
    `select from rowhouse.statistics where app_id = '${app.id}' and span = 'minute'`,
  );
  expect(minutes.length).toBeGreaterThanOrEqual(2);
});

test("a write that a setting of the app stops is a rejection in counts and lists, not an error", async () => {
  await setAppSwitch(service.service, app.slug, ["read_only", true]);
  const written = await service.call(app, LIST, { method: "POST", json: { title: "x" } });
  expect([written.status, written.json]).toMatchObject([503, { error: "read_only" }]);
  nextMinute();
  await untilCounted(1);
  expect(await readSums()).toMatchObject(Array(2).fill({ errors: 0, rejections: 1 }));
  expect(
    await service.query(
      `select is_rejected from rowhouse.stored_requests where code = 'read_only'`,
    ),
  ).toEqual([{ is_rejected: true }]);
  const rejections = await service.query(
    `select distinct code from rowhouse.rejections where app_id = '${app.id}'`,
  );
  expect(rejections).toEqual([{ code: "read_only" }]);
  const admin = await makePerson(service, { consoleRole: "admin" });
  const jar = await signInAs(service, admin);
  const listed = async (kind: string) => {
    const { text } = await visit(service, jar, `/console/requests?kind=${kind}`);
    // The filter suggests every code.
    return text.replace(/<datalist.*?<\/datalist>/gs, "").includes("read_only");
  };
  expect(await Promise.all(["rejected", "failed"].map(listed))).toEqual([true, false]);
});

test("a lost response leads to another request, and its minute is added once", async () => {
  await eventually(async () => (await service.query("select from rowhouse.processes")).length > 0);
  let lost = 0;
  let adding = 0;
  proxy.onMessage(({ connection, from, type, statement = "" }) => {
    if (adding === 0 && statement.includes("add_minute")) adding = connection;
    if (from !== "server" || connection !== adding || lost > 0) return undefined;
    // The last message of the response follows the commit.
    if (type !== "Z") return { send: [] };
    lost++;
    return { send: [], failure: "reset" };
  });
  await service.call(app, LIST);
  nextMinute();
  await untilCounted(1);
  // The commit is visible before the proxy gets the end of the response.
  await eventually(() => lost === 1);
  // A process adds the next minute only after the previous minute is acknowledged.
  await service.call(app, LIST);
  nextMinute();
  await untilCounted(2);
  expect((await readSums())[0].requests).toBe(2);
});

test("minutes that cannot be added wait, and are added later separately", async () => {
  let rejected = 0;
  proxy.onMessage(({ statement = "" }) => {
    if (!statement.includes("add_minute")) return undefined;
    rejected++;
    return { send: [], failure: "reset" };
  });
  for (const minute of [1, 2]) {
    await service.call(app, LIST);
    nextMinute();
    await eventually(() => rejected > 4 * minute - 3);
  }
  expect((await readSums())[0].requests).toBe(0);
  await proxy.heal();
  await untilCounted(2);
  expect(await readSums()).toMatchObject([{ requests: 2 }, { requests: 2 }]);
});

test("failed and slow requests are stored by id, with the route and without the target", async () => {
  const created = await service.call(app, LIST, { method: "POST", json: { title: "secret" } });
  const row = created.headers.get("location") ?? "";
  const id = row.slice(row.lastIndexOf("/") + 1);
  const timedOut = await whileRowLocked(service.database.adminUrl, id, () =>
    service.call(app, row, { method: "PATCH", json: { title: "secret" } }),
  );
  expect(timedOut.status).toBeGreaterThanOrEqual(500);
  nextMinute();
  const find = () =>
    service.query<Record<string, unknown>>(
      `select * from rowhouse.stored_requests where id = '${timedOut.headers.get("x-request-id")}'`,
    );
  await eventually(async () => (await find()).length === 1);
  const [stored] = await find();
  expect(stored).toMatchObject({
    app_id: app.id,
    method: "PATCH",
    route: "/v1/data/db/:table/:id",
    status: timedOut.status,
    code: (timedOut.json as { error: string }).error,
  });
  expect(JSON.stringify(stored)).not.toContain("secret");
  // Slow requests are also stored, and any request can be slow on a busy machine.
  expect(
    await service.query(
      `select from rowhouse.stored_requests where status < 400 and ms < ${SLOW_MS}`,
    ),
  ).toEqual([]);
});

test("a stopping process adds its last minute and records its end, and a new process is listed immediately", async () => {
  const processes = shapeOfRun() === "split" ? 3 : 1;
  const count = async (where: string) =>
    (await service.query(`select from rowhouse.processes where ${where}`)).length;
  await eventually(async () => (await count("ended_at is null")) === processes);
  expect(await readSums()).toMatchObject([{ requests: 0 }, { requests: 0 }]);
  await service.call(app, LIST);
  if (shapeOfRun() === "split") return;
  await service.service.close();
  expect((await readSums())[0].requests).toBe(1);
  expect(await count("ended_at is not null")).toBe(1);
});

test("minutes are deleted after a day, hours after 15 days, and failed requests after a day", async () => {
  // Wait for the service's first sweep, which would delete or lock rows.
  const { processes } = service;
  await eventually(
    () =>
      proxy.count("sweep_statistics") === processes.length &&
      processes.every(({ db }) => db.stats().busy === 0),
  );
  await service.service.admin.message(`
    insert into rowhouse.statistics select gen_random_uuid(), span, now() - make_interval(hours => hours), 1, 0, 0,
      array_fill(0, array[12]) from unnest(array['minute', 'hour']) as span, unnest(array[23, 25, 359, 361]) as hours;
    insert into rowhouse.stored_requests (id, at, method, route, status, ms)
      select gen_random_uuid(), now() - make_interval(hours => hours), 'GET', '/', 500, 1 from unnest(array[23, 25]) as hours; select 1`);
  const sweep = () => readRows(service.service.db, "select rowhouse.sweep_statistics(1)");
  for (let steps = 0; steps < 4; steps++) await sweep();
  const left = await service.query<{ span: string; hours: number }>(
    `select span, round(extract(epoch from now() - at) / 3600)::int4 as hours from rowhouse.statistics
    where requests = 1 and app_id <> '${app.id}' and at < now() - interval '1 hour' order by 1, 2`,
  );
  expect(left.map(({ span, hours }) => `${span} ${hours}`)).toEqual([
    "hour 23",
    "hour 25",
    "hour 359",
    "minute 23",
  ]);
  expect(
    await service.query(
      "select from rowhouse.stored_requests where at < now() - interval '1 hour'",
    ),
  ).toHaveLength(1);
});

test("a gateway counts and stores its own rejections, and requests that reached no service", async () => {
  await using split = await openTestService({
    shape: "split",
    upstreams: { data: "http://127.0.0.1:1" },
    service: { now: () => Date.now() + ahead },
  });
  const holder = await split.makeApp();
  const failed = await split.call(holder, LIST);
  expect(failed.status).toBe(503);
  const rejected = await split.call(holder, "/v1/data/none");
  nextMinute();
  const find = <Row>(text: string) => split.query<Row>(text);
  await eventually(async () => (await find("select from rowhouse.stored_requests")).length >= 2);
  expect(
    await find("select id, app_id, code from rowhouse.stored_requests order by status"),
  ).toEqual([
    { id: rejected.headers.get("x-request-id"), app_id: holder.id, code: "unknown_route" },
    { id: failed.headers.get("x-request-id"), app_id: holder.id, code: "unavailable" },
  ]);
  expect(
    await find(
      `select app_id, requests::int4, errors::int4, rejections::int4 from rowhouse.statistics
      where span = 'hour' and app_id <> '${CONSOLE_APP}' order by requests desc, errors desc`,
    ),
  ).toEqual([
    { app_id: ALL_APPS, requests: 2, errors: 1, rejections: 1 },
    { app_id: holder.id, requests: 1, errors: 1, rejections: 0 },
    { app_id: NO_APP, requests: 1, errors: 0, rejections: 1 },
  ]);
});
