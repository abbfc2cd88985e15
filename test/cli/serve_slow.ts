import { expect, test } from "bun:test";
import { connect as connectSocket, type Socket } from "node:net";
import { join } from "node:path";
import { readRows } from "../../src/db/mod.ts";
import { makeEmptyDatabase, withDatabase } from "../support/cluster.ts";
import { ROOT, runCommand, type Settings, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { findFreePort } from "../support/free_port.ts";
import { openPostgresProxy } from "../support/postgres_proxy.ts";
import { callService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { openShop } from "../support/shop.ts";

const shop = await share(openShop());

async function startServing(settings: Settings = {}) {
  const serving = startCommand(["serve"], { ...shop, env: { ...shop.env, ...settings } });
  const [, port] = await serving.until(/"event":"listening".*"port":(\d+)/);
  return { ...serving, port: Number(port), url: `http://127.0.0.1:${port}` };
}

const listTodos = (url: string) =>
  fetch(`${url}/v1/data/db/todos`, { headers: { authorization: `Bearer ${shop.key}` } });

test("SIGTERM does not wait for idle and half-open sockets", async () => {
  const serving = await startServing();
  const sockets = [await openSocket(serving.port, ""), await openSocket(serving.port, "GET / HT")];
  const startedAt = performance.now();
  expect(await serving.kill("SIGTERM")).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(6000);
  for (const socket of sockets) socket.destroy();
});

test("SIGTERM finishes running requests in time, and does not wait for other connections", async () => {
  const serving = await startServing({ DATABASE_POOL: "40" });
  const sockets = [await openSocket(serving.port, ""), await openSocket(serving.port, "GET / HT")];
  const ids = await Promise.all(
    Array.from({ length: 21 }, (_, n) => createTodo(serving.url, `held ${n}`)),
  );
  const [slow = "", ...quick] = ids;
  const hold = (held: readonly string[], name: string) =>
    withDatabase(shop.database.adminUrl, (admin) =>
      admin.message(
        `set application_name = '${name}';
        select from data.todos where id = any('{${held.join(",")}}') for update; select pg_sleep(60)`,
        { timeoutMs: 60_000 },
      ),
    ).catch(() => undefined);
  const holders = [hold(quick, "holder of quick"), hold([slow], "holder of slow")];
  await eventually(
    async () => (await countOf("query like '%for update%' and wait_event = 'PgSleep'")) === 2,
  );
  const responses = quick.map((id) => change(serving.url, id));
  const cut = change(serving.url, slow).catch(() => 0);
  await eventually(async () => (await countOf("wait_event_type = 'Lock'")) === 21);
  const startedAt = performance.now();
  const ended = serving.kill("SIGTERM");
  await serving.until(/"event":"stopping"/);
  await Bun.sleep(1000); // the duration of the requests is the subject of the test
  await endHolder("holder of quick");
  expect(await Promise.all(responses)).toEqual(quick.map(() => 200));
  expect(await ended).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(await cut).not.toBe(200);
  await endHolder("holder of slow");
  await Promise.all(holders);
  for (const socket of sockets) socket.destroy();
  expect(serving.output()).toContain('"event":"stopped"');
  expect(serving.output()).not.toContain(shop.key);
}, 120_000);

const send = (url: string, method: string, json: object) =>
  callService({ url }, undefined, "", { method, json, key: shop.key });

async function createTodo(url: string, title: string): Promise<string> {
  const { json } = await send(`${url}/v1/data/db/todos`, "POST", { title });
  return (json as { id: string }).id;
}

const change = async (url: string, id: string): Promise<number> =>
  (await send(`${url}/v1/data/db/todos/${id}`, "PATCH", { title: "changed" })).status;

/** The sessions of this database in a state. */
async function countOf(state: string): Promise<number> {
  const text = `select from pg_stat_activity where datname = current_database() and ${state}`;
  return await withDatabase(
    shop.database.adminUrl,
    async (watcher) => (await readRows(watcher, text)).length,
  );
}

async function endHolder(name: string): Promise<void> {
  await withDatabase(
    shop.database.adminUrl,
    async (admin) =>
      void (await admin.message(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${name}'`,
      )),
  );
}

test.each([
  { signal: "SIGTERM", code: 143 },
  { signal: "SIGINT", code: 130 },
  { signal: "SIGHUP", code: 129 },
] as const)(
  "a second signal, $signal, ends the process immediately with $code, after its log was written",
  async ({ signal, code }) => {
    const serving = await startServing();
    await withDatabase(shop.database.adminUrl, async (admin) => {
      const lock = admin
        .message("lock table data.todos; select pg_sleep(30)")
        .catch(() => undefined);
      await untilLock("granted");
      const response = listTodos(serving.url).catch((error: unknown) => error);
      await untilLock("not granted");
      void serving.kill("SIGTERM");
      await serving.until(/"event":"stopping"/);
      expect(await serving.kill(signal)).toBe(code);
      expect(await response).toBeInstanceOf(Error);
      await endLock();
      await lock;
    });
    expect(serving.output()).toContain('"event":"stopped immediately"');
    expect(serving.output()).not.toContain('"event":"stopped"');
  },
);

async function endLock(): Promise<void> {
  await withDatabase(
    shop.database.adminUrl,
    async (admin) =>
      void (await admin.message(`select pg_terminate_backend(pid) from pg_locks
        where relation = 'data.todos'::regclass and granted and mode = 'AccessExclusiveLock'`)),
  );
}

/** Waits until a session holds the table exclusively, or waits for it. */
async function untilLock(state: "granted" | "not granted"): Promise<void> {
  const text = `select from pg_locks where relation = 'data.todos'::regclass and ${state}
    and (mode = 'AccessExclusiveLock' or not granted)`;
  await withDatabase(shop.database.adminUrl, (watcher) =>
    eventually(async () => (await readRows(watcher, text)).length > 0),
  );
}

test("logins with more rights than serving and pushing need cause a warning in the log", async () => {
  const serving = await startServing({
    DATABASE_URL: shop.database.superuserUrl,
    ADMIN_DATABASE_URL: shop.database.adminUrl,
  });
  await serving.until(/"event":"login with too many rights".*is a superuser: more than serving/);
  await serving.until(/"event":"login with too many rights".*is a superuser: more than pushing/);
  expect((await listTodos(serving.url)).status).toBe(200);
  await serving.kill("SIGTERM");
  expect(serving.output()).not.toContain(new URL(shop.database.superuserUrl).password);
});

test("logins with only the required rights cause no warning", async () => {
  const serving = await startServing();
  await serving.kill("SIGTERM");
  expect(serving.output()).not.toContain("too many rights");
  expect(serving.output()).not.toContain("trusted proxy");
});

test("proxies that include every address cause a warning", async () => {
  const serving = await startServing({ TRUSTED_PROXIES: "::/0" });
  await serving.until(
    /"event":"every address is a trusted proxy".*set TRUSTED_PROXIES to the addresses/,
  );
  await serving.kill("SIGTERM");
});

test("a setting of an earlier release causes a warning, and the service starts", async () => {
  const serving = await startServing({ KEEP_ALIVE: "130s" });
  await serving.until(
    /"event":"setting without effect".*KEEP_ALIVE was removed.*open for 75 seconds: set each proxy/,
  );
  await serving.until(/"event":"listening"/);
  await serving.kill("SIGTERM");
});

test("health succeeds for a service that is alive", async () => {
  const serving = await startServing();
  const health = await runCommand(["health"], {
    ...shop,
    env: { ...shop.env, PORT: String(serving.port) },
  });
  expect(health).toEqual({ code: 0, out: `${serving.url}/live is alive\n`, err: "" });
  expect(await serving.kill("SIGINT")).toBe(0);
});

test("a body over the limit gets 413", async () => {
  const serving = await startServing();
  const large = { title: "x".repeat(3_000_000) };
  const { status, json } = await send(`${serving.url}/v1/data/db/todos`, "POST", large);
  expect([status, json]).toMatchObject([413, { error: "body_too_large" }]);
  await serving.kill("SIGTERM");
});

test("a port in use is reported in one clear message", async () => {
  const serving = await startServing();
  const second = await runCommand(["serve"], {
    ...shop,
    env: { ...shop.env, PORT: String(serving.port) },
  });
  expect(second).toEqual({
    code: 1,
    out: "",
    err: `Port ${serving.port} of 127.0.0.1 is in use: stop the process that listens there, or set another PORT\n`,
  });
  await serving.kill("SIGTERM");
});

test("a database without migrations is rejected, with the command to run", async () => {
  await using empty = await makeEmptyDatabase();
  const urls = { ADMIN_DATABASE_URL: empty.url, DATABASE_URL: empty.url };
  const { code, out, err } = await runCommand(["serve"], {
    ...shop,
    env: { ...shop.env, ...urls },
  });
  expect(err).toMatch(/^The database lacks \d+ migrations?: run rowhouse migrate first\n$/);
  expect([code, out]).toEqual([1, ""]);
});

test("an unpatched driver causes one warning, by one process or several workers, and a patched driver none", async () => {
  const unpatched = { BUN_OPTIONS: `--preload ${join(ROOT, "test/support/unpatched.ts")}` };
  const countWarnings = async (settings: Settings): Promise<number> => {
    const serving = await startServing(settings);
    expect((await listTodos(serving.url)).status).toBe(200);
    expect(await serving.kill("SIGTERM")).toBe(0);
    return serving.output().split('"event":"driver not patched"').length - 1;
  };
  const PORT = String(await findFreePort());
  expect(await countWarnings({})).toBe(0);
  expect(await countWarnings(unpatched)).toBe(1);
  expect(await countWarnings({ ...unpatched, WORKERS: "2", PORT })).toBe(1);
}, 120_000);

test("serve without a database returns 503 with Retry-After, and recovers when the database is available", async () => {
  await using proxy = await openPostgresProxy();
  const DATABASE_URL = proxy.toUrl(shop.database.adminUrl);
  proxy.refuse();
  const serving = await startServing({ DATABASE_URL, DATABASE_PREPARE: "on" });
  await serving.until(/"event":"database unavailable"/);
  const away = await listTodos(serving.url);
  expect([away.status, away.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await away.json()).toMatchObject({ error: "unavailable" });
  expect((await fetch(`${serving.url}/live`)).status).toBe(200);
  await proxy.heal();
  await serving.until(/"event":"database available"/);
  expect((await listTodos(serving.url)).status).toBe(200);
  expect(await serving.kill("SIGTERM")).toBe(0);
});

test("serve without a database can be stopped", async () => {
  const serving = await startServing({ DATABASE_URL: "postgres://a:b@127.0.0.1:1/c" });
  await serving.until(/"event":"database unavailable"/);
  expect(await serving.kill("SIGTERM")).toBe(0);
});

function openSocket(port: number, text: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket(port, "127.0.0.1", () => {
      socket.write(text);
      resolve(socket);
    });
    socket.on("error", reject);
  });
}
