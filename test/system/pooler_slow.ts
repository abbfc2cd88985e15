/**
 * The service behind PgBouncer in transaction mode with two connections: all calls work, and the service recovers from
 * every outage.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import schema from "../../schema/mod.ts";
import { type Database, echoColumn, openDatabase, readRows } from "../../src/db/mod.ts";
import { clusterUrls, LOGIN, PASSWORD, PUSH_LOGIN } from "../support/cluster.ts";
import { makeProject, runCommand, startCommand } from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";
import { eventually } from "../support/eventually.ts";
import { PGBOUNCER, type Pooler, startPooler } from "../support/pgbouncer.ts";
import { openPostgresProxy, type PostgresProxy } from "../support/postgres_proxy.ts";
import { codeOf } from "../support/problem.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const CLIENTS = 12;
/** After so many results, a client leaves. */
const RESULTS = 5;
/** Statements that change session state. Through a pooler, the state is lost or affects another client. */
const SESSION_STATEMENTS = [
  /(^|;)\s*set\s+(?!local\b)/i,
  /(^|;)\s*(listen|unlisten|discard|prepare|deallocate|begin|start|declare|create\s+temp)\b/i,
  /pg_(try_)?advisory_lock(_shared)?\s*\(/i,
];

let pooler: Pooler;
let proxy: PostgresProxy;
let service: TestService;
let app: TestApp;

describe.skipIf(PGBOUNCER === null)("behind PgBouncer,", () => {
  beforeAll(async () => {
    const admin = clusterUrls()?.admin ?? "";
    const { username, password } = new URL(admin);
    pooler = await startPooler(admin, {
      poolSize: 2,
      clients: CLIENTS,
      users: {
        [username]: decodeURIComponent(password),
        [LOGIN]: PASSWORD,
        [PUSH_LOGIN]: PASSWORD,
      },
    });
    proxy = await openPostgresProxy();
    service = await openTestService({
      connections: 5,
      prepare: false,
      toServingUrl: (url) => proxy.toUrl(pooler.toUrl(url)),
    });
    app = await service.makeApp(schema);
  });
  afterAll(async () => {
    await service.close();
    await proxy.close();
    await pooler.close();
  });

  test("many callers are served by two connections, each with its own rows", async () => {
    const titles = Array.from({ length: 100 }, () => crypto.randomUUID());
    const responses = await Promise.all(titles.map((title) => create(title)));
    expect(responses.map(({ json }) => (json as { title: string }).title)).toEqual(titles);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]));
  });

  test("no statement needs session state", async () => {
    await tour();
    const texts = proxy.texts();
    expect(texts.length).toBeGreaterThan(5);
    expect(
      texts.filter((text) => SESSION_STATEMENTS.some((pattern) => pattern.test(text))),
    ).toEqual([]);
  });

  test.each(["set statement_timeout = 1", "listen x", "select pg_advisory_lock(1)", "begin"])(
    "the session-state check detects %p",
    (text) => expect(SESSION_STATEMENTS.some((pattern) => pattern.test(text))).toBe(true),
  );

  test("requests are rejected in time during a PAUSE, and served after it", async () => {
    await pooler.command("PAUSE");
    const startedAt = performance.now();
    const responses = await Promise.all(Array.from({ length: 8 }, () => list()));
    expect(performance.now() - startedAt).toBeLessThan(8000);
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 503));
    expect(responses.every(({ headers }) => headers.has("retry-after"))).toBe(true);
    await pooler.command("RESUME");
    await heals();
  }, 20_000);

  test("a client that leaves with reads in progress leaves no result to the next client", async () => {
    const [url, name] = [clusterUrls()?.admin ?? "", "rowhouse test"];
    const between = await openPostgresProxy();
    const ready = new Map<number, number>();
    between.onMessage(({ connection, from, type }) => {
      if (from !== "server" || type !== "Z") return undefined;
      const count = (ready.get(connection) ?? 0) + 1;
      ready.set(connection, count);
      return count === RESULTS ? { failure: "reset" } : undefined;
    });
    const leaving = openDatabase({
      url: between.toUrl(pooler.toUrl(url)),
      ...{ connections: 5, prepare: false, name },
    });
    const staying = openDatabase({ url: pooler.toUrl(url), connections: 1, prepare: false, name });
    const slowly = `select $1::text as body, pg_sleep(0.002), ${echoColumn(2)}`;
    const [read, owned] = [{ retry: "safe", queue: "app" } as const, new Set<string>()];
    let isOver = false;
    const readers = Array.from({ length: 20 }, async (_, index) => {
      while (!isOver)
        await leaving
          .bytes(slowly, [`of ${index}`], { ...read, length: "short" })
          .catch(() => undefined);
    });
    for (let count = 0; count < 300; count++) {
      const own = `own ${count}`;
      const found = await staying.bytes("select $1::text as body", [own], read).catch(() => null);
      owned.add(found === null || found.toString() === own ? "own" : found.toString());
    }
    isOver = true;
    await Promise.all(readers);
    await Promise.all([leaving.close(0), staying.close(0), between.close()]);
    expect([...owned]).toEqual(["own"]);
    expect([...ready.values()].filter((count) => count === RESULTS).length).toBeGreaterThan(20);
  }, 60_000);

  test("requests fail immediately while PgBouncer is stopped, and work again afterwards", async () => {
    await pooler.kill();
    const startedAt = performance.now();
    const { status, headers } = await list();
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    // A request waits up to 3 s for a connection.
    expect(performance.now() - startedAt).toBeLessThan(3000);
    await pooler.start();
    await heals();
  });

  test("a kill under load loses no acknowledged row and stores no rejected row", async () => {
    const titles = new Map<string, number>();
    let isRunning = true;
    const callers = Array.from({ length: 8 }, async () => {
      while (isRunning) {
        const title = crypto.randomUUID();
        const { status, text } = await create(title);
        const isUnknown = codeOf(text) === "unknown_outcome";
        if (!isUnknown) titles.set(title, status);
      }
    });
    await eventually(() => titles.size > 50);
    await pooler.kill();
    await pooler.start();
    const seen = titles.size;
    await eventually(() => titles.size > seen + 50);
    isRunning = false;
    await Promise.all(callers);
    const stored = new Set(
      (await service.query<{ title: string }>("select title from data.todos")).map(
        ({ title }) => title,
      ),
    );
    const wrong = [...titles].filter(([title, status]) => stored.has(title) !== (status === 201));
    expect(wrong).toEqual([]);
    await heals();
  });

  test("gets return correct rows while connections to PostgreSQL are killed", async () => {
    const titles = Array.from({ length: 20 }, () => crypto.randomUUID());
    const own = await service.makeApp(schema);
    const created = await Promise.all(titles.map((title) => create(title, own)));
    const paths = created.map(({ headers }) => headers.get("location") ?? "");
    const get = async (row: number): Promise<string> => {
      const { status, json, text } = await service.call(own, paths[row] ?? "");
      const isOwn = (json as { title: string }).title === titles[row];
      return status === 200 && isOwn ? "right" : `${status} ${codeOf(text)}`;
    };
    const ends = new Set<string>();
    let isRunning = true;
    const callers = Array.from({ length: 24 }, async (_, index) => {
      for (let count = index; isRunning; count++) ends.add(await get(count % titles.length));
    });
    for (let round = 0; round < 30; round++) {
      await service.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rowhouse_test_login'
          and datname = current_database() order by random() limit 1`);
      await Bun.sleep(20);
    }
    isRunning = false;
    await Promise.all(callers);
    // 504: PgBouncer reported no result and no lost server within the time limit.
    expect([...ends].filter((end) => !/^(right|503 \w+|504 timeout)$/.test(end))).toEqual([]);
    expect(ends).toContain("right");
    expect(service.log.filter((line) => line.includes("response mismatch"))).toEqual([]);
    await heals();
  });

  test.each([
    { name: "a wrong password", part: { password: "wrong" }, expected: "rejects the password of" },
    { name: "an unknown role", part: { username: "nobody" }, expected: 'the role "nobody"' },
    {
      name: "a missing database",
      part: { pathname: "/none" },
      expected: 'Database "none" does not exist',
    },
  ])("$name is reported with PostgreSQL's error, not as an outage", async ({ part, expected }) => {
    const { href: DATABASE_URL } = Object.assign<URL, object>(
      new URL(pooler.toUrl(service.database.adminUrl)),
      part,
    );
    using project = makeProject({});
    const { code, out, err } = await runCommand(["serve"], {
      ...project,
      env: {
        DATABASE_URL,
        DATABASE_PREPARE: "off",
        PORT: "0",
        IDENTITY_SECRET: TEST_IDENTITY_SECRET,
      },
    });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain(expected);
  });

  describe("doctor and serve report", () => {
    const MIXED =
      "found; mixes up prepared statements, like PgBouncer before 1.21 or without max_prepared_statements: under load, calls fail or get the results of other calls";
    const ADMIN = "found; pushes and migrations should not go through a pooler";
    test.each([
      {
        name: "DATABASE_PREPARE=on",
        prepare: "on",
        admin: (url: string) => url,
        expected: `FAIL pooler: ${MIXED}\n     set DATABASE_PREPARE=off\n`,
        rejected: `Cannot serve this database\n  pooler: ${MIXED}; set DATABASE_PREPARE=off\n`,
      },
      {
        name: "DATABASE_PREPARE=off",
        prepare: "off",
        admin: (url: string) => url,
        expected: "ok   pooler: found; compatible with DATABASE_PREPARE=off\n",
      },
      {
        name: "pushes through PgBouncer",
        prepare: "off",
        admin: (url: string) => pooler.toUrl(url),
        expected: `warn admin pooler: ${ADMIN}\n     make ADMIN_DATABASE_URL connect directly to PostgreSQL\n`,
      },
    ])("$name", async ({ prepare, admin, expected, rejected }) => {
      using project = makeProject();
      const env = {
        DATABASE_URL: pooler.toUrl(service.database.servingUrl),
        ADMIN_DATABASE_URL: admin(service.database.pushUrl),
        DATABASE_PREPARE: prepare,
        HOST: "127.0.0.1",
        PORT: "0",
        IDENTITY_SECRET: TEST_IDENTITY_SECRET,
      };
      const { code, out } = await runCommand(["doctor"], { ...project, env });
      expect([code, out]).toEqual([
        rejected === undefined ? 0 : 1,
        expect.stringContaining(expected),
      ]);
      const serving = startCommand(["serve"], { ...project, env });
      if (rejected === undefined) await serving.until(/"event":"listening"/);
      else expect(await serving.ended).toBe(1);
      await serving.kill("SIGTERM");
      if (rejected !== undefined) expect(serving.output()).toBe(rejected);
    });
  });

  test("requests get 503 while PgBouncer is full of other clients", async () => {
    proxy.refuse();
    // PgBouncer can learn of these ends after it accepts the next clients.
    const countClients = async () =>
      (await pooler.command("SHOW CLIENTS")).filter(({ database }) => database !== "pgbouncer")
        .length;
    await eventually(async () => (await countClients()) === 0);
    const holders = await Promise.all(
      Array.from({ length: CLIENTS }, () => holdSlot(pooler.toUrl(service.database.adminUrl))),
    );
    await proxy.heal();
    const responses = await Promise.all(Array.from({ length: 4 }, () => list()));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]));
    await Promise.all(holders.map((holder) => holder.close(0)));
    await heals();
  });
});

async function create(title: string, as = app) {
  return await service.call(as, "/v1/data/db/todos", { method: "POST", json: { title } });
}

async function list() {
  return await service.call(app, "/v1/data/db/todos?limit=1");
}

/** Calls each operation of a table. */
async function tour(): Promise<void> {
  const created = await create("tour");
  const path = created.headers.get("location") ?? "";
  await service.call(app, path);
  await service.call(app, path, { method: "PATCH", json: { title: "changed" } });
  await service.call(app, path, { method: "DELETE" });
  await list();
  await service.call(app, "/v1/data/db/nothing");
  await service.call(app, "/ready");
}

/** Waits until the service serves as many concurrent callers as it has connections. */
async function heals(): Promise<void> {
  await eventually(async () => {
    const responses = await Promise.all(Array.from({ length: 5 }, () => list()));
    return responses.every(({ status }) => status === 200);
  });
}

/** Opens a client that holds a slot of PgBouncer. */
async function holdSlot(url: string): Promise<Database> {
  const holder = openDatabase({ url, connections: 1, prepare: false, name: "holder" });
  await readRows(holder, "select 1");
  return holder;
}
