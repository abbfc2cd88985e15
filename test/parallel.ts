/**
 * Runs `bun test` in several workers. Each worker has its own PostgreSQL, because files change roles and server settings.
 * `TEST_SERVERS` lists the servers as a JSON array of environments; without it, they are embedded.
 * `--tier=check` (default), `unit` (without a server), `slow`, `browser` or `all` selects files, and paths narrow them down. `--profile`
 * runs the files one after the other, and prints the CPU time of each. `--update-timings` records the durations of the files in
 * `test/timings.json`. Other arguments go to `bun test`.
 *
 * @module
 */
import { rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { prepareEmbedded, type Server, startEmbedded } from "./ci/servers.ts";
import { profile } from "./profile.ts";
import { TEST_SERVERS } from "./support/cluster.ts";
import { limitTest, listFiles, readTier, TEST_EXTENT, type Tier } from "./support/tier.ts";

const MAX_WORKERS = 4;
/** Workers per run, in addition to the cores: tests often wait for a process or for the database. Chromium has many processes. */
const MORE_WORKERS: Readonly<Record<Tier, number>> = {
  ...{ unit: 1, check: 2, slow: 2, browser: 0, all: 1 },
};
/** Returning freed memory to the system all the time, and getting it back, is a tenth of a worker's CPU time. */
const KEEP_MEMORY = {
  MIMALLOC_PURGE_DELAY: "-1",
  MIMALLOC_PURGE_HOLES: "0",
  MIMALLOC_SCAVENGER: "0",
};
/** Without the compiler for code that runs for minutes: in the worker of a short run, it costs more than it saves. */
const QUICK_START = { BUN_JSC_useFTLJIT: "0" };
const PROFILE = "--profile";
/** The durations of files on an idle machine: the slowest start first, so that none is left at the end. */
const TIMINGS = "--timings=test/timings.json";
const { tier, rest } = readTier(Bun.argv.slice(2));
const paths = rest.filter((argument) => !argument.startsWith("-"));
const flags = rest.filter((argument) => argument.startsWith("-") && argument !== PROFILE);
const files = await listFiles(tier, paths);
// bun finds the files of `check` itself.
const selection = tier === "check" ? rest : [...flags, ...files];
const command = [process.execPath, "test", "--timeout", String(limitTest())];
const isReduced = tier === "check" || tier === "unit";
const env = isReduced ? { [TEST_EXTENT]: "reduced", ...KEEP_MEMORY, ...QUICK_START } : {};
if (rest.includes(PROFILE))
  process.exit((await profile(files, { command: [...command, ...flags], env })) ? 0 : 1);

const listed = process.env[TEST_SERVERS];
const workers = Math.min(availableParallelism() + MORE_WORKERS[tier], MAX_WORKERS);
const hasServers = tier !== "unit";
const started: Server[] = [];
let child: Bun.Subprocess | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => child?.kill(signal));
let exitCode = 1;
try {
  if (hasServers && listed === undefined) {
    const prepared = await prepareEmbedded();
    const starting = Array.from({ length: workers }, () => startEmbedded(prepared));
    started.push(...(await Promise.all(starting)));
    rmSync(prepared, { recursive: true });
  }
  const ours = JSON.stringify(started.map(({ env }) => env));
  const environments = hasServers ? (listed ?? ours) : "[]";
  const count = hasServers ? (JSON.parse(environments) as unknown[]).length : workers;
  child = Bun.spawn(
    // --no-isolate: files share loaded modules. Loading them again for each file needs a fifth of the run.
    [...command, `--parallel=${count}`, "--no-isolate", TIMINGS, ...selection],
    {
      env: { ...process.env, ...env, [TEST_SERVERS]: environments },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  exitCode = await child.exited;
} finally {
  await Promise.all(started.map(({ stop }) => stop()));
}
process.exit(exitCode);
