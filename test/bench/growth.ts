/** `bench growth`: get and list over more apps and over more rows in one table; both should stay flat. @module */
import { type Run, runLoad } from "./load.ts";
import type { Size } from "./names.ts";
import type { BenchOptions } from "./options.ts";
import { findPostmaster, medianRun, pickScenarios } from "./requests.ts";
import { makeRequests, type Scenario } from "./scenarios.ts";
import { type Server, startServer } from "./servers.ts";
import { type Stage, withStage } from "./stage.ts";

export type GrowthSize = { apps: number; rows: number; get: Run; list: Run; getRatio: number };
export type GrowthResult = { connections: number; sizes: GrowthSize[] };

/** More apps first, then more rows. */
const SIZES: readonly (Size & { full?: true })[] = [
  { apps: 100, rows: 100 },
  { apps: 1000, rows: 100 },
  { apps: 10_000, rows: 100 },
  { apps: 100, rows: 1000 },
  { apps: 100, rows: 10_000 },
  { apps: 100, rows: 100_000, full: true },
];
const WARM_S = 2;

export async function benchGrowth(options: BenchOptions): Promise<GrowthResult> {
  const sizes: GrowthSize[] = [];
  for (const size of SIZES) {
    if (size.full && !options.full) continue;
    const { get, list } = await withStage(size, (stage) => benchSize(stage, options));
    const first = sizes[0]?.get.perSecond ?? get.perSecond;
    sizes.push({
      apps: size.apps,
      rows: size.apps * size.rows,
      get,
      list,
      getRatio: get.perSecond / first,
    });
    process.stderr.write(`${size.apps} apps, ${size.apps * size.rows} rows\n`);
  }
  return { connections: options.connections, sizes };
}

async function benchSize(stage: Stage, options: BenchOptions): Promise<{ get: Run; list: Run }> {
  const server = await startServer("house", stage, options);
  try {
    const postmaster = await findPostmaster(stage);
    const measured = { server, postmaster };
    const [get, list] = pickScenarios(["get", "list-100"]);
    if (get === undefined || list === undefined)
      throw new Error("get and list-100 are no scenarios");
    return {
      get: await benchOne(stage, { ...options, scenario: get }, measured),
      list: await benchOne(stage, { ...options, scenario: list }, measured),
    };
  } finally {
    await server.stop();
  }
}

async function benchOne(
  stage: Stage,
  { scenario, rounds, seconds, connections }: BenchOptions & { scenario: Scenario },
  measured: { server: Server; postmaster: number | undefined },
): Promise<Run> {
  const plan = () => ({
    url: measured.server.url,
    connections,
    status: scenario.status,
    requests: makeRequests(scenario, stage),
  });
  await runLoad({ ...plan(), seconds: WARM_S }, measured);
  const runs: Run[] = [];
  for (let round = 0; round < rounds; round++)
    runs.push(await runLoad({ ...plan(), seconds }, measured));
  const run = medianRun(runs);
  if (run === undefined) throw new Error("No round was run");
  return run;
}
