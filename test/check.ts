/**
 * `bun run check`: format, lint, types and the tests of the `check` tier, in parallel. Passes its arguments to the tests and
 * prints the failures last.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readFailures } from "./ci/report.ts";

type Outcome = { name: string; exitCode: number; cpuS: number };

const OUTFILE = "--reporter-outfile=";
const argv = Bun.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "rowhouse-check-"));
const outfile = argv.find((argument) => argument.startsWith(OUTFILE))?.slice(OUTFILE.length);
const report = outfile ?? join(folder, "report.xml");
const reporter = outfile === undefined ? ["--reporter=junit", `${OUTFILE}${report}`] : [];

const children = new Set<Bun.Subprocess>();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    for (const child of children) child.kill(signal);
  });
console.log("check: format, lint, types and tests, in parallel (three to six minutes)");
const outcomes = await Promise.all([
  runQuietly("format and lint", ["run", "lint"]),
  runQuietly("types", ["run", "types"]),
  run("tests", ["test/parallel.ts", "--only-failures", ...reporter, ...argv]),
]);
for (const failure of await readFailures(report)) console.log(`\nfailed: ${failure}`);
rmSync(folder, { recursive: true, force: true });
const seconds = performance.now() / 1000;
const cpuS = outcomes.reduce((sum, outcome) => sum + outcome.cpuS, 0);
console.log(`\n${Math.round(seconds)} s, ${Math.round(cpuS)} s of CPU`);
const failed = outcomes.filter(({ exitCode }) => exitCode !== 0).map(({ name }) => name);
console.log(
  failed.length === 0
    ? `\ncheck passed: ${outcomes.map(({ name }) => name).join(", ")}`
    : `\ncheck failed: ${failed.join(", ")}`,
);
process.exit(failed.length === 0 ? 0 : 1);

async function run(name: string, command: readonly string[]): Promise<Outcome> {
  const child = Bun.spawn([process.execPath, ...command], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  const exitCode = await waitFor(child);
  return { name, exitCode, cpuS: readCpuS(child) };
}

/** Prints the output only if the command failed, and not mixed with the output of other commands. */
async function runQuietly(name: string, command: readonly string[]): Promise<Outcome> {
  const child = Bun.spawn([process.execPath, ...command], { stdio: ["ignore", "pipe", "pipe"] });
  const [out, err, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    waitFor(child),
  ]);
  console.log(exitCode === 0 ? `${name}: passed` : `\n${name}: failed\n${out}${err}`);
  return { name, exitCode, cpuS: readCpuS(child) };
}

/** The CPU time of an ended process, and of its child processes, such as the servers. */
function readCpuS(child: Bun.Subprocess): number {
  return Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
}

async function waitFor(child: Bun.Subprocess): Promise<number> {
  children.add(child);
  const exitCode = await child.exited;
  children.delete(child);
  return exitCode;
}
