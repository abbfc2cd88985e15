/**
 * `bun run check`: format, lint, types and the tests of the `check` tier, in parallel. Passes its arguments to the tests and
 * prints the failures last. `--changed` runs only the tests of what changed since the branch left main, also in the working tree;
 * `--changed=<rev>` since another commit. `--why` gives the reason for each file.
 *
 * @module
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { readFailures } from "./ci/report.ts";
import { readTexts } from "./house/graph.ts";
import { selectTests } from "./house/selection.ts";
import { listFiles } from "./support/tier.ts";

type Outcome = { name: string; exitCode: number; cpuS: number };

const OUTFILE = "--reporter-outfile=";
const CHANGED = /^--changed(?:=(.+))?$/;
const WHY = "--why";
const argv = Bun.argv.slice(2);
const changed = argv.map((argument) => CHANGED.exec(argument)).find((match) => match !== null);
const options = argv.filter((argument) => argument !== WHY && !CHANGED.test(argument));
const selected = changed === undefined ? [] : await selectChanged(changed?.[1]);
const folder = mkdtempSync(join(tmpdir(), "rowhouse-check-"));
const outfile = argv.find((argument) => argument.startsWith(OUTFILE))?.slice(OUTFILE.length);
const report = outfile ?? join(folder, "report.xml");
const reporter = outfile === undefined ? ["--reporter=junit", `${OUTFILE}${report}`] : [];

const children = new Set<Bun.Subprocess>();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    for (const child of children) child.kill(signal);
  });
console.log("check: format, lint, types and tests, in parallel");
const outcomes = await Promise.all([
  runQuietly("format and lint", ["run", "lint"]),
  runQuietly("types", ["run", "types"]),
  run("tests", ["test/parallel.ts", "--only-failures", ...reporter, ...options, ...selected]),
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

/** Returns the files of tests to run, and says how many and why. */
async function selectChanged(rev: string | undefined): Promise<string[]> {
  const base = rev ?? (await $`git merge-base HEAD main`.text()).trim();
  const [tracked, untracked] = await Promise.all([
    $`git diff --name-only --no-renames ${base} --`.text(),
    $`git ls-files --others --exclude-standard`.text(),
  ]);
  const files = `${tracked}${untracked}`.split("\n").filter((file) => file !== "");
  const tests = (await listFiles("check", [])).map((file) => file.slice("./".length));
  const found = selectTests(files, tests, await readTexts());
  const since = rev ?? `${base.slice(0, 8)}, where the branch left main`;
  console.log(`${files.length} files changed since ${since}`);
  console.log(`${found.size} of ${tests.length} files of tests run; ${WHY} gives the reasons`);
  if (argv.includes(WHY)) for (const [test, reason] of found) console.log(`  ${test}: ${reason}`);
  return [...found.keys()].map((test) => `./${test}`);
}

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
