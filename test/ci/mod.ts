/**
 * Runs the parts of `.ci/run`, or with `--full` those of `bun run test:all`: each part has its own servers, and bun's reports
 * give the counts. Prints the time of each part. Ends early, with a sentence, if the parts that remain cannot fit into the time.
 * `--part=…` runs only the parts whose name contains the text.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { TEST_SERVERS } from "../support/cluster.ts";
import { type Extent, TEST_EXTENT } from "../support/tier.ts";
import { AUDITED, auditPackages, describeAudit } from "./audit.ts";
import { type Finished, findOverrun } from "./budget.ts";
import { PARTS, type Part } from "./parts.ts";
import { type Counts, readFailures, readReport } from "./report.ts";
import type { Server } from "./servers.ts";

/** More than cores: tests often wait. */
const WORKERS = 3;
/** Keeps tests from using a server of this machine. */
const NO_SERVER = { ADMIN_DATABASE_URL: "", DATABASE_URL: "" };
/** The machine ends `.ci/run` after 90 minutes, and the release workflow a full run after 240. */
const LIMIT_MINUTES: Readonly<Record<Extent, number>> = { reduced: 85, full: 230 };
const MINUTE_MS = 60_000;

const PART = "--part=";

const extent: Extent = Bun.argv.includes("--full") ? "full" : "reduced";
const wanted = Bun.argv.find((argument) => argument.startsWith(PART))?.slice(PART.length) ?? "";
const parts = PARTS.filter(({ name }) => name.includes(wanted));
const limit = LIMIT_MINUTES[extent];
const startedAt = performance.now();
const folder = mkdtempSync(join(tmpdir(), "rowhouse-ci-"));
await Bun.$`chmod 755 ${folder}`.quiet();
let current: Server[] = [];
let child: Bun.Subprocess | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => void abort(signal));

const totals: Counts = { passed: 0, failed: 0, skipped: 0 };
/** Printed again at the end, because a reader of a long output starts there. */
const failures: string[] = [];
const finished: Finished[] = [];
const times: string[] = [];
for (const [index, part] of parts.entries()) {
  const remaining = parts.slice(index).map(({ forms }) => forms[extent].minutes);
  const overrun = findOverrun({ finished, remaining, elapsed: toMinutes(startedAt), limit });
  if (overrun !== undefined) {
    const names = parts.slice(index).map(({ name }) => name);
    failures.push(`${overrun}. Not run: ${names.join("; ")}`);
    totals.failed++;
    break;
  }
  const path = join(folder, String(index));
  const partStartedAt = performance.now();
  const counts = await perform(part, path);
  const actual = toMinutes(partStartedAt);
  finished.push({ expected: part.forms[extent].minutes, actual });
  const time = `${renderMinutes(actual)} ${part.name} (expected ${renderMinutes(part.forms[extent].minutes)}, load ${loadavg()[0]?.toFixed(1)})`;
  times.push(time);
  console.log(`${part.name}: ${describeCounts(counts)}, ${counts.skipped} skipped\n${time}`);
  failures.push(...(await describeFailures(part, path, counts)));
  for (const key of ["passed", "failed", "skipped"] as const) totals[key] += counts[key];
}
for (const audited of AUDITED) await audit(audited);
rmSync(folder, { recursive: true, force: true });
console.log(`\nMinutes of each part:\n${times.join("\n")}`);
console.log(`${renderMinutes(toMinutes(startedAt))} in total, of at most ${limit}`);
for (const failure of failures) console.log(`\n${failure}`);
if (totals.skipped > 0)
  console.log(`${totals.skipped} tests are skipped: CI allows no skipped tests`);
console.log(describeCounts({ ...totals, failed: totals.failed + totals.skipped }));
process.exit(totals.failed + totals.skipped === 0 ? 0 : 1);

async function perform({ name, start, forms, env }: Part, path: string): Promise<Counts> {
  console.log(`\n=== ${name}`);
  const report = toReport(path);
  try {
    if (start !== undefined)
      for (let worker = 0; worker < WORKERS; worker++) current.push(await start());
    child = Bun.spawn(
      // The Bun of this process, because PATH may contain another version.
      [
        process.execPath,
        ...forms[extent].command,
        "--reporter=junit",
        `--reporter-outfile=${report}`,
      ],
      {
        env: { ...process.env, ...NO_SERVER, ...toServers(current), ...env, [TEST_EXTENT]: extent },
        stdio: ["ignore", "inherit", "inherit"],
      },
    );
    const end = setTimeout(() => endLate(name), (limit - toMinutes(startedAt)) * MINUTE_MS);
    const exitCode = await child.exited;
    clearTimeout(end);
    return await readReport(report, exitCode);
  } finally {
    await stop();
  }
}

function endLate(name: string): void {
  failures.push(`Ended "${name}" after ${limit} minutes of the whole run`);
  child?.kill("SIGTERM");
}

/** Returns the failed tests, and the part's name if it failed outside its tests, which no report contains. */
async function describeFailures(
  { name }: Part,
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

function toMinutes(since: number): number {
  return (performance.now() - since) / MINUTE_MS;
}

function renderMinutes(minutes: number): string {
  const seconds = Math.round(minutes * 60);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function describeCounts({ passed, failed }: Counts): string {
  return `${passed} passed, ${failed} failed`;
}

async function abort(signal: NodeJS.Signals): Promise<never> {
  child?.kill(signal);
  await stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit(1);
}
