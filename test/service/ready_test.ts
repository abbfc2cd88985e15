/** The cost of `/ready`, which anyone can request without a limit. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService, type TestService } from "../support/service.ts";

let proxy: PostgresProxy;
let service: TestService;
async function open(checkIntervalMs?: number): Promise<void> {
  service = await openTestService({
    shape: "one",
    toServingUrl: proxy.toUrl,
    ...(checkIntervalMs === undefined ? {} : { service: { checkIntervalMs } }),
  });
}
beforeEach(async () => {
  proxy = await openPostgresProxy();
});
afterEach(async () => {
  await proxy.heal();
  await service.close();
  await proxy.close();
});

const ask = async () => (await service.call(undefined, "/ready")).status;

test("a repeated request to /ready returns the last result without a query", async () => {
  await open();
  expect(await ask()).toBe(200);
  const count = () => proxy.count("service_migrations") + proxy.count("pg_policy");
  const before = count();

  const responses = await Promise.all(Array.from({ length: 200 }, ask));

  expect(new Set(responses)).toEqual(new Set([200]));
  expect(count()).toBe(before);
  expect(before).toBeGreaterThan(0);
});

test("/ready reports a change and its end within the check interval", async () => {
  await open(100);
  expect(await ask()).toBe(200);
  const rename = (from: string, to: string) =>
    service.service.admin.message(
      `update rowhouse.service_migrations set name = '${to}', number = -number where name = '${from}'; select 1`,
    );

  await rename("0002_code", "gone");
  await eventually(async () => (await ask()) === 503);
  await rename("gone", "0002_code");
  await eventually(async () => (await ask()) === 200);
});

test("a request to /ready after a failed check waits for the next check", async () => {
  await open(100);
  const rename = (from: string, to: string) =>
    service.service.admin.message(
      `update rowhouse.service_migrations set name = '${to}', number = -number where name = '${from}'; select 1`,
    );
  await rename("0002_code", "gone");
  await eventually(async () => (await ask()) === 503);
  await rename("gone", "0002_code");
  const count = () => proxy.count("service_migrations");
  const before = count();
  await eventually(async () => {
    const status = await ask();
    // A response of 503 can only repeat the last result: the first check succeeds.
    if (count() > before) expect(status).toBe(200);
    return status === 200;
  });
});

test("/ready soon reports a silent database, regardless of the last result", async () => {
  await open();
  expect(await ask()).toBe(200);

  proxy.freeze();

  await eventually(async () => (await ask()) === 503);
});
