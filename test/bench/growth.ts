/** `bench growth`: get and list over more apps and over more rows in one table; both should stay flat. @module */
import { type Run, runLoad } from "./load.ts";
import { median } from "./median.ts";
import type { Size } from "./names.ts";
import type { BenchOptions } from "./options.ts";
import { findPostmaster, pickScenarios, takeMedian } from "./requests.ts";
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

type Bench = { stage: Stage; server: Server; postmaster: number | undefined };

export async function benchGrowth(options: BenchOptions): Promise<GrowthResult> {
  const [smallest, ...larger] = SIZES;
  if (smallest === undefined) throw new Error("There is no size");
  return withBench(smallest, options, async (first) => {
    const sizes = [await benchSize(first, first, options)];
    for (const size of larger) {
      if (size.full && !options.full) continue;
      sizes.push(await withBench(size, options, (other) => benchSize(first, other, options)));
    }
    return { connections: options.connections, sizes };
  });
}

/** Runs `use` with a filled stage and a service that serves it. */
async function withBench<Result>(
  size: Size,
  options: BenchOptions,
  use: (bench: Bench) => Promise<Result>,
): Promise<Result> {
  return withStage(size, async (stage) => {
    const server = await startServer("service", stage, options);
    try {
      return await use({ stage, server, postmaster: await findPostmaster(stage) });
    } finally {
      await server.stop();
    }
  });
}

/** A size's figures; its get in turns with the first size's, so that a busy moment of the machine hits both. */
async function benchSize(first: Bench, other: Bench, options: BenchOptions): Promise<GrowthSize> {
  const [get, list] = pickScenarios(["get", "list-100"]);
  if (get === undefined || list === undefined) throw new Error("get and list-100 are no scenarios");
  for (const bench of [first, other]) await runOn(bench, get, { ...options, seconds: WARM_S });
  const rounds: { get: Run; list: Run; ratio: number }[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const base = await runOn(first, get, options);
    const run = await runOn(other, get, options);
    const listed = await runOn(other, list, options);
    rounds.push({ get: run, list: listed, ratio: run.perSecond / base.perSecond });
  }
  const { apps, rows } = other.stage.size;
  process.stderr.write(`${apps} apps, ${apps * rows} rows\n`);
  return {
    apps,
    rows: apps * rows,
    get: takeMedian(rounds.map((round) => round.get)),
    list: takeMedian(rounds.map((round) => round.list)),
    getRatio: median(rounds.map((round) => round.ratio)),
  };
}

function runOn(
  { stage, server, postmaster }: Bench,
  scenario: Scenario,
  { connections, seconds }: Pick<BenchOptions, "connections" | "seconds">,
): Promise<Run> {
  const requests = makeRequests(scenario, stage);
  const plan = { url: server.url, connections, seconds, status: scenario.status, requests };
  return runLoad(plan, { server, postmaster });
}
