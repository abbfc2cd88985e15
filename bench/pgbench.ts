/** Runs pgbench: the rate of the database without a server in front of it. @module */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { countCpu } from "./cpu.ts";
import type { Lasting, Run } from "./load.ts";

/** Debian keeps one folder per major version. */
const FOLDERS = ["18", "17", "16", "15"].map(
  (version) => `/usr/lib/postgresql/${version}/bin/pgbench`,
);

export type PgbenchPlan = Lasting & { url: string; script: string; body: string };

/** Finds the pgbench of this machine. */
export function findPgbench(): string | undefined {
  return Bun.which("pgbench") ?? FOLDERS.find((path) => existsSync(path));
}

/** @throws {Error} pgbench or a transaction failed */
export async function runPgbench(
  pgbench: string,
  { url, script, body, connections, seconds }: PgbenchPlan,
  postmaster: number | undefined,
): Promise<Run> {
  const threads = Math.min(connections, Math.max(1, Math.floor(availableParallelism() / 2)));
  const whole = Math.max(1, Math.round(seconds));
  const flags = `-n -M prepared -c ${connections} -j ${threads} -T ${whole} -f -`.split(" ");
  const stopCounting = countCpu(undefined, postmaster);
  const child = Bun.spawn([pgbench, ...flags, "-D", `body=${body}`, url], {
    stdin: new Blob([script]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`pgbench failed: ${errors.trim()}`);
  const cpu = stopCounting(readNumber(output, /actually processed: (\d+)/));
  return { perSecond: readNumber(output, /tps = ([\d.]+)/), ...cpu };
}

function readNumber(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`pgbench printed no ${pattern.source}`);
  return Number(found);
}
