/** The embedded PostgreSQL after a kill during its start. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
