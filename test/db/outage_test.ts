/**
 * Outages of the database: unavailable, silent or overloaded. Callers get the right errors, and the pool recovers.
 *
 * @module
 */
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { TransactionSql } from "postgres";
import { EXECUTION_LIMIT_MS, readRows } from "../../src/db/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { whileRowLocked } from "../support/held_lock.ts";
import { makeMessage } from "../support/postgres_protocol.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { codeOf } from "../support/problem.ts";
import {
  openTestService,
  type TestApp,
  type TestResponse,
  type TestService,
  type TestServiceOptions,
} from "../support/service.ts";

const LIST = "/v1/data/db/todos";
/** The time limit of statements in tests that wait for the limit. The isolation check needs this long on a busy machine. */
const LIMIT_MS = 2000;
/** The sessions that serve rows, in one process or in a data service. */
const OF_ROWS =
  "datname = current_database() and application_name in ('rowhouse', 'rowhouse data')";

const schema = defineSchema({
  todos: { title: t.string(), parent: t.ref("todos", { onDelete: "cascade" }) },
});

type Opened = { proxy: PostgresProxy; service: TestService };

let proxy: PostgresProxy;
let service: TestService;
let app: TestApp;
let row: string;
/** The services by their time limit. Each test has its own app in one of them. */
const shared = new Map<number | undefined, Opened>();
const opened: Opened[] = [];
beforeEach(() => useLimit(undefined));
afterEach(async () => {
  await proxy.heal();
  await untilServed();
});
afterAll(async () => {
  for (const each of opened) {
    await each.service.close();
    await each.proxy.close();
  }
});

async function useLimit(limitMs: number | undefined): Promise<void> {
  const found = shared.get(limitMs) ?? (await open(limitMs === undefined ? {} : { limitMs }));
  shared.set(limitMs, found);
  await use(found);
}

async function open(more: TestServiceOptions = {}): Promise<Opened> {
  const proxy = await openPostgresProxy();
  const options = { toServingUrl: proxy.toUrl, connections: 3, ...more };
  const made = { proxy, service: await openTestService(options) };
  opened.push(made);
  return made;
}

/** The test continues with a new app of this service. */
async function use(next: Opened): Promise<void> {
  ({ proxy, service } = next);
  app = await service.makeApp(schema);
  row = (await create({ title: "first" })).headers.get("location") ?? "";
}

const create = (json: object) => service.call(app, LIST, { method: "POST", json });
const idOf = (location: string) => location.slice(location.lastIndexOf("/") + 1);

/** Sends requests until one succeeds, which shows that the pool has reconnected. */
async function untilServed(): Promise<void> {
  await eventually(async () => (await service.call(app, LIST)).status === 200);
}

/** Runs the next create, then loses the database and the response. */
function loseResponseOfCreate(): void {
  let creating = 0;
  proxy.onMessage(({ connection, from, statement = "" }) => {
    if (statement.includes("_create")) creating = connection;
    const isResponse = connection === creating && from === "server";
    return isResponse ? { send: [], after: proxy.refuse } : undefined;
  });
}

/** Cancels the next statement after it has sent its row. */
function cancelAfterRow(): void {
  let canceled: number | undefined;
  let isOver = false;
  proxy.onMessage(({ connection, from, type, statement }) => {
    if (statement?.includes("todos") === true) canceled ??= connection;
    if (isOver || from !== "server" || connection !== canceled || type !== "C") return undefined;
    isOver = true;
    return { send: [makeMessage("E", Buffer.from("SERROR\0VERROR\0C57014\0Mcanceled\0\0"))] };
  });
}

/** Counts the service's sessions in this state. */
async function countSessions(state: string): Promise<number> {
  const [row] = await service.query<{
    count: number;
  }>(`select count(*)::int4 as count from pg_stat_activity
    where ${OF_ROWS} and ${state}`);
  return row?.count ?? 0;
}

async function untilWaiting(): Promise<void> {
  await eventually(async () => (await countSessions("wait_event_type = 'Lock'")) > 0);
}

/** Cancels a statement that began after this time and waits for a lock, like an administrator. Returns its start time. */
async function cancelWaiting(after: string): Promise<string> {
  let began = after;
  await eventually(async () => {
    const [row] = await service.query<{ began: string }>(
      `select query_start::text as began, pg_cancel_backend(pid) from pg_stat_activity
      where ${OF_ROWS} and wait_event_type = 'Lock' and query_start > $1::text::timestamptz`,
      [after],
    );
    began = row?.began ?? after;
    return began !== after;
  });
  return began;
}

describe("during an outage of the database,", () => {
  test("every endpoint returns 503 unavailable with Retry-After, and works again afterwards", async () => {
    proxy.refuse();
    const reads = [
      await service.call(app, LIST),
      await service.call(app, row),
      await service.call(undefined, "/ready"),
    ];
    const writes = [
      await create({ title: "never" }),
      await service.call(app, row, { method: "PATCH", json: { title: "never" } }),
    ];
    for (const response of [...reads, ...writes]) {
      expect([response.status, codeOf(response.text), response.headers.get("retry-after")]).toEqual(
        [503, "unavailable", "1"],
      );
      expect(response.text.includes("nothing was written")).toBe(writes.includes(response));
      expect(response.text).not.toMatch(/127\.0\.0\.1|CONNECTION|ECONN|rowhouse_test/);
    }
    expect((await service.call(undefined, "/live")).status).toBe(200);
    await proxy.heal();
    await untilServed();
    expect((await service.call(app, row)).text).toContain('"first"');
  });

  test("a write in progress gets 503 unknown_outcome", async () => {
    loseResponseOfCreate();
    const response = await create({ title: "perhaps" });
    expect([response.status, codeOf(response.text), response.headers.get("retry-after")]).toEqual([
      503,
      "unknown_outcome",
      "1",
    ]);
    const rows = await service.query<{ title: string }>(
      "select title from data.todos where app_id = $1 order by id",
      [app.id],
    );
    expect(rows.map(({ title }) => title)).toEqual(["first", "perhaps"]);
  });

  test("a read without a response gets 504 at the time limit", async () => {
    await useLimit(LIMIT_MS);
    // Only its connection: after three seconds of silence, the service is unavailable, which a busy machine can reach first.
    proxy.onMessage(({ statement = "" }) =>
      statement.includes("todos") ? { failure: "freeze" } : undefined,
    );
    const read = await service.call(app, row);
    expect([read.status, codeOf(read.text)]).toEqual([504, "timeout"]);
  });
});

test("a statement that is canceled after it has sent its row changes no other response", async () => {
  const follow = [
    () => service.call(app, row),
    () => service.call(app, LIST),
    () => service.call(app, row, { method: "PATCH", json: { title: "first" } }),
    () => create({ title: "second" }),
  ];
  const statuses: number[][] = [];
  for (const send of follow) {
    cancelAfterRow();
    statuses.push([(await service.call(app, row)).status, (await send()).status]);
  }
  expect(statuses).toEqual([200, 200, 200, 201].map((status) => [200, status]));
});

test("requests succeed after the database has discarded their prepared statements", async () => {
  await use(await open({ connections: 1 }));
  const discard = () => service.service.db.message("deallocate all");
  const before = await service.call(app, row);
  await discard();
  expect((await service.call(app, row)).text).toBe(before.text);
  await discard();
  const dangling = await create({ title: "second", parent: crypto.randomUUID() });
  expect([dangling.status, codeOf(dangling.text)]).toEqual([422, "validation_failed"]);
});

describe("an outage in the log", () => {
  // The end of an earlier outage can be logged later. Of a split service, each process logs it.
  beforeEach(async () => use(await open({ shape: "one" })));

  type Line = Record<string, unknown> & { event: string };
  const linesSince = (start: number) =>
    service.log.slice(start).map((line) => JSON.parse(line) as Line);
  const named = (lines: readonly Line[], event: string) =>
    lines.filter((line) => line.event === event);

  test("is logged once when it begins and once when it ends, and each request once, without a stack", async () => {
    const start = service.log.length;
    proxy.refuse();
    // Any request can detect the outage. Earlier requests can get other errors.
    while (named(linesSince(start), "database unavailable").length === 0)
      await service.call(app, LIST);
    const first = service.log.length;
    const requests = 25;
    for (let n = 0; n < requests; n++) await service.call(app, n % 2 === 0 ? LIST : row);
    await proxy.heal();
    while (named(linesSince(start), "database available").length === 0)
      await service.call(app, LIST);
    await untilServed();

    const lines = linesSince(start);
    const [outage, ...otherOutages] = named(lines, "database unavailable");
    const [recovery, ...otherRecoveries] = named(lines, "database available");
    expect([otherOutages, otherRecoveries]).toEqual([[], []]);
    // A statement can also lose an open connection.
    const cause = expect.stringMatching(/^(ECONNREFUSED|CONNECTION_CLOSED)$/);
    expect(outage).toMatchObject({ level: "warn", cause });
    expect(recovery).toMatchObject({ level: "warn", ms: expect.any(Number) });
    const rejected = lines
      .slice(lines.indexOf(outage as Line), lines.indexOf(recovery as Line))
      .filter(({ event, code }) => event === "request" && code === "unavailable");
    expect(recovery?.["rejected"]).toBe(rejected.length);
    expect(rejected.length).toBeGreaterThanOrEqual(requests);
    expect(rejected.at(-1)).toMatchObject({ level: "warn", status: 503, cause });
    expect(named(linesSince(first), "request").length).toBeGreaterThanOrEqual(requests);
    const others = lines.filter(
      ({ event }) => !/^(request|database (unavailable|available))$/.test(event),
    );
    expect(others).toEqual([]);
    expect(service.log.slice(start).join("\n")).not.toContain('"stack"');
    const ids = named(lines, "request").map(({ requestId }) => requestId);
    expect(ids).toEqual([...new Set(ids)]);
  });

  test("is not reported when a single connection is lost", async () => {
    await service.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where ${OF_ROWS}`);
    await untilServed();
    expect(named(linesSince(0), "database unavailable")).toEqual([]);
  });
});

describe("a request for a row that another session has locked", () => {
  const whileLocked = <Result>(id: string, use: (session: TransactionSql) => Promise<Result>) =>
    whileRowLocked(service.database.adminUrl, id, use);

  test("gets 504 at the time limit, and its statement is canceled in the database", async () => {
    await useLimit(LIMIT_MS);
    await whileLocked(idOf(row), async () => {
      const response = await service.call(app, row, { method: "PATCH", json: { title: "late" } });
      expect([response.status, codeOf(response.text)]).toEqual([504, "timeout"]);
      // Statements of the service itself, such as its version check, can run at any time.
      expect(await countSessions("state = 'active' and query like '%api.%'")).toBe(0);
    });
    expect((await service.call(app, row)).text).toContain('"first"');
  });

  test.each([
    { name: "sent again after another client canceled it", times: 1, want: [200, undefined, null] },
    { name: "returns 503 after a second cancellation", times: 2, want: [503, "unavailable", "1"] },
  ])("is $name", async ({ times, want }) => {
    let changed: Promise<TestResponse> | undefined;
    await whileLocked(idOf(row), async () => {
      changed = service.call(app, row, { method: "PATCH", json: { title: "changed" } });
      let began = "-infinity";
      for (let count = 0; count < times; count++) began = await cancelWaiting(began);
      if (times > 1) await changed;
    });
    const response = await changed;
    const code = response?.status === 200 ? undefined : codeOf(response?.text ?? "");
    expect([response?.status, code, response?.headers.get("retry-after")]).toEqual([...want]);
    const text = "The database canceled the statement; nothing was written";
    expect(response?.text.includes(text)).toBe(times > 1);
    expect((await service.call(app, row)).text).toContain(times > 1 ? "first" : "changed");
  });

  test("stops waiting when the caller leaves", async () => {
    await whileLocked(idOf(row), async () => {
      const leaving = new AbortController();
      const request = fetch(service.url + row, {
        method: "PATCH",
        headers: { authorization: `Bearer ${app.key}`, "content-type": "application/json" },
        body: '{"title":"left"}',
        signal: leaving.signal,
      }).catch(() => "left");
      await untilWaiting();
      leaving.abort();
      expect(await request).toBe("left");
      // The statement ends before its time limit.
      await eventually(async () => (await countSessions("wait_event_type = 'Lock'")) === 0, {
        patienceMs: EXECUTION_LIMIT_MS / 2,
      });
    });
    expect((await service.call(app, row)).text).toContain('"first"');
  });

  test("is retried after a lost deadlock without an error for the caller", async () => {
    await service.call(app, row, { method: "DELETE" });
    const parent = idOf((await create({ title: "parent" })).headers.get("location") ?? "");
    const child = idOf((await create({ title: "child", parent })).headers.get("location") ?? "");
    let responded: Promise<TestResponse> | undefined;
    await whileLocked(child, async (session) => {
      responded = service.call(app, `${LIST}/${parent}`, { method: "DELETE" });
      await untilWaiting();
      await session.unsafe(`select id from data.todos where id = '${parent}' for update`);
    });
    expect((await responded)?.status).toBe(204);
    expect((await service.call(app, LIST)).text).toContain('"rows":[]');
  });
});

describe("while the database is read-only,", () => {
  // The session of a pooler has no name before its first use.
  const setReadOnly = async (value: "on" | "off"): Promise<void> => {
    const { admin } = service.service;
    await admin.message(`set transaction read write;
      alter database ${service.database.name} set default_transaction_read_only = ${value}; select 1`);
    await readRows(
      admin,
      `select pg_terminate_backend(pid) from pg_stat_activity
      where pid <> pg_backend_pid() and datname = current_database()`,
    );
  };

  test("writes get 503 unavailable with Retry-After, reads are served, and writes then work again", async () => {
    await setReadOnly("on");
    await untilServed();
    for (const rejected of [
      await create({ title: "never" }),
      await service.call(app, row, { method: "PATCH", json: { title: "never" } }),
      await service.call(app, row, { method: "DELETE" }),
    ]) {
      expect([rejected.status, codeOf(rejected.text), rejected.headers.get("retry-after")]).toEqual(
        [503, "unavailable", "5"],
      );
      expect(rejected.text).not.toContain("read-only");
    }
    expect((await service.call(app, row)).text).toContain('"first"');
    await setReadOnly("off");
    await untilServed();
    expect((await create({ title: "second" })).status).toBe(201);
    expect((await service.call(app, LIST)).text).not.toContain("never");
  });
});
