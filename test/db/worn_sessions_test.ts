/**
 * PostgreSQL keeps the plans of replaced functions until their session ends, and compares each later change with all of them,
 * which no cancellation interrupts. So sessions are replaced after many changes.
 */
import { expect, test } from "bun:test";
import { type Database, openDatabase, SERVICE_QUEUE } from "../../src/db/mod.ts";
import { MIN_CHANGES } from "../../src/db/pool/connections.ts";
import { makeCatalog } from "../../src/tables/catalog/mod.ts";
import { makeDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { pushDefinition } from "../support/push_steps.ts";
import { declareTodos, freshNames, pushRules, RULE_PREVIEWS } from "../support/rules_service.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const READ = { retry: "safe", queue: SERVICE_QUEUE } as const;
const PID = "select pg_catalog.pg_backend_pid() as pid";

const database = await share(makeDatabase());

async function withPool(connections: number, use: (pool: Database) => Promise<void>) {
  const pool = openDatabase({
    ...{ url: database.adminUrl, connections, prepare: true },
    name: "rowhouse worn sessions test",
  });
  try {
    await use(pool);
  } finally {
    await pool.close(0);
  }
}

async function readPid(pool: Database): Promise<number | undefined> {
  return (await pool.query<{ pid: number }>(PID, [], READ))[0]?.pid;
}

/** The sessions of that many concurrent statements. */
async function readPids(pool: Database, count: number): Promise<Set<number>> {
  const text = `${PID} from pg_catalog.pg_sleep(1)`;
  const found = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      pool.query<{ pid: number }>(text, [], { ...READ, queue: `app ${n}` }),
    ),
  );
  return new Set(found.flat().map(({ pid }) => pid));
}

test("a session ends after many changes of functions, not before", async () => {
  await withPool(1, async (pool) => {
    const first = await readPid(pool);
    pool.countChanges(MIN_CHANGES - 1);
    expect(await readPid(pool)).toBe(first);
    pool.countChanges(1);
    const second = await readPid(pool);
    expect(second).not.toBe(first);
    pool.countChanges(MIN_CHANGES);
    expect(await readPid(pool)).toBe(second);
  });
});

test("a statement in progress completes on its worn session", async () => {
  await withPool(1, async (pool) => {
    await readPid(pool);
    const running = pool.query<{ pid: number }>(`${PID} from pg_catalog.pg_sleep(0.3)`, [], READ);
    await Bun.sleep(150);
    pool.countChanges(10 * MIN_CHANGES);
    const [row] = await running;
    expect(row?.pid).toBeNumber();
    expect(await readPid(pool)).not.toBe(row?.pid);
  });
});

test("the sessions of a pool are replaced one after the other", async () => {
  await withPool(4, async (pool) => {
    const before = await readPids(pool, 4);
    expect(before.size).toBe(4);
    pool.countChanges(MIN_CHANGES);
    const after = await readPids(pool, 4);
    expect(before.intersection(after).size).toBe(3);
    pool.countChanges(MIN_CHANGES);
    expect(before.intersection(await readPids(pool, 4)).size).toBe(0);
  });
});

test("pipelined reads move to another session", async () => {
  await withPool(5, async (pool) => {
    const text = `${PID}, $1::text as echo`;
    const read = async () =>
      (await pool.query<{ pid: number }>(text, [], { ...READ, length: "short" }))[0]?.pid;
    // A read waits only briefly for a new pipeline.
    let first: number | undefined;
    await eventually(async () => {
      const before = first;
      first = await read();
      return first === before;
    });
    pool.countChanges(10 * MIN_CHANGES);
    expect(await read()).not.toBe(first);
  });
});

test("the catalog counts the sets of functions that a push changes, one for each role", async () => {
  await using service = await openTestService({ service: { previews: RULE_PREVIEWS } });
  const { db } = service.processes[1] ?? service.service;
  const counted: number[] = [];
  const catalog = makeCatalog({
    db: { ...db, countChanges: (changes) => void counted.push(changes) },
    refresh: async () => undefined,
    age: () => 0,
  });
  const follow = async () => {
    const [row] = await db.query<{ version: number }>(VERSION, [], READ);
    await catalog.follow(row?.version ?? 0);
  };
  const names = freshNames();
  const app = await service.makeApp();
  await pushRules(service, app, declareTodos(names));
  await follow();
  expect(counted).toEqual([]);
  await pushRules(service, app, declareTodos(names, { columns: { place: "string" } }));
  await follow();
  // Todos have functions for API keys, leads and members.
  expect(counted).toEqual([3]);
  await follow();
  expect(counted).toEqual([3]);
});

test("a push counts the sets of functions that its session creates and keeps", async () => {
  await using service = await openTestService({ service: { previews: RULE_PREVIEWS } });
  const counted: number[] = [];
  const countChanges = (changes: number) => void counted.push(changes);
  const deps = { admin: { ...service.pushing, countChanges }, log: () => undefined };
  const names = freshNames();
  const app = await service.makeApp();
  const push = (columns: object) =>
    pushDefinition(deps, {
      app,
      definition: declareTodos(names, { columns }),
      options: { dryRun: false },
    });
  await push({});
  // Three tables for API keys, two views of todos, and one of teams.
  expect(counted).toEqual([6]);
  await push({});
  expect(counted).toEqual([6]);
  await push({ place: "string" });
  expect(counted).toEqual([6, 3]);
});

const VERSION =
  "select version::pg_catalog.int4 as version from rowhouse.versions where name = 'catalog'";
