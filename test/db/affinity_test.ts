/** Each app's calls stay on its connection, and a session that keeps the plans of many tables is replaced as soon as it is idle. */
import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { type Database, openDatabase } from "../../src/db/mod.ts";
import { MAX_SESSION_BYTES, makeMemory, type Touched } from "../../src/db/pool/affinity.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makeDatabase } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { freshName } from "../support/push.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const CONNECTIONS = 4;
const QUEUES = Array.from({ length: 24 }, (_, n) => `app ${n}`);
/** One call that fills a session. */
const MANY: readonly Touched[] = [{ table: "todos", code: "many", bytes: MAX_SESSION_BYTES }];

const database = await share(makeDatabase());
afterEach(() => void mock.restore());

async function openFull(connections = CONNECTIONS): Promise<AsyncDisposable & { pool: Database }> {
  const pool = openDatabase({
    ...{ url: database.adminUrl, connections, prepare: true },
    name: "rowhouse affinity test",
  });
  await fill(pool, connections);
  return { pool, [Symbol.asyncDispose]: () => pool.close(0) };
}

type Call = { touched?: readonly Touched[] | undefined; seconds?: number; isShort?: boolean };

async function pidOf(
  pool: Database,
  queue: string,
  { touched, seconds = 0, isShort = false }: Call = {},
) {
  const text = `select pg_catalog.pg_backend_pid() as pid${isShort ? ", $1::text as echo" : ` from pg_catalog.pg_sleep(${seconds})`}`;
  const call = {
    retry: "safe",
    queue,
    touched,
    ...(isShort && { length: "short" as const }),
  } as const;
  const [row] = await pool.query<{ pid: number }>(text, [], call);
  return row?.pid ?? 0;
}

/** Opens all connections, by as many concurrent calls. */
async function fill(pool: Database, connections: number): Promise<void> {
  const call = (_: unknown, n: number) => pidOf(pool, `filler ${n}`, { seconds: 0.3 });
  const pids = new Set(await Promise.all(Array.from({ length: connections }, call)));
  expect(pids.size).toBe(connections);
}

/** The session of each queue, while all connections are idle. */
async function readPids(pool: Database): Promise<Map<string, number>> {
  const pids = new Map<string, number>();
  for (const queue of QUEUES) pids.set(queue, await pidOf(pool, queue));
  return pids;
}

test("an app's calls stay on its connection, and the apps use all connections", async () => {
  await using opened = await openFull();
  const { pool } = opened;
  const first = await readPids(pool);
  expect(new Set(first.values()).size).toBe(CONNECTIONS);
  expect(await readPids(pool)).toEqual(first);
});

test("a call takes another connection while the app's is busy, always the same one", async () => {
  await using opened = await openFull();
  const { pool } = opened;
  const own = await pidOf(pool, "app");
  const callTwice = () => Promise.all([pidOf(pool, "app", { seconds: 0.1 }), pidOf(pool, "app")]);
  const [busy, other] = await callTwice();
  expect(busy).toBe(own);
  expect(other).not.toBe(own);
  expect(await callTwice()).toEqual([own, other]);
  expect(await pidOf(pool, "app")).toBe(own);
});

test("a session with many tables is replaced after the call, and its apps move to the one that replaces it", async () => {
  await using opened = await openFull();
  const { pool } = opened;
  const before = await readPids(pool);
  const [fat = 0, ...thin] = new Set(before.values());
  const [queue = ""] = [...before].find(([, pid]) => pid === fat) ?? [];
  expect(await pidOf(pool, queue, { touched: MANY })).toBe(fat);
  expect(thin).toContain(await pidOf(pool, queue));
  await fill(pool, CONNECTIONS);
  const after = await readPids(pool);
  const moved = QUEUES.filter((name) => before.get(name) !== after.get(name));
  expect(moved).toEqual(QUEUES.filter((name) => before.get(name) === fat));
  expect(new Set(moved.map((name) => after.get(name))).size).toBe(1);
});

test("a statement in progress completes on a session that has become fat", async () => {
  await using opened = await openFull(1);
  const { pool } = opened;
  const own = await pidOf(pool, "app");
  const calls = [{ touched: MANY, seconds: 0.1 }, { seconds: 0.1 }, {}];
  const [first, second, third] = await Promise.all(calls.map((call) => pidOf(pool, "app", call)));
  expect(first).toBe(own);
  expect(second).not.toBe(own);
  expect(third).toBe(second ?? 0);
});

test("a pipeline with many tables moves to another session", async () => {
  const pipelined = openDatabase({
    ...{ url: database.adminUrl, connections: 5, prepare: true },
    name: "rowhouse affinity test",
  });
  const read = (touched?: readonly Touched[]) =>
    pidOf(pipelined, "app", { touched, isShort: true });
  try {
    // A read waits only briefly for a new pipeline.
    let pid = 0;
    await eventually(async () => {
      const before = pid;
      pid = await read();
      return pid === before;
    });
    await read(MANY);
    expect(await read()).not.toBe(pid);
  } finally {
    await pipelined.close(0);
  }
});

test("a table and the code of a call count once for a session", () => {
  const memory = makeMemory();
  const toTouched = (table: string, code: string) => ({ table, code, bytes: 80_000 });
  for (const code of ["get", "get", "list"]) memory.touch([toTouched("todos", code)]);
  expect(memory.bytes()).toBe(46_000 + 2 * 80_000);
  for (const _ of [1, 2])
    memory.touch([toTouched("todos", "get"), toTouched("lists", "children_of")]);
  expect(memory.bytes()).toBe(2 * 46_000 + 3 * 80_000);
});

test("every call of a table's function says what it touches", async () => {
  const service = await share(openTestService());
  const table = freshName("touched");
  const app = await service.makeApp(defineSchema({ [table]: { title: t.string() } }));
  const touched: (readonly Touched[] | undefined)[] = [];
  for (const { db } of service.processes) {
    const { bytes } = db;
    spyOn(db, "bytes").mockImplementation((text, parameters, call) => {
      touched.push(call.touched);
      return bytes(text, parameters, call);
    });
  }
  const path = `/v1/data/db/${table}`;
  await service.call(app, path, { method: "POST", json: { title: "x" } });
  await service.call(app, path);
  await service.call(app, path);
  const codes = touched.flatMap((call) => call ?? []);
  expect(codes.map((code) => code.table)).toEqual([table, table, table]);
  expect(new Set(codes.map(({ code }) => code)).size).toBe(2);
});
