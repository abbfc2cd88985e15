/**
 * `bench ceiling`: how much of the distance to the call itself is the service's. A get by the service, by the same call
 * behind Bun.serve and nothing else, by the plain way and by pgbench, in turns.
 *
 * @module
 */
import { type Run, runLoad } from "./load.ts";
import { median } from "./median.ts";
import type { BenchOptions } from "./options.ts";
import { findPgbench, runPgbench } from "./pgbench.ts";
import { findPostmaster, pickScenarios, takeMedian } from "./requests.ts";
import { limitScript, makeRequests } from "./scenarios.ts";
import { type Server, startServer } from "./servers.ts";
import { type Stage, withStage } from "./stage.ts";

export const SIDES = ["service", "bare", "plain"] as const;
export type Side = (typeof SIDES)[number];

export type CeilingResult = {
  rounds: number;
  seconds: number;
  connections: number;
  sides: Record<Side, Run>;
  /** The call by pgbench; absent where that is not installed. */
  limit?: Run;
  /** Medians of each round's ratio. */
  serviceToBare: number;
  bareToPlain: number;
  bareToLimit?: number;
};

const WARM_S = 2;

type Round = Record<Side, Run> & { limit: Run | undefined };

export async function benchCeiling(options: BenchOptions): Promise<CeilingResult> {
  return await withStage({ apps: options.apps, rows: options.rows }, async (stage) => {
    const keys = Object.fromEntries(stage.apps.map(({ key, id }) => [`Bearer ${key}`, id]));
    const env = { BENCH_APPS: JSON.stringify(keys) };
    const servers = {
      service: await startServer("service", stage, options),
      bare: await startServer("bare", stage, options, { env }),
      plain: await startServer("plain", stage, options),
    };
    try {
      return await measure(servers, stage, options);
    } finally {
      await Promise.all(SIDES.map((side) => servers[side].stop()));
    }
  });
}

async function measure(
  servers: Readonly<Record<Side, Server>>,
  stage: Stage,
  { rounds, seconds, connections }: BenchOptions,
): Promise<CeilingResult> {
  const [scenario] = pickScenarios(["get"]);
  if (scenario === undefined) throw new Error("There is no scenario get");
  const requests = makeRequests(scenario, stage);
  const postmaster = await findPostmaster(stage);
  const pgbench = findPgbench();
  const run = (side: Side, lasting: number): Promise<Run> => {
    const server = servers[side];
    const plan = { url: server.url, connections, seconds: lasting, status: 200, requests };
    return runLoad(plan, { server, postmaster });
  };
  const script = limitScript(scenario, stage.size);
  const call = { url: stage.database.servingUrl, script, body: "{}", connections, seconds };
  for (const side of SIDES) await run(side, WARM_S);
  const done: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    const service = await run("service", seconds);
    const bare = await run("bare", seconds);
    const plain = await run("plain", seconds);
    const limit = pgbench === undefined ? undefined : await runPgbench(pgbench, call, postmaster);
    done.push({ service, bare, plain, limit });
    process.stderr.write(`ceiling ${round + 1}/${rounds}\n`);
  }
  const middle = (side: Side) => takeMedian(done.map((round) => round[side]));
  return {
    rounds,
    seconds,
    connections,
    sides: { service: middle("service"), bare: middle("bare"), plain: middle("plain") },
    serviceToBare: median(done.map(({ service, bare }) => service.perSecond / bare.perSecond)),
    bareToPlain: median(done.map(({ bare, plain }) => bare.perSecond / plain.perSecond)),
    ...toLimit(done),
  };
}

function toLimit(done: readonly Round[]): Pick<CeilingResult, "limit" | "bareToLimit"> {
  const pairs = done.flatMap(({ bare, limit }) => (limit === undefined ? [] : [{ bare, limit }]));
  if (pairs.length === 0) return {};
  return {
    limit: takeMedian(pairs.map(({ limit }) => limit)),
    bareToLimit: median(pairs.map(({ bare, limit }) => bare.perSecond / limit.perSecond)),
  };
}
