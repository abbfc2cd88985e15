/** pgbench: what the database reaches without a server in front of it. Named as missing where it is not installed. @module */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { familySeconds } from "./cpu.ts";
import { aThousand, difference, type Run } from "./load.ts";
import { percentile } from "./median.ts";

/** Debian keeps one folder a major version. */
const FOLDERS = ["18", "17", "16", "15"].map(
  (version) => `/usr/lib/postgresql/${version}/bin/pgbench`,
);
/** Every twentieth transaction is written down for the percentiles: more would cost what it measures. */
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
    const file = join(folder, "script.sql");
    writeFileSync(file, plan.script);
    const before = postmaster === undefined ? undefined : familySeconds(postmaster);
    const output = await runProcess([pgbench, ...flags(plan), "-f", file, plan.url], folder);
    const after = postmaster === undefined ? undefined : familySeconds(postmaster);
    const times = readTimes(folder);
    return {
      perSecond: readNumber(output.text, /tps = ([\d.]+)/),
      p50Ms: percentile(times, 0.5),
      p99Ms: percentile(times, 0.99),
      ...aThousand("databaseCpu", difference(before, after), output.count),
      ...aThousand("loadCpu", output.cpuSeconds, output.count),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function flags({ connections, seconds, body }: PgbenchPlan): string[] {
  const threads = Math.min(connections, Math.max(1, Math.floor(availableParallelism() / 2)));
  const variables = ["-D", `body=${body}`];
  const log = ["--log", `--sampling-rate=${SAMPLED}`];
  const whole = String(Math.max(1, Math.round(seconds)));
  return [
    "-n",
    "-M",
    "prepared",
    "-c",
    String(connections),
    "-j",
    String(threads),
    "-T",
    whole,
    ...log,
    ...variables,
  ];
}

async function runProcess(command: string[], cwd: string) {
  const child = Bun.spawn(command, { cwd, stdout: "pipe", stderr: "pipe" });
  const [text, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const code = await child.exited;
  const usage = child.resourceUsage();
  if (code !== 0) throw new Error(`pgbench failed: ${errors.trim()}`);
  const count = readNumber(text, /actually processed: (\d+)/);
  return {
    text,
    count,
    cpuSeconds: usage === undefined ? undefined : Number(usage.cpuTime.total) / 1e6,
  };
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
