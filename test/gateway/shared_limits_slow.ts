/** Limits that all processes share: two workers and two gateways get more requests than the limit. */
import { afterAll, expect, test } from "bun:test";
import { FAILURES_PER_MINUTE } from "../../src/gateway/authenticate.ts";
import { setLimit } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { callService, openTestService, type TestApp } from "../support/service.ts";
import { type Opened, serveAnother, TEST_SECRETS } from "../support/shape.ts";

const LIST = "/v1/data/db/todos?limit=1";
const SCHEMA = defineSchema({ todos: { title: t.string() } });

const proxy = await openPostgresProxy();
const service = await openTestService({ shape: "one" });
const data = await open("data");
const upstreams = { data: data.url, identity: data.url };
const gateways = [open("gateway", upstreams), open("gateway", upstreams)];
const opened = await Promise.all([open("all"), open("all"), ...gateways, data]);
afterAll(async () => {
  await Promise.all(opened.map((service) => service.close()));
  await service.close();
  await proxy.close();
});

function open(
  role: "all" | "gateway" | "data",
  upstreams?: { data: string; identity: string },
): Promise<Opened> {
  const { roleUrls, servingUrl } = service.database;
  return serveAnother(service.database, {
    databaseUrl: proxy.toUrl(role === "all" ? servingUrl : roleUrls[role]),
    ...{ connections: 5, role },
    secrets: { data: [TEST_SECRETS.data], identity: [TEST_SECRETS.identity] },
    trustedProxies: ["127.0.0.1"],
    ...(upstreams === undefined ? {} : { upstreams }),
  });
}

const PROCESSES = [0, 1, 2, 3];
const urlOf = (at: number): string => opened[at]?.url ?? "";
const list = (app: TestApp, at: number) => callService({ url: urlOf(at) }, app, LIST);

/** Creates an app with a limit, and waits until every process knows the limit. */
async function makeLimited(perMinute: number): Promise<TestApp> {
  const app = await service.makeApp(SCHEMA);
  const { admin } = service.service;
  await setLimit({ admin }, { slug: app.slug, perMinute, perMinuteOfKey: undefined });
  for (const at of PROCESSES)
    await eventually(async () => {
      const response = await callService({ url: urlOf(at) }, app, "/v1/data/db/none");
      return response.headers.get("ratelimit-policy")?.includes(`q=${perMinute};`) === true;
    });
  return app;
}

/** Returns the time of PostgreSQL's clock in seconds. */
async function readClock(): Promise<number> {
  const [row] = await service.query<{ at: number }>(
    "select extract(epoch from clock_timestamp())::float8 as at",
  );
  return row?.at ?? 0;
}

test("the processes together accept requests up to the limit, from the first burst", async () => {
  const PER_MINUTE = 1200;
  const app = await makeLimited(PER_MINUTE);
  let accepted = 0;
  let isRunning = true;
  const flood = async (at: number): Promise<void> => {
    while (isRunning) {
      const { status, headers } = await list(app, at);
      if (status === 200) {
        accepted++;
        continue;
      }
      expect([status, Number(headers.get("retry-after")) > 0]).toEqual([429, true]);
      await Bun.sleep(5);
    }
  };
  const startedAt = await readClock();
  // One process gets more requests than all others together.
  const floods = [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 3].map(flood);
  let allowed = 0;
  const readAllowed = async () => {
    allowed = PER_MINUTE + ((await readClock()) - startedAt) * (PER_MINUTE / 60);
  };
  await eventually(
    async () => {
      await readAllowed();
      return accepted > PER_MINUTE;
    },
    { patienceMs: 30_000 },
  );
  await Bun.sleep(4000);
  isRunning = false;
  await Promise.all(floods);
  await readAllowed();
  expect(accepted / allowed).toBeGreaterThan(0.9);
  expect(accepted / allowed).toBeLessThan(1.1);
}, 60_000);

test("a busy app gets the unused capacity", async () => {
  const PER_MINUTE = 1000;
  const app = await makeLimited(PER_MINUTE);
  for (const at of PROCESSES) expect((await list(app, at)).status).toBe(200);
  const statuses: number[] = [];
  const burst = async () => {
    while (statuses.length < PER_MINUTE * 0.8) statuses.push((await list(app, 0)).status);
  };
  await Promise.all(Array.from({ length: 16 }, burst));
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

test("a limit of a few requests is shared, in any distribution", async () => {
  const app = await makeLimited(6);
  const statuses: number[] = [];
  for (let count = 0; count < 24; count++) statuses.push((await list(app, count % 4)).status);
  const accepted = statuses.filter((status) => status === 200).length;
  // Each process accepts one request to learn the limit, and can accept one more before it requests a lease.
  expect([accepted > 0, accepted <= 6]).toEqual([true, true]);
});

test("requests far below a limit use no queries, and requests near it use few", async () => {
  const far = await makeLimited(600_000);
  const near = await makeLimited(600);
  // Count only the lease requests for these apps: other apps' earlier requests can still be reported.
  const leases = { far: 0, near: 0 };
  proxy.onMessage(({ type, statement, body }) => {
    if (type !== "B" || statement?.includes("lease_tokens") !== true) return undefined;
    if (body.includes(`app ${far.id}`)) leases.far++;
    if (body.includes(`app ${near.id}`)) leases.near++;
    return undefined;
  });
  for (let count = 0; count < 100; count++) await list(far, 0);
  for (let count = 0; count < 100; count++) await list(near, 0);
  await proxy.heal();
  expect(leases.far).toBe(0);
  expect([leases.near > 0, leases.near < 30]).toEqual([true, true]);
});

test("failures of one address count together", async () => {
  const guess = async (at: number): Promise<number> => {
    const headers = { "x-forwarded-for": "192.0.2.77" };
    const call = { key: "rh_guess", headers };
    return (await callService({ url: urlOf(at) }, undefined, LIST, call)).status;
  };
  let failed = 0;
  const startedAt = await readClock();
  let isRunning = true;
  const guessAll = async (at: number): Promise<void> => {
    while (isRunning)
      if ((await guess(at)) === 401) failed++;
      else await Bun.sleep(5);
  };
  const guesses = [0, 0, 0, 1, 2, 3].map(guessAll);
  await eventually(async () => failed >= FAILURES_PER_MINUTE, { patienceMs: 20_000 });
  await Bun.sleep(2000);
  isRunning = false;
  await Promise.all(guesses);
  const allowed = FAILURES_PER_MINUTE * (1 + ((await readClock()) - startedAt) / 60);
  expect(failed / allowed).toBeGreaterThan(0.9);
  expect(failed / allowed).toBeLessThan(1.1);
});

test("each process allows no more than a single process while the database is unavailable", async () => {
  const app = await makeLimited(60);
  for (const at of PROCESSES) await list(app, at);
  proxy.onMessage(({ type, statement }) =>
    type === "B" && statement?.includes("lease_tokens") === true
      ? { failure: "freeze" }
      : undefined,
  );
  const counts = await Promise.all(
    [0, 1].map(async (at) => {
      let accepted = 0;
      for (let count = 0; count < 90; count++) if ((await list(app, at)).status === 200) accepted++;
      return accepted;
    }),
  );
  await proxy.heal();
  for (const count of counts) expect([count > 30, count < 75]).toEqual([true, true]);
});
