/**
 * One PostgreSQL for the whole run: named by `ADMIN_DATABASE_URL` or `DATABASE_URL`, else embedded. Every test file creates its
 * own databases in it. A worker of `test/parallel.ts` uses its listed server; tests that need no database get none.
 *
 * @module
 */
import { afterAll } from "bun:test";

if (process.env["TEST_SERVERS"] === "[]")
  Object.assign(process.env, { ADMIN_DATABASE_URL: "", DATABASE_URL: "" });
else await prepareServer();

/** Loads the code of servers only if one is needed. */
async function prepareServer(): Promise<void> {
  const { clusterUrls, useListedServer, waitForDrops } = await import("./cluster.ts");
  useListedServer();
  afterAll(waitForDrops);
  if (clusterUrls() !== undefined) return;
  const { startEmbedded } = await import("../ci/servers.ts");
  const { env, stop } = await startEmbedded();
  Object.assign(process.env, env);
  afterAll(stop);
}
