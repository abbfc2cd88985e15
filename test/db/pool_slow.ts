/** The pool's time limits for a silent database, and for a database without free connections. */
import { expect, test } from "bun:test";
import {
  type Database,
  EXECUTION_LIMIT_MS,
  openDatabase,
  SERVICE_QUEUE,
} from "../../src/db/mod.ts";
import { ACQUIRE_LIMIT_MS } from "../../src/db/pool/run.ts";
import { Problem } from "../../src/problem.ts";
import { makeDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { share } from "../support/share.ts";

const CONNECTIONS = 4;
const READ = { retry: "safe", queue: SERVICE_QUEUE } as const;

const database = await share(makeDatabase());

async function withPool(
  { url = database.adminUrl, connections = CONNECTIONS }: { url?: string; connections?: number },
  use: (pool: Database) => Promise<void>,
): Promise<void> {
  const pool = openDatabase({ url, connections, prepare: true, name: "rowhouse pool test" });
  try {
    await use(pool);
  } finally {
    await pool.close(0);
  }
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "done";
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

test("a caller that gets no connection in time gets an error and holds no connection", async () => {
  await withPool({ connections: 1 }, async (pool) => {
    const slow = pool.query("select pg_sleep(4)", [], READ);
    const late = pool.query("select 1", [], READ);
    await expect(late).rejects.toMatchObject({
      code: "overloaded",
      headers: { "retry-after": "1" },
    });
    expect(pool.stats()).toMatchObject({ waiting: 0, shed: { waited: 1 } });
    await slow;
    expect(await codeOf(pool.query("select 1", [], READ))).toBe("done");
  });
});

test("calls fail immediately while the database rejects connections, and work again afterwards", async () => {
  await using proxy = await openPostgresProxy();
  const url = proxy.toUrl(database.adminUrl);
  await withPool({ url }, async (pool) => {
    proxy.refuse();
    const startedAt = performance.now();
    const ends = await Promise.all(
      Array.from({ length: 20 }, () => codeOf(pool.query("select 1", [], READ))),
    );
    expect([...new Set(ends)]).toEqual(["unavailable"]);
    expect(performance.now() - startedAt).toBeLessThan(ACQUIRE_LIMIT_MS);
    await proxy.heal();
    await eventually(async () => (await codeOf(pool.query("select 1", [], READ))) === "done");
  });
});

test("calls fail by the deadline if the database accepts connections and does not respond", async () => {
  await using proxy = await openPostgresProxy();
  await withPool({ url: proxy.toUrl(database.adminUrl) }, async (pool) => {
    proxy.freeze();
    const startedAt = performance.now();
    const code = await codeOf(pool.query("select 1", [], READ));
    expect([code, performance.now() - startedAt < EXECUTION_LIMIT_MS / 2]).toEqual([
      expect.any(String),
      true,
    ]);
    expect(["unavailable", "overloaded"]).toContain(code);
    await proxy.heal();
    await eventually(async () => (await codeOf(pool.query("select 1", [], READ))) === "done");
  });
});
