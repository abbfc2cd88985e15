/**
 * The service in its own serving process: prints its port when it is warm, logs every request as in production, and ends when
 * standard input closes.
 *
 * @module
 */
import { closeSync, openSync } from "node:fs";
import { makeLog } from "../src/observe.ts";
import { isPreview } from "../src/preview.ts";
import { MAX_PER_MINUTE } from "../src/records/apps/mod.ts";
import { ROLES } from "../src/role.ts";
import { openService } from "../src/service/open.ts";
import { bufferLines } from "../src/std/line_buffer.ts";
import { TEST_IDENTITY_SECRET } from "../test/support/deps.ts";

/** Reads the role that the gateway's bench sets; default: one process for all roles. */
function readRole() {
  const { BENCH_ROLE, BENCH_DATA_URL, BENCH_SECRET = "" } = process.env;
  const role = ROLES.find((name) => name === BENCH_ROLE) ?? "all";
  const upstreams = { data: BENCH_DATA_URL, identity: BENCH_DATA_URL };
  return { role, upstreams, secrets: { data: [BENCH_SECRET], identity: [BENCH_SECRET] } };
}

const log = openSync("/dev/null", "a");
const lines = bufferLines(Bun.file(log).writer());
const service = openService({
  databaseUrl: process.env["DATABASE_URL"] ?? "",
  adminDatabaseUrl: process.env["ADMIN_DATABASE_URL"] ?? "",
  connections: Number(process.env["DATABASE_POOL"]),
  prepare: process.env["DATABASE_PREPARE"] !== "off",
  keyPrefix: "rh",
  // Caches no pages by default, so that a figure never mixes cached and built pages.
  listCacheBytes: Number(process.env["BENCH_LIST_CACHE_BYTES"] ?? 0),
  groupsCreates: process.env["BENCH_GROUP_CREATES"] !== "off",
  idempotencyBytes: Number.MAX_SAFE_INTEGER,
  personPerMinute: MAX_PER_MINUTE,
  identitySecrets: [TEST_IDENTITY_SECRET],
  ...readRole(),
  previews: (process.env["BENCH_PREVIEWS"] ?? "").split(",").filter(isPreview),
  log: makeLog("info", { write: lines.write, now: () => new Date() }),
});
await service.warm();
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: service.fetch });
process.stdout.write(`${server.port}\n`);
for await (const _ of process.stdin);
await server.stop(true);
await service.close();
await lines.flush();
closeSync(log);
process.exit(0);
