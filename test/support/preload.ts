/**
 * One PostgreSQL for the whole run: named by `ADMIN_DATABASE_URL` or `DATABASE_URL`, else embedded. Every test file creates its
 * own databases in it. A worker of `test/parallel.ts` uses its listed server.
 *
 * @module
 */
import { afterAll } from "bun:test";
import { startEmbedded } from "../ci/servers.ts";
import { clusterUrls, useListedServer } from "./cluster.ts";

useListedServer();
if (clusterUrls() === undefined) {
  const { env, stop } = await startEmbedded();
  Object.assign(process.env, env);
  afterAll(stop);
}
