/** Two gateways and a data service, with two workers each: all workers share the limits, and a write is accepted only once. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { setLimit } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import type { SplitRole } from "../support/cluster.ts";
import { makeProject, type Running, type Settings, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { findFreePort } from "../support/free_port.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { contextOf, signCall } from "../support/signed.ts";
import { countRuns } from "../support/tier.ts";

const LIST = "/v1/data/db/todos";
const PER_MINUTE = 1200;
const SECRET = "a secret of the chaos test - 32 bytes or more";

let service: TestService;
let project: ReturnType<typeof makeProject>;
let app: TestApp;
const running: Running[] = [];
let data: string;
let gateways: string[];
beforeAll(async () => {
  service = await openTestService({ shape: "one" });
  project = makeProject();
  app = await service.makeApp(defineSchema({ todos: { title: t.string() } }));
  const { admin } = service.service;
  await setLimit({ admin }, { slug: app.slug, perMinute: PER_MINUTE, perMinuteOfKey: undefined });
  data = await start("data", {
    ADMIN_DATABASE_URL: service.database.pushUrl,
    INTERNAL_HMAC_SECRET: SECRET,
  });
  const upstreams = { UPSTREAM_DATA_URL: data, UPSTREAM_IDENTITY_URL: "http://127.0.0.1:9" };
  const secrets = {
    INTERNAL_HMAC_SECRET_DATA: SECRET,
    INTERNAL_HMAC_SECRET_IDENTITY: `of identity: ${SECRET}`,
  };
  gateways = [];
  for (let count = 0; count < 2; count++)
    gateways.push(await start("gateway", { ...upstreams, ...secrets }));
}, 60_000);
afterAll(async () => {
  await Promise.all(running.map((child) => child.kill("SIGTERM")));
  project.remove();
  await service.close();
});

/** Starts two workers of a role on the same port. */
async function start(role: SplitRole, settings: Settings): Promise<string> {
  const port = await findFreePort();
  const env: Settings = {
    DATABASE_URL: service.database.roleUrls[role],
    DATABASE_PREPARE: service.database.prepare ? "on" : "off",
    DATABASE_POOL: "5",
    HOST: "127.0.0.1",
    PORT: String(port),
    WORKERS: "2",
    ...settings,
  };
  const started = startCommand(["serve", "--role", role], { ...project, env });
  running.push(started);
  await started.until(/"event":"listening"[\s\S]*"event":"listening"/);
  return `http://127.0.0.1:${port}`;
}

/** Returns the time of PostgreSQL's clock, in seconds. */
async function readClock(): Promise<number> {
  const [row] = await service.service.admin.query<{ at: number }>(
    "select extract(epoch from clock_timestamp())::float8 as at",
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return row?.at ?? 0;
}

test("four processes together accept requests up to the limit", async () => {
  let accepted = 0;
  let isRunning = true;
  const headers = { authorization: `Bearer ${app.key}`, connection: "close" };
  const flood = async (gateway: string): Promise<void> => {
    while (isRunning) {
      const response = await fetch(`${gateway}${LIST}?limit=1`, { headers });
      await response.text();
      if (response.status === 200) accepted++;
      else expect(response.status).toBe(429);
    }
  };
  const startedAt = await readClock();
  const floods = Array.from({ length: 12 }, (_, index) => flood(gateways[index % 2] ?? ""));
  await eventually(async () => accepted > PER_MINUTE, { patienceMs: 60_000 });
  await Bun.sleep(10_000);
  isRunning = false;
  await Promise.all(floods);
  const seconds = (await readClock()) - startedAt;
  const allowed = PER_MINUTE + (seconds * PER_MINUTE) / 60;
  console.log(`${accepted} accepted of ${Math.round(allowed)} allowed in ${seconds.toFixed(1)} s`);
  expect(accepted / allowed).toBeGreaterThan(0.9);
  expect(accepted / allowed).toBeLessThan(1.1);
}, 120_000);

test("a captured write that is replayed to both workers happens once", async () => {
  for (let round = 0; round < countRuns(50); round++) {
    const body = { title: crypto.randomUUID() };
    const headers = { connection: "close" };
    const context = contextOf(app);
    const send = signCall({
      audience: "data",
      target: LIST,
      context,
      body,
      headers,
      secret: SECRET,
    });
    const responses = await Promise.all(Array.from({ length: 8 }, () => send(data)));
    const statuses = responses.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array<number>(7).fill(401)]);
  }
}, 60_000);
