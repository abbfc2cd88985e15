/** pgbench: what the database reaches without a server in front of it. Named as missing where it is not installed. @module */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { countCpu } from "./cpu.ts";
import type { Run } from "./load.ts";
import { percentile } from "./rounds.ts";

/** Debian keeps one folder per major version. */
const FOLDERS = ["18", "17", "16", "15"].map(
  (version) => `/usr/lib/postgresql/${version}/bin/pgbench`,
);
/** The share of transactions that is written down for the percentiles: more would cost what it measures. */
const SAMPLED = 0.05;

export type PgbenchPlan = {
  url: string;
  script: string;
  body: string;
  connections: number;
  seconds: number;
};

/** The pgbench of this machine. */
export function findPgbench(): string | undefined {
  return Bun.which("pgbench") ?? FOLDERS.find((path) => existsSync(path));
}

/** @throws {Error} pgbench failed, or a transaction did */
export async function runPgbench(
  pgbench: string,
  plan: PgbenchPlan,
  postmaster: number | undefined,
): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), "rowhouse-pgbench-"));
  try {
    writeFileSync(join(folder, "script.sql"), plan.script);
    const stopCounting = countCpu(undefined, postmaster);
    const command = [pgbench, ...toFlags(plan), "-f", "script.sql", plan.url];
    const child = Bun.spawn(command, { cwd: folder, stdout: "pipe", stderr: "pipe" });
    const [output, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    if ((await child.exited) !== 0) throw new Error(`pgbench failed: ${errors.trim()}`);
    const cpu = stopCounting(child, readNumber(output, /actually processed: (\d+)/));
    const times = readTimes(folder);
    const [p50Ms, p99Ms] = [percentile(times, 0.5), percentile(times, 0.99)];
    return { perSecond: readNumber(output, /tps = ([\d.]+)/), p50Ms, p99Ms, ...cpu };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function toFlags({ connections, seconds, body }: PgbenchPlan): string[] {
  const threads = Math.min(connections, Math.max(1, Math.floor(availableParallelism() / 2)));
  const whole = Math.max(1, Math.round(seconds));
  const size = `-c ${connections} -j ${threads} -T ${whole}`;
  const flags = `-n -M prepared ${size} --log --sampling-rate=${SAMPLED}`;
  return [...flags.split(" "), "-D", `body=${body}`];
}

/** Milliseconds of the sampled transactions, sorted. */
function readTimes(folder: string): number[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith("pgbench_log"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"))
    .map((line) => Number(line.split(" ")[2]) / 1000)
    .sort((one, other) => one - other);
}

function readNumber(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`pgbench printed no ${pattern.source}`);
  return Number(found);
}
