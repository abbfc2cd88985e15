/** The embedded PostgreSQL where its server does not come up. */
import { expect, spyOn, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../../src/db/embedded/mod.ts";
import { findFreePort } from "../../src/db/embedded/server.ts";

test("startCluster() starts a server again that was killed while it started", async () => {
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

/** `undefined` while there is no file, or nothing in it yet: 0 would name this test's own processes. */
function readPid(file: string): number | undefined {
  const [pid = ""] = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return /^[1-9]\d*$/.test(pid) ? Number(pid) : undefined;
}

test("findFreePort() passes over a port that is taken", async () => {
  const port = await findFreePort();
  const taken = Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
  const drawn = spyOn(Math, "random").mockReturnValueOnce((port - 20_000) / 12_000 + 1e-9);
  try {
    expect(await findFreePort()).not.toBe(port);
    expect(drawn.mock.calls.length).toBeGreaterThan(1);
  } finally {
    drawn.mockRestore();
    taken.stop();
  }
});
