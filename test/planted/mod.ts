/**
 * `bun run planted`: plants each error in a copy of the working tree, runs the test that must find it, and restores. Prints what was
 * not found. A test that fails without an error finds nothing. Words select errors by their name or test.
 *
 * @module
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Server, startPostgres15 } from "../ci/servers.ts";
import { TEST_EXTENT } from "../support/tier.ts";
import { ERRORS, type PlantedError } from "./errors.ts";
import { findTexts } from "./texts.ts";

const words = Bun.argv.slice(2);
const errors = ERRORS.filter(
  ({ name, test }) => words.length === 0 || words.some((word) => `${name} ${test}`.includes(word)),
);
const missing = findTexts(errors);
if (missing.length > 0) {
  console.error(`Cannot plant: the text must occur once.\n${missing.join("\n")}`);
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), "rowhouse-planted-"));
let other: Server | undefined;
let child: Bun.Subprocess | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, async () => {
    child?.kill(signal);
    await end();
    process.exit(1);
  });

const lost: string[] = [];
try {
  await copyTree();
  /** What fails without an error, by the test and its server. */
  const failures = new Map<string, string[]>();
  for (const error of errors) {
    const startedAt = performance.now();
    const key = `${error.test} ${error.server ?? ""}`;
    const before = failures.get(key) ?? (await runTest(error));
    failures.set(key, before);
    const found = before.length === 0 ? await plant(error, () => runTest(error)) : [];
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${seconds.padStart(6)} s  ${error.name}`);
    const outcome = found.length > 0 ? `found by: ${found[0]}` : "NOT FOUND";
    const reason = before.length > 0 ? `, fails without the error too: ${before[0]}` : "";
    console.log(`          ${outcome} (${error.test}${reason})`);
    if (found.length === 0) lost.push(error.name);
  }
} finally {
  await end();
}
for (const name of lost) console.log(`Not found: ${name}`);
console.log(`${errors.length} planted, ${errors.length - lost.length} found`);
process.exit(lost.length === 0 ? 0 : 1);

async function end(): Promise<void> {
  await other?.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Copies what Git knows and what it does not ignore. */
async function copyTree(): Promise<void> {
  const listed = await Bun.$`git ls-files --cached --others --exclude-standard`.text();
  const files = listed.split("\n").filter((path) => path !== "" && existsSync(path));
  await Bun.$`tar -c -T - < ${new Response(files.join("\n"))} | tar -x -C ${folder}`.quiet();
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  // Embedded servers run as another user.
  await Bun.$`chmod 755 ${folder}`.quiet();
}

async function plant<Result>(
  { file, text, error }: PlantedError,
  run: () => Promise<Result>,
): Promise<Result> {
  const path = join(folder, file);
  const before = text === undefined ? undefined : readFileSync(path, "utf8");
  writeFileSync(path, before?.split(text ?? "").join(error) ?? error);
  const result = await run();
  if (before === undefined) rmSync(path);
  else writeFileSync(path, before);
  return result;
}

/** The names of the tests that fail, or that the file does not run. */
async function runTest({ test, server }: PlantedError): Promise<string[]> {
  if (server !== undefined) other ??= await startPostgres15();
  const env = server === undefined ? {} : other?.env;
  const run = Bun.spawn([process.execPath, "test", "--timeout", "120000", `./${test}`], {
    cwd: folder,
    env: { ...process.env, ...env, [TEST_EXTENT]: "reduced" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  child = run;
  const [report, exitCode] = await Promise.all([new Response(run.stderr).text(), run.exited]);
  const failed = [...report.matchAll(/^\(fail\) (.*?)(?: \[[\d.]+m?s\])?$/gm)];
  if (exitCode === 0) return [];
  return failed.length > 0 ? failed.map(([, name = ""]) => name) : ["the file does not run"];
}
