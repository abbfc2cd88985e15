import { expect, test } from "bun:test";
import { readRows } from "../../src/db/mod.ts";
import { withDatabase } from "../support/cluster.ts";
import { type Running, runCommand, type Settings, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { findFreePort } from "../support/free_port.ts";
import { share } from "../support/share.ts";
import { openShop } from "../support/shop.ts";

const [port, adminPort] = [await findFreePort(), await findFreePort(2)];
const shop = await share(
  openShop({ DATABASE_POOL: "3", PORT: String(port), ADMIN_PORT: String(adminPort), WORKERS: "2" }),
);

async function startServing(settings: Settings = {}): Promise<Running> {
  const serving = startCommand(["serve"], { ...shop, env: { ...shop.env, ...settings } });
  await eventually(() => countOf(serving, "listening") === 2, { describe: serving.output });
  return serving;
}

const countOf = (serving: Running, event: string) =>
  serving.output().split(`"event":"${event}"`).length - 1;

/** One call; a connection that is reset before the first byte is tried once more, as clients do. */
async function list(isSecond = false): Promise<number> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/data/db/todos?limit=1`, {
      headers: { authorization: `Bearer ${shop.key}` },
    });
    await response.text();
    return response.status;
  } catch (error) {
    if (isSecond) throw error;
    return await list(true);
  }
}

test("two workers share the port, each worker has its own port for operators, and SIGTERM ends all with 0", async () => {
  const serving = await startServing();
  expect(await list()).toBe(200);
  const ready = await Promise.all(
    [adminPort, adminPort + 1].map((one) => fetch(`http://127.0.0.1:${one}/ready`)),
  );
  expect(ready.map(({ status }) => status)).toEqual([200, 200]);
  expect(await serving.kill("SIGTERM")).toBe(0);
  expect(serving.output()).toContain('"event":"stopped"');
  expect(await childrenOf(serving.pid)).toEqual([]);
});

test("a second signal ends the supervisor and every worker immediately, with the log written", async () => {
  const serving = await startServing();
  const workers = await childrenOf(serving.pid);
  await withDatabase(shop.database.adminUrl, async (admin) => {
    const lock = admin.message("lock table data.todos; select pg_sleep(30)").catch(() => undefined);
    await eventually(() => hasLock(true));
    const response = list().catch((error: unknown) => error);
    await eventually(() => hasLock(false));
    void serving.kill("SIGTERM");
    await serving.until(/"event":"stopping"/);
    expect(await serving.kill("SIGINT")).toBe(130);
    await eventually(() => workers.every((pid) => !isAlive(pid)));
    expect(await response).toBeInstanceOf(Error);
    await withDatabase(shop.database.adminUrl, (other) =>
      other.message(`select pg_terminate_backend(pid) from pg_locks
        where relation = 'data.todos'::regclass and granted and mode = 'AccessExclusiveLock'`),
    );
    await lock;
  });
  expect(serving.output()).toContain('"event":"stopped immediately"');
});

/** Returns whether a session holds the table exclusively, or waits for it. */
async function hasLock(isGranted: boolean): Promise<boolean> {
  const rows = await withDatabase(shop.database.adminUrl, (watcher) =>
    readRows(
      watcher,
      `select from pg_locks where relation = 'data.todos'::regclass and granted = $1
        and (mode = 'AccessExclusiveLock' or not granted)`,
      [isGranted],
    ),
  );
  return rows.length > 0;
}

test("a killed worker is replaced while the other workers serve", async () => {
  const serving = await startServing();
  const [victim = 0] = await childrenOf(serving.pid);
  process.kill(victim, "SIGKILL");
  await eventually(() => countOf(serving, "worker died") === 1, { describe: serving.output });
  expect(await list()).toBe(200);
  await eventually(() => countOf(serving, "listening") === 3, { describe: serving.output });
  expect((await childrenOf(serving.pid)).length).toBe(2);
  expect(await serving.kill("SIGTERM")).toBe(0);
});

test("SIGHUP replaces every worker under load and loses no request", async () => {
  const serving = await startServing();
  const before = await childrenOf(serving.pid);
  let isRunning = true;
  const statuses = new Map<number, number>();
  const callers = Array.from({ length: 6 }, async () => {
    while (isRunning) {
      const status = await list();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  process.kill(serving.pid, "SIGHUP");
  await eventually(() => countOf(serving, "reloaded") === 1, { describe: serving.output });
  isRunning = false;
  await Promise.all(callers);
  const after = await childrenOf(serving.pid);
  expect([...statuses.keys()]).toEqual([200]);
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  expect(after.length).toBe(2);
  expect(await serving.kill("SIGTERM")).toBe(0);
});

test("killing the supervisor ends its workers", async () => {
  const serving = await startServing();
  const workers = await childrenOf(serving.pid);
  await serving.kill("SIGKILL");
  await eventually(() => workers.every((pid) => !isAlive(pid)));
});

test("a startup error of the first worker is reported once", async () => {
  const { code, err, out } = await runCommand(["serve"], {
    ...shop,
    env: { ...shop.env, DATABASE_URL: shop.database.servingUrl.replace(/:[^:@/]+@/, ":wrong@") },
  });
  expect(code).toBe(1);
  expect((err + out).split("rejects the password").length - 1).toBe(1);
});

test("several workers require a fixed port", async () => {
  const { code, err } = await runCommand(["serve"], { ...shop, env: { ...shop.env, PORT: "0" } });
  expect(code).toBe(1);
  expect(err).toContain("set PORT");
});

async function childrenOf(pid: number): Promise<number[]> {
  const text = await Bun.$`pgrep -P ${pid}`.nothrow().quiet().text();
  return text.trim().split("\n").filter(Boolean).map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // no such process
  }
}
