/**
 * Runs `bun test` in several workers. Each worker has its own PostgreSQL, because files change roles and server settings.
 * `TEST_SERVERS` lists the servers as a JSON array of environments; without it, they are embedded.
 * `--tier=check` (default), `slow` or `all` selects files, and paths narrow them down. Other arguments go to `bun test`.
 *
 * @module
 */
import { availableParallelism } from "node:os";
import { type Server, startEmbedded } from "./ci/servers.ts";
import { TEST_SERVERS } from "./support/cluster.ts";
import { readTier, TEST_TIER, toPatterns } from "./support/tier.ts";

const MAX_WORKERS = 4;
const { tier, rest } = readTier(Bun.argv.slice(2));
const listed = process.env[TEST_SERVERS];
// More workers than cores: tests often wait for a process or for the database.
const workers = listed === undefined ? Math.min(availableParallelism() + 1, MAX_WORKERS) : 0;
const started: Server[] = [];
let child: Bun.Subprocess | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => child?.kill(signal));
let exitCode = 1;
try {
  while (started.length < workers) started.push(await startEmbedded());
  const environments = listed ?? JSON.stringify(started.map(({ env }) => env));
  const count: number = (JSON.parse(environments) as unknown[]).length;
  const patterns = await toPatterns(tier, rest);
  child = Bun.spawn(
    // --no-isolate: files share loaded modules. Loading them again for each file needs a fifth of the run.
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
