/**
 * One PostgreSQL for the whole run: the one that `ADMIN_DATABASE_URL` or `DATABASE_URL` names, else an embedded one.
 * Every test file makes a database of its own in it. A worker of `test/parallel.ts` uses the server that is meant for it.
 *
 * @module
 */
import { afterAll } from "bun:test";
import { startEmbedded } from "../ci/servers.ts";
import { clusterUrls, takeServer } from "./cluster.ts";

takeServer();
if (clusterUrls() === undefined) {
  const { env, stop } = await startEmbedded();
  Object.assign(process.env, env);
  afterAll(stop);
}
