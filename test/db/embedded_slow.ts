/** The embedded PostgreSQL after a kill during its start, and with the data of another major version. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  findAccount,
  findBinaries,
  initialize,
  prepareFolder,
} from "../../src/db/embedded/folder.ts";
import { startCluster } from "../../src/db/embedded/mod.ts";

/** Returns `undefined` for a missing or empty file. A 0 would address this test's own processes. */
function readPid(file: string): number | undefined {
  const [pid = ""] = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return /^[1-9]\d*$/.test(pid) ? Number(pid) : undefined;
}

test("startCluster() restarts a server that was killed during its start", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-killed-"));
  // If root runs the test, PostgreSQL's account needs access to the folder.
  chmodSync(folder, 0o755);
  const dataDir = join(folder, "data");
  const options = { dataDir, durable: false };
  await (await startCluster(options)).stop();
  const starting = startCluster(options);
  const pidFile = join(dataDir, "cluster", "postmaster.pid");
  let pid = readPid(pidFile);
  while (pid === undefined) {
    await Bun.sleep(1);
    pid = readPid(pidFile);
  }
  process.kill(pid, "SIGKILL");
  const cluster = await starting;
  expect(cluster.url).toStartWith("postgres://");
  await cluster.stop();
  rmSync(folder, { recursive: true });
});

test("no program writes to the folder after an interrupted initialize()", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-interrupted-"));
  chmodSync(folder, 0o755);
  const account = findAccount();
  const own = prepareFolder(join(folder, "data"), account);
  const interruption = new AbortController();
  const installation = { dataDir: join(own, "cluster"), account, durable: false };
  const { signal } = interruption;
  const initialized = initialize(await findBinaries(account), { ...installation, signal }).catch(
    () => "interrupted",
  );
  while (!existsSync(join(own, "making", "base"))) await Bun.sleep(1);
  const list = () =>
    Bun.spawnSync(["ps", "-eo", "pid,args"])
      .stdout.toString()
      .split("\n")
      .filter((line) => line.includes(own));
  const [initdb = 0] = list()
    .filter((line) => line.includes("initdb"))
    .map((line) => Number.parseInt(line, 10));
  process.kill(initdb, "SIGSTOP");
  interruption.abort();
  // Forever, until initdb can end.
  expect(await Promise.race([initialized, Bun.sleep(200).then(() => "waits")])).toBe("waits");
  process.kill(initdb, "SIGCONT");
  expect(await initialized).toBe("interrupted");
  expect(list()).toEqual([]);
  rmSync(folder, { recursive: true });
});

test("startCluster() says how to move the data of another major version, and changes nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-major-"));
  chmodSync(folder, 0o755);
  const dataDir = join(folder, "data");
  const options = { dataDir, durable: false };
  await (await startCluster(options)).stop();
  const version = join(dataDir, "cluster", "PG_VERSION");
  const own = readFileSync(version, "utf8");
  writeFileSync(version, "17\n");
  const started = await startCluster(options).catch((error: Error) => error.message);
  expect(started).toContain(`${dataDir} has the data of PostgreSQL 17, but`);
  expect(started).toContain(`runs PostgreSQL ${own.trim()}. To move the data`);
  writeFileSync(version, own);
  await (await startCluster(options)).stop();
  rmSync(folder, { recursive: true });
});
