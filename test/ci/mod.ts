/** Runs all checks of `.ci/run`: each run has its own servers, and bun's reports give the counts. @module */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TEST_SERVERS } from "../support/cluster.ts";
import { AUDITED, auditPackages, describeAudit } from "./audit.ts";
import { type Counts, readFailures, readReport } from "./report.ts";
import { type Server, startPooled, startPostgres15 } from "./servers.ts";

type Run = {
  name: string;
  /** Starts a server for the tests. Without it, the tests start their own. */
  start?: (folder: string) => Promise<Server>;
  command: string[];
  env?: Readonly<Record<string, string>>;
};

const PARALLEL = ["bun", "test/parallel.ts"];
/** The tests that depend on PostgreSQL's version, or on a pooler in front of it. */
const ON_OTHER_SERVERS = [
  ...PARALLEL,
  ...["accounts", "console", "data", "db", "identity", "push", "service", "system"].map(
    (module) => `test/${module}/`,
  ),
  "test/bin/migrate",
];
/** Slow tests that depend on the server. The other slow tests start their own servers, or none. */
const SLOW_ON_OTHER_SERVERS = [
  ...[...PARALLEL, "--tier=slow"],
  ...[
    "data/query_",
    "data/model",
    "data/values",
    "db/pool",
    "identity/throttle",
    "push/properties",
    "push/limits",
    "push/locked",
    "push/shared_table",
    "system/operating_doc",
  ].map((file) => `test/${file}`),
];
/** These tests run the programs of Debian's PostgreSQL, which is version 15 by default. */
const BACKUPS = ["backup", "baseline_doc"].map((file) => `./test/system/${file}_slow.ts`);
const WORKERS = ["1", "2"];
/** Keeps tests from using a server of this machine. */
const NO_SERVER = { ADMIN_DATABASE_URL: "", DATABASE_URL: "" };
const RUNS: readonly Run[] = [
  {
    name: "lint, types and embedded PostgreSQL 18",
    command: ["bun", "run", "check"],
  },
  { name: "slow tests on embedded PostgreSQL 18", command: ["bun", "run", "test:slow"] },
  {
    name: "Chromium",
    command: ["bun", "run", "test:browser"],
  },
  { name: "the image", command: ["bun", "run", "test:container"] },
  { name: "documentation pages", command: ["bun", "run", "test:docs"] },
  { name: "end-to-end: the first hour and week", command: ["bun", "run", "test:walk"] },
  { name: "API contract", command: ["bun", "run", "test:contract"] },
  { name: "chaos tests", command: ["bun", "run", "test:storm"] },
  {
    name: "gateway, data and identity apart",
    command: [...PARALLEL, "test/data", "test/http", "test/gateway", "test/identity"],
    env: { TEST_SHAPE: "split" },
  },
  { name: "PostgreSQL 15", start: startPostgres15, command: ON_OTHER_SERVERS },
  {
    name: "slow tests on PostgreSQL 15",
    start: startPostgres15,
    command: SLOW_ON_OTHER_SERVERS,
  },
  {
    name: "backups on PostgreSQL 18",
    command: ["bun", "test/ci/postgres_18.ts", "test", "--timeout", "60000", ...BACKUPS],
  },
  { name: "PgBouncer in transaction mode", start: startPooled, command: ON_OTHER_SERVERS },
];

const folder = mkdtempSync(join(tmpdir(), "rowhouse-ci-"));
await Bun.$`chmod 755 ${folder}`.quiet();
let current: Server[] = [];
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void abort());

const totals: Counts = { passed: 0, failed: 0, skipped: 0 };
/** Printed again at the end, because a reader of a long output starts there. */
const failures: string[] = [];
for (const [index, run] of RUNS.entries()) {
  const path = join(folder, String(index));
  const counts = await perform(run, path);
  console.log(`${run.name}: ${describeCounts(counts)}, ${counts.skipped} skipped`);
  failures.push(...(await describeFailures(run, path, counts)));
  for (const key of ["passed", "failed", "skipped"] as const) totals[key] += counts[key];
}
for (const audited of AUDITED) await audit(audited);
rmSync(folder, { recursive: true, force: true });
for (const failure of failures) console.log(`\n${failure}`);
if (totals.skipped > 0)
  console.log(`${totals.skipped} tests are skipped: CI allows no skipped tests`);
console.log(describeCounts({ ...totals, failed: totals.failed + totals.skipped }));
process.exit(totals.failed + totals.skipped === 0 ? 0 : 1);

async function perform({ name, start, command, env }: Run, path: string): Promise<Counts> {
  console.log(`\n=== ${name}`);
  const report = toReport(path);
  try {
    if (start !== undefined)
      for (const worker of WORKERS) current.push(await start(`${path}-${worker}`));
    const child = Bun.spawn(
      [...toBunCommand(command), "--reporter=junit", `--reporter-outfile=${report}`],
      {
        env: { ...process.env, ...NO_SERVER, ...toServers(current), ...env },
        stdio: ["ignore", "inherit", "inherit"],
      },
    );
    return await readReport(report, await child.exited);
  } finally {
    await stop();
  }
}

/** Returns the failed tests, and the run's name if it failed outside its tests, which no report contains. */
async function describeFailures(
  { name }: Run,
  path: string,
  { failed }: Counts,
): Promise<string[]> {
  const found = await readFailures(toReport(path));
  const failures = found.map((failure) => `failed on ${name}: ${failure}`);
  return failed > found.length ? [...failures, `failed: ${name}, outside its tests`] : failures;
}

function toReport(path: string): string {
  return `${path}.xml`;
}

/** Lists a server for each worker of `test/parallel.ts`. */
function toServers(servers: readonly Server[]): Record<string, string> {
  if (servers.length === 0) return {};
  return { [TEST_SERVERS]: JSON.stringify(servers.map(({ env }) => env)) };
}

async function stop(): Promise<void> {
  const servers = current;
  current = [];
  for (const server of servers) await server.stop();
}

/** Counts the audit as a test, unless the registry does not respond. */
async function audit(path: string): Promise<void> {
  const result = await auditPackages(path);
  if (result.kind === "clean") totals.passed++;
  if (result.kind === "vulnerable") totals.failed++;
  console.log(`bun audit of ${path}: ${describeAudit(result)}`);
}

/** Replaces `bun` by the Bun of this process, because PATH may contain another version. */
function toBunCommand([, ...args]: string[]): string[] {
  return [process.execPath, ...args];
}

function describeCounts({ passed, failed }: Counts): string {
  return `${passed} passed, ${failed} failed`;
}

async function abort(): Promise<never> {
  await stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit(1);
}
