/** One run of the HTTP load against a server, with what it cost. @module */
import { fileURLToPath } from "node:url";
import { familySeconds, processSeconds } from "./cpu.ts";
import type { LoadPlan, LoadResult } from "./load_process.ts";
import type { Server } from "./servers.ts";

/** What one run of one contender reached. */
export type Run = {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU seconds a thousand requests; absent where they cannot be read. */
  serverCpu?: number;
  databaseCpu?: number;
  loadCpu?: number;
};

export type Measured = { server: Server; postmaster: number | undefined };

/** @throws {Error} an answer had another status than the plan's: its time means nothing */
export async function runLoad(plan: LoadPlan, { server, postmaster }: Measured): Promise<Run> {
  const before = readSeconds(server.pid, postmaster);
  const script = fileURLToPath(new URL("./load_process.ts", import.meta.url));
  const child = Bun.spawn([process.execPath, script], {
    stdin: new Blob([JSON.stringify(plan)]),
    stdout: "pipe",
    stderr: "inherit",
  });
  const output = await new Response(child.stdout).text();
  await child.exited;
  const after = readSeconds(server.pid, postmaster);
  const result = JSON.parse(output) as LoadResult;
  if (result.failures > 0)
    throw new Error(
      `${result.failures} of ${result.count} answers of ${server.url} were not ${plan.status}`,
    );
  const usage = child.resourceUsage();
  return {
    perSecond: result.count / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    ...aThousand("serverCpu", difference(before.server, after.server), result.count),
    ...aThousand("databaseCpu", difference(before.database, after.database), result.count),
    ...aThousand(
      "loadCpu",
      usage === undefined ? undefined : Number(usage.cpuTime.total) / 1e6,
      result.count,
    ),
  };
}

/** One field with CPU seconds a thousand requests, or none. */
export function aThousand<Name extends string>(
  name: Name,
  seconds: number | undefined,
  count: number,
): { [Key in Name]?: number } {
  if (seconds === undefined || count === 0) return {};
  return { [name]: (seconds / count) * 1000 } as { [Key in Name]: number };
}

export function difference(
  before: number | undefined,
  after: number | undefined,
): number | undefined {
  return before === undefined || after === undefined ? undefined : after - before;
}

function readSeconds(server: number, postmaster: number | undefined) {
  return {
    server: processSeconds(server),
    database: postmaster === undefined ? undefined : familySeconds(postmaster),
  };
}
