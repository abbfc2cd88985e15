/** Runs the HTTP load against a server, and measures rate and cost. @module */
import { fileURLToPath } from "node:url";
import { type Cpu, countCpu } from "./cpu.ts";
import type { LoadPlan, LoadRequest, LoadResult } from "./load_process.ts";
import type { BenchOptions } from "./options.ts";
import { makeRequests, type Scenario } from "./scenarios.ts";
import type { Server } from "./servers.ts";
import type { Stage } from "./stage.ts";

/** The result of a run. */
export type Run = Cpu & { perSecond: number; p50Ms?: number; p99Ms?: number };
/** A server and the filled database that it serves. */
export type Served = { stage: Stage; server: Server };
/** A server whose database is a PostgreSQL, or in its process. */
type Loaded = { stage?: Stage; server: Server };
type Load = Pick<LoadPlan, "status" | "requests" | "hasKeys">;
export type Lasting = Pick<BenchOptions, "connections" | "seconds">;

const SCRIPT = fileURLToPath(new URL("load_process.ts", import.meta.url));
/** The duration of the run before the rounds, which is not measured. */
const WARM_S = 1.5;

/** @throws {Error} a response had an unexpected status, so the measurement is invalid */
export async function runLoad(
  { stage, server }: Loaded,
  load: Load,
  { connections, seconds }: Lasting,
): Promise<Run> {
  const plan: LoadPlan = { url: server.url, connections, seconds, ...load };
  const stopCounting = countCpu(server.pid, stage?.postmaster);
  const child = Bun.spawn([process.execPath, SCRIPT], {
    stdin: new Blob([JSON.stringify(plan)]),
    stdout: "pipe",
    stderr: "inherit",
  });
  const output = await new Response(child.stdout).text();
  await child.exited;
  const { count, failures, ...result } = JSON.parse(output) as LoadResult;
  if (failures > 0)
    throw new Error(`${failures} of ${count} responses of ${server.url} were not ${plan.status}`);
  const { p50Ms, p99Ms } = result;
  return { perSecond: count / result.seconds, p50Ms, p99Ms, ...stopCounting(count) };
}

/** Warms up the server, and returns a function that runs a kind of request. */
export async function prepareRun(
  served: Served,
  scenario: Scenario,
  lasting: Lasting,
  { hasKeys = false, knowsPages = false }: { hasKeys?: boolean; knowsPages?: boolean } = {},
): Promise<() => Promise<Run>> {
  const drawn = makeRequests(scenario, served.stage);
  const requests = knowsPages ? await addTags(served, drawn) : drawn;
  const load = { status: knowsPages ? 304 : scenario.http.status, requests, hasKeys };
  return prepareLoad(served, load, lasting);
}

/** Warms up the server, and returns a function that runs a load. */
export async function prepareLoad(
  loaded: Loaded,
  load: Load,
  lasting: Lasting,
): Promise<() => Promise<Run>> {
  await runLoad(loaded, load, { ...lasting, seconds: WARM_S });
  return () => runLoad(loaded, load, lasting);
}

/** Adds the tags of callers that already have the pages. */
async function addTags({ server }: Served, requests: LoadRequest[]): Promise<LoadRequest[]> {
  const tags = new Map<string, string>();
  for (const { path, headers } of requests) {
    const page = `${headers["authorization"]} ${path}`;
    if (tags.has(page)) continue;
    const response = await fetch(server.url + path, {
      headers: { ...headers, "accept-encoding": "identity" },
    });
    await response.arrayBuffer();
    tags.set(page, response.headers.get("etag") ?? "");
  }
  return requests.map((request) => {
    const { path, headers } = request;
    const known = tags.get(`${headers["authorization"]} ${path}`) ?? "";
    return { ...request, headers: { ...headers, "if-none-match": known } };
  });
}
