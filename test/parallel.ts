/**
 * `bun test` in several workers, and for each worker a PostgreSQL of its own, so that roles and settings of a
 * server are never another file's. The servers are those that `TEST_SERVERS` lists, as a JSON array of environments, else
 * embedded ones. `--tier=check` (default), `slow` or `all` selects files, paths narrow them down, and other arguments are
 * passed on.
 *
 * @module
 */
import { availableParallelism } from "node:os";
import { type Server, startEmbedded } from "./ci/servers.ts";
import { TEST_SERVERS } from "./support/cluster.ts";
import { readTier, TEST_TIER, toPatterns } from "./support/tier.ts";

const MAX_WORKERS = 4;
const { tier, words } = readTier(Bun.argv.slice(2));
const given = process.env[TEST_SERVERS];
// One more than there are cores: tests often wait for a process or for the database.
const workers = given === undefined ? Math.min(availableParallelism() + 1, MAX_WORKERS) : 0;
const started: Server[] = [];
let child: Bun.Subprocess | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => child?.kill(signal));
let exitCode = 1;
try {
  while (started.length < workers) started.push(await startEmbedded());
  const environments = given ?? JSON.stringify(started.map(({ env }) => env));
  const count: number = (JSON.parse(environments) as unknown[]).length;
  const patterns = await toPatterns(tier, words);
  child = Bun.spawn(
    // As in a bare `bun test`, files share loaded modules: to load them for each file costs a fifth of the time.
    [
      ...[process.execPath, "test", `--parallel=${count}`, "--no-isolate", "--timeout", "60000"],
      ...patterns,
    ],
    {
      env: { ...process.env, [TEST_SERVERS]: environments, [TEST_TIER]: tier },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  exitCode = await child.exited;
} finally {
  for (const { stop } of started) await stop();
}
process.exit(exitCode);
