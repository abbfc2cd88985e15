/**
 * One PostgreSQL for the whole run: the one that `ADMIN_DATABASE_URL` or `DATABASE_URL` names, else an embedded one.
 * Every test file makes a database of its own in it.
 *
 * @module
 */
import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../../src/db/embedded/mod.ts";
import { clusterUrls } from "./cluster.ts";

if (clusterUrls() === undefined) {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-test-"));
  // The account that runs the server must be able to enter the folder.
  await Bun.$`chmod 755 ${folder}`.quiet();
  const cluster = await startCluster({
    dataDir: join(folder, "postgres"),
    durable: false,
    settings: ["max_connections=300"],
  });
  process.env["ADMIN_DATABASE_URL"] = cluster.url;
  afterAll(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });
}
