/**
 * `bun test`, on all cores: a worker each, and for each worker a PostgreSQL of its own, so that roles and settings of a
 * server are never another file's. Arguments are passed on. The servers are those that `TEST_SERVERS` lists, as a JSON array
 * of environments, else embedded ones.
 *
 * @module
 */
import { availableParallelism } from "node:os";
import { type Server, startEmbedded } from "./ci/servers.ts";
import { TEST_SERVERS } from "./support/cluster.ts";

const MOST_WORKERS = 4;
const given = process.env[TEST_SERVERS];
const workers = given === undefined ? Math.min(availableParallelism(), MOST_WORKERS) : 0;
const started: Server[] = [];
let child: Bun.Subprocess | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => child?.kill(signal));
let exitCode = 1;
try {
  while (started.length < workers) started.push(await startEmbedded());
  const environments = given ?? JSON.stringify(started.map(({ env }) => env));
  const count: number = (JSON.parse(environments) as unknown[]).length;
  child = Bun.spawn(
    [process.execPath, "test", `--parallel=${count}`, "--timeout", "60000", ...Bun.argv.slice(2)],
    {
      env: { ...process.env, [TEST_SERVERS]: environments },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  exitCode = await child.exited;
} finally {
  for (const { stop } of started) await stop();
}
process.exit(exitCode);
