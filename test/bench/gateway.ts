/**
 * `bench gateway`: what a service in processes of their own costs. A get by one process, by gateway and data service,
 * and by the same two with signatures taken out; in turns, so that a busy moment of the machine hits all alike.
 *
 * @module
 */
import { type Run, runLoad } from "./load.ts";
import { median } from "./median.ts";
import type { BenchOptions } from "./options.ts";
import { pickScenarios, takeMedian } from "./requests.ts";
import { makeRequests } from "./scenarios.ts";
import { type Server, startServer } from "./servers.ts";
import { type Stage, withStage } from "./stage.ts";

export const SHAPES = ["one", "split", "unsigned"] as const;
export type Shape = (typeof SHAPES)[number];

export type GatewayResult = {
  rounds: number;
  seconds: number;
  connections: number;
  shapes: Record<Shape, Run>;
  /** Medians of each round's ratio: rounds are pairs, so a slow minute cancels out. */
  splitToOne: number;
  signedToUnsigned: number;
};

const SECRET = "a secret of the bench - 32 bytes or more";
const UNSIGNED = new URL("./unsigned.ts", import.meta.url).pathname;
const WARM_S = 1.5;

type Served = { face: Server; servers: readonly Server[] };

export async function benchGateway(options: BenchOptions): Promise<GatewayResult> {
  return await withStage({ apps: options.apps, rows: options.rows }, async (stage) => {
    const started: Server[] = [];
    try {
      const start = async (shape: Shape): Promise<Server> => {
        const { face, servers } = await startShape(shape, stage, options);
        started.push(...servers);
        return face;
      };
      const faces = {
        one: await start("one"),
        split: await start("split"),
        unsigned: await start("unsigned"),
      };
      return await measure(faces, stage, options);
    } finally {
      await Promise.all(started.map((server) => server.stop()));
    }
  });
}

async function startShape(shape: Shape, stage: Stage, options: BenchOptions): Promise<Served> {
  const flags = shape === "unsigned" ? ["--preload", UNSIGNED] : [];
  const start = (env: Record<string, string>) =>
    startServer("service", stage, options, { flags, env: { ...env, BENCH_SECRET: SECRET } });
  if (shape === "one") {
    const service = await start({});
    return { face: service, servers: [service] };
  }
  const data = await start({ BENCH_ROLE: "data" });
  const gateway = await start({ BENCH_ROLE: "gateway", BENCH_DATA_URL: data.url });
  return { face: gateway, servers: [gateway, data] };
}

async function measure(
  faces: Readonly<Record<Shape, Server>>,
  stage: Stage,
  { rounds, seconds, connections }: BenchOptions,
): Promise<GatewayResult> {
  const requests = pickScenarios(["get"]).flatMap((scenario) => makeRequests(scenario, stage));
  const run = (shape: Shape, lasting: number): Promise<Run> => {
    const server = faces[shape];
    const plan = { url: server.url, connections, seconds: lasting, status: 200, requests };
    return runLoad(plan, { server, postmaster: undefined });
  };
  for (const shape of SHAPES) await run(shape, WARM_S);
  const runs: Record<Shape, Run>[] = [];
  for (let round = 0; round < rounds; round++) {
    const one = await run("one", seconds);
    const split = await run("split", seconds);
    runs.push({ one, split, unsigned: await run("unsigned", seconds) });
    process.stderr.write(`gateway ${round + 1}/${rounds}\n`);
  }
  const middle = (shape: Shape) => takeMedian(runs.map((round) => round[shape]));
  return {
    rounds,
    seconds,
    connections,
    shapes: { one: middle("one"), split: middle("split"), unsigned: middle("unsigned") },
    splitToOne: median(runs.map(({ one, split }) => split.perSecond / one.perSecond)),
    signedToUnsigned: median(
      runs.map(({ split, unsigned }) => split.perSecond / unsigned.perSecond),
    ),
  };
}
