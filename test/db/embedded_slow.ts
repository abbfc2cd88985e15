/** The embedded PostgreSQL where its server is killed while it starts. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../../src/db/embedded/mod.ts";

/** `undefined` while there is no file, or nothing in it yet: 0 would name this test's own processes. */
function readPid(file: string): number | undefined {
  const [pid = ""] = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return /^[1-9]\d*$/.test(pid) ? Number(pid) : undefined;
}

test("startCluster() restarts a server that was killed during its start", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-killed-"));
  // So that the account that PostgreSQL runs as may enter it, where this one is root.
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
