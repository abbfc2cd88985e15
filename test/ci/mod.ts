/** All checks of `.ci/run`: one table of runs, each on its own server, counted from the reports that bun writes. @module */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TEST_SERVERS } from "../support/cluster.ts";
import { AUDITED, auditPackages, describeAudit } from "./audit.ts";
import { type Counts, readFailures, readReport } from "./report.ts";
import { type Server, startPooled, startPostgres15 } from "./servers.ts";

type Run = {
  name: string;
  /** Starts what the tests run against; without it they start what they need. */
  start?: (folder: string) => Promise<Server>;
  command: string[];
  env?: Readonly<Record<string, string>>;
};

const PARALLEL = ["bun", "test/parallel.ts"];
/** The tests that depend on PostgreSQL's version, or on a pooler before it: nothing else can differ there. */
const ON_OTHER_SERVERS = [
  ...PARALLEL,
  ...["accounts", "console", "data", "db", "identity", "push", "service", "system"].map(
    (room) => `test/${room}/`,
  ),
  "test/bin/migrate",
];
/** Those of the slow tier; its other files start servers of their own, or none. */
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
/** They run the programs of Debian's PostgreSQL, version 15 elsewhere. */
const BACKUPS = ["backup", "baseline_doc"].map((file) => `./test/system/${file}_slow.ts`);
const WORKERS = ["1", "2"];
/** The tests start their own, whatever this machine has. */
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
  { name: "pages walked", command: ["bun", "run", "test:docs"] },
  { name: "the first hour and week", command: ["bun", "run", "test:walk"] },
  { name: "the contract, from the outside", command: ["bun", "run", "test:contract"] },
  { name: "storms", command: ["bun", "run", "test:storm"] },
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
/** Told again at the end: whoever reads the last page of a long output sees them. */
const failures: string[] = [];
for (const [index, run] of RUNS.entries()) {
  const place = join(folder, String(index));
  const counts = await perform(run, place);
  console.log(`${run.name}: ${show(counts)}, ${counts.skipped} skipped`);
  failures.push(...(await describeFailures(run, place, counts)));
  for (const key of ["passed", "failed", "skipped"] as const) totals[key] += counts[key];
}
for (const place of AUDITED) await audit(place);
rmSync(folder, { recursive: true, force: true });
for (const failure of failures) console.log(`\n${failure}`);
if (totals.skipped > 0) console.log(`${totals.skipped} tests are skipped: none may be`);
console.log(show({ ...totals, failed: totals.failed + totals.skipped }));
process.exit(totals.failed + totals.skipped === 0 ? 0 : 1);

async function perform({ name, start, command, env }: Run, place: string): Promise<Counts> {
  console.log(`\n=== ${name}`);
  const report = toReport(place);
  try {
    if (start !== undefined)
      for (const worker of WORKERS) current.push(await start(`${place}-${worker}`));
    const child = Bun.spawn(
      [...toTerms(command), "--reporter=junit", `--reporter-outfile=${report}`],
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

/** Of a run that failed outside its tests, which no report has, its own name. */
async function describeFailures(
  { name }: Run,
  place: string,
  { failed }: Counts,
): Promise<string[]> {
  const found = await readFailures(toReport(place));
  const told = found.map((failure) => `failed on ${name}: ${failure}`);
  return failed > found.length ? [...told, `failed: ${name}, outside its tests`] : told;
}

function toReport(place: string): string {
  return `${place}.xml`;
}

/** One for each worker of `test/parallel.ts`. */
function toServers(servers: readonly Server[]): Record<string, string> {
  if (servers.length === 0) return {};
  return { [TEST_SERVERS]: JSON.stringify(servers.map(({ env }) => env)) };
}

async function stop(): Promise<void> {
  const servers = current;
  current = [];
  for (const server of servers) await server.stop();
}

/** Counts as a test where the registry responds; where it does not, that is said, and nothing is counted. */
async function audit(place: string): Promise<void> {
  const found = await auditPackages(place);
  if (found.kind === "clean") totals.passed++;
  if (found.kind === "vulnerable") totals.failed++;
  console.log(`bun audit of ${place}: ${describeAudit(found)}`);
}

/** The bun that runs this, whatever the path finds first. */
function toTerms([, ...words]: string[]): string[] {
  return [process.execPath, ...words];
}

function show({ passed, failed }: Counts): string {
  return `${passed} passed, ${failed} failed`;
}

async function abort(): Promise<never> {
  await stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit(1);
}
