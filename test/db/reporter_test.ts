/** The reporter's time limit for the database, with a proxy that delays responses. */
import { afterEach, expect, test } from "bun:test";
import { makeLease, makeReporter, type SharedBucket } from "../../src/db/leases.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const proxy = await share(openPostgresProxy());
const service = await share(openTestService({ shape: "one", toServingUrl: proxy.toUrl }));
// The first lease opens a connection, which takes long on a busy machine.
await requestLease();
afterEach(() => proxy.heal());

const isLease = ({ type, statement }: { type: string; statement: string | undefined }): boolean =>
  type === "B" && statement?.includes("lease_tokens") === true;

async function requestLease() {
  const issues: unknown[] = [];
  const reporter = makeReporter({
    lease: makeLease(service.service.db, crypto.randomUUID()),
    logError: (error) => void issues.push(error),
    now: () => performance.now(),
  });
  const bucket: SharedBucket = {
    name: `test ${crypto.randomUUID()}`,
    ...{ perMinute: 60, tokens: 60, countedAt: performance.now(), unreported: 1, demand: 1 },
    lease: { tokens: 0, granted: 0, endsAt: 0, isShort: false, askedAt: 0 },
  };
  await reporter.requestLeases([bucket]);
  return { isUnavailable: reporter.isUnavailable(), granted: bucket.lease.granted, issues };
}

test("an available database gives a lease", async () => {
  const { isUnavailable, granted, issues } = await requestLease();
  expect({ isUnavailable, issues }).toEqual({ isUnavailable: false, issues: [] });
  expect(granted).toBeGreaterThan(0);
});

test("an unresponsive database is unavailable, and no request waits for it", async () => {
  proxy.onMessage((message) => (isLease(message) ? { failure: "freeze" } : undefined));
  expect(await requestLease()).toEqual({ isUnavailable: true, granted: 0, issues: [] });
});

test("a pause of this process is not mistaken for an outage of the database", async () => {
  proxy.onMessage((message) => {
    if (isLease(message)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
    return undefined;
  });
  const { isUnavailable, granted } = await requestLease();
  expect(isUnavailable).toBe(false);
  expect(granted).toBeGreaterThan(0);
});
