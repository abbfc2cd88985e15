/** Queries that no index serves in four processes: one and another, and two gateways before a data service of two processes. */
import { afterAll, expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { whileLocked } from "../support/held_lock.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { callService, openTestService, type TestApp } from "../support/service.ts";
import { type Opened, serveAnother, TEST_SECRETS } from "../support/shape.ts";

const SCHEMA = defineSchema({ notes: { position: t.number().required(), body: t.string() } });
const NOTES = "/v1/data/db/notes";
const [SORTED, GROUPED] = [`${NOTES}?order=position`, `${NOTES}/groups?by=body`];
const LIMITS = { timeoutMs: 100, msAMinute: 3000 };
/** Of a process alone. */
const AT_A_TIME = 2;

const proxy = await openPostgresProxy();
const service = await openTestService({ shape: "one", service: { previews: ["filters"] } });
const data = [open("data"), open("data")];
const gateways = (await Promise.all(data)).map(({ url }) =>
  open("gateway", { data: url, identity: url }),
);
const served = await Promise.all([open("all"), open("all"), ...gateways]);
const opened = [...served, ...(await Promise.all(data))];
afterAll(async () => {
  await Promise.all(opened.map((each) => each.close()));
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
    previews: ["filters"],
    unindexedLimits: LIMITS,
    ...(upstreams === undefined ? {} : { upstreams }),
  });
}

const ask = (app: TestApp, at: number, path: string) =>
  callService({ url: served[at % served.length]?.url ?? "" }, app, path);
const ROUND = [0, 1, 2, 3];

/** The most statements that wait for the table at a time, until `work` ends: those that run. */
async function countRunning(work: Promise<unknown>): Promise<number> {
  let isOver = false;
  const ended = work.finally(() => {
    isOver = true;
  });
  let most = 0;
  while (!isOver) {
    const [row] = await readRows<{ count: number }>(
      service.service.admin,
      `select count(*)::int4 as count from pg_locks
       where not granted and relation = to_regclass('data.notes')`,
    );
    most = Math.max(most, row?.count ?? 0);
    await Bun.sleep(2);
  }
  await ended;
  return most;
}

/** Where an app's queries were quick, the next ones need no turn: another app's first calls compile the functions. */
async function warm(named?: TestApp): Promise<void> {
  const app = named ?? (await service.makeApp(SCHEMA));
  for (const at of ROUND)
    for (const path of [SORTED, GROUPED])
      await eventually(async () => (await ask(app, at, path)).status === 200);
}

test("the processes together run as many of an app's at a time as one, and as many of another's", async () => {
  const apps = [];
  for (let count = 0; count < 3; count++) apps.push(await service.makeApp(SCHEMA));
  const [app, ...others] = apps;
  if (app === undefined) throw new Error("No app was made");
  await warm();
  const most = await whileLocked(service.database.adminUrl, "notes", async () => {
    const send = (by: TestApp) =>
      Promise.all(
        Array.from({ length: 16 }, async (_, n) => {
          const { status } = await ask(by, n, n % 2 === 0 ? SORTED : GROUPED);
          return status;
        }),
      );
    const alone = send(app);
    const ofOne = await countRunning(alone);
    const sent = others.map(send);
    const ofTwo = await countRunning(Promise.all(sent));
    return { ofOne, ofTwo, statuses: await Promise.all([alone, ...sent]) };
  });
  // On a busy machine, they can begin after others have ended.
  expect([most.ofOne > 0, most.ofOne <= AT_A_TIME]).toEqual([true, true]);
  expect([most.ofTwo > 0, most.ofTwo <= 2 * AT_A_TIME]).toEqual([true, true]);
  // Those that had their turn took too long; for others, none became free in time, or there was no time left.
  for (const statuses of most.statuses) {
    expect(statuses).toContain(504);
    expect(statuses.filter((status) => ![429, 503, 504].includes(status))).toEqual([]);
  }
  // A turn ends with its statement.
  for (const at of ROUND) expect((await ask(app, at, SORTED)).status).not.toBe(503);
}, 60_000);

test("the processes together have the time of a minute of one, in any distribution", async () => {
  const app = await service.makeApp(SCHEMA);
  await warm(app);
  const startedAt = performance.now();
  const statuses = await whileLocked(service.database.adminUrl, "notes", async () => {
    const found: number[] = [];
    // One process has as many requests as the others together.
    for (const at of Array(60).fill([0, 1, 0, 2, 0, 3]).flat()) {
      const { status, headers } = await ask(app, at, SORTED);
      found.push(status);
      if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      if (found.slice(-6).filter((each) => each === 429).length === 6) break;
    }
    return found;
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const canceled = statuses.filter((status) => status === 504).length;
  const allowed = (LIMITS.msAMinute * (1 + seconds / 60)) / LIMITS.timeoutMs;
  console.log(`${canceled} canceled of at most ${allowed.toFixed(0)} in ${seconds.toFixed(1)} s`);
  // A statement can end later than at its limit. The last one of a process can exceed the time.
  expect(canceled).toBeGreaterThan(allowed / 5);
  expect(canceled).toBeLessThanOrEqual(allowed + ROUND.length);
  const other = await service.makeApp(SCHEMA);
  // On a busy machine, its first one can take too long.
  for (const at of ROUND) expect((await ask(other, at, SORTED)).status).toBeOneOf([200, 504]);
}, 60_000);

test("while the database leases no time, a process serves what it has left, and not more", async () => {
  const app = await service.makeApp(SCHEMA);
  await warm(app);
  proxy.onMessage(({ type, statement }) =>
    type === "B" && statement?.includes("lease_unindexed") === true
      ? { failure: "freeze" }
      : undefined,
  );
  try {
    const statuses = await whileLocked(service.database.adminUrl, "notes", async () => {
      const found: number[] = [];
      while (found.at(-1) !== 429) found.push((await ask(app, 0, SORTED)).status);
      return found;
    });
    expect(new Set(statuses)).toEqual(new Set([504, 429]));
    const allowed = (LIMITS.msAMinute / LIMITS.timeoutMs) * 1.5;
    expect(statuses.length).toBeLessThan(allowed);
    await eventually(async () => (await ask(app, 0, `${NOTES}?order=id`)).status === 200);
  } finally {
    proxy.heal();
  }
}, 60_000);
