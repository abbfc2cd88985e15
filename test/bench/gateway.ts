/**
 * `bun test/bench/gateway.ts`: what a house in processes of their own costs. A get by one process, by gateway and data
 * service, and by the same two with signatures taken out; in turns, so that a busy moment of the machine hits all alike.
 *
 * @module
 */
import { type Run, runLoad } from "./load.ts";
import { median } from "./median.ts";
import { type BenchOptions, readOptions } from "./options.ts";
import { pickScenarios } from "./requests.ts";
import { makeRequests } from "./scenarios.ts";
import { type Server, startServer } from "./servers.ts";
import { type Stage, withCluster, withStage } from "./stage.ts";

const SECRET = "a secret of the bench - 32 bytes or more";
const UNSIGNED = new URL("./unsigned.ts", import.meta.url).pathname;
const SHAPES = ["one", "split", "unsigned"] as const;
type Shape = (typeof SHAPES)[number];
type Served = { url: string; pid: number; servers: readonly Server[] };

async function startShape(shape: Shape, stage: Stage, options: BenchOptions): Promise<Served> {
  const flags = shape === "unsigned" ? ["--preload", UNSIGNED] : [];
  const start = (env: Record<string, string>) =>
    startServer("house", stage, options, { flags, env: { ...env, BENCH_SECRET: SECRET } });
  if (shape === "one") {
    const house = await start({});
    return { ...house, servers: [house] };
  }
  const data = await start({ BENCH_ROLE: "data" });
  const gateway = await start({ BENCH_ROLE: "gateway", BENCH_DATA_URL: data.url });
  return { ...gateway, servers: [gateway, data] };
}

async function benchGateway(options: BenchOptions): Promise<string> {
  return await withStage({ apps: options.apps, rows: options.rows }, async (stage) => {
    const [scenario] = pickScenarios(["get"]);
    if (scenario === undefined) throw new Error("There is no scenario get");
    const requests = makeRequests(scenario, stage);
    const served = new Map<Shape, Served>();
    for (const shape of SHAPES) served.set(shape, await startShape(shape, stage, options));
    const run = async (shape: Shape, seconds: number): Promise<Run> => {
      const server = served.get(shape)?.servers[0];
      if (server === undefined) throw new Error(`${shape} does not run`);
      const { connections } = options;
      const plan = { url: server.url, connections, seconds, status: scenario.status, requests };
      return await runLoad(plan, { server, postmaster: undefined });
    };
    try {
      const rounds: Record<Shape, Run>[] = [];
      for (const shape of SHAPES) await run(shape, 1.5);
      for (let round = 0; round < options.rounds; round++) {
        const [one, split, unsigned] = [
          await run("one", options.seconds),
          await run("split", options.seconds),
          await run("unsigned", options.seconds),
        ];
        rounds.push({ one, split, unsigned });
      }
      return toText(rounds);
    } finally {
      for (const { servers } of served.values())
        await Promise.all(servers.map((server) => server.stop()));
    }
  });
}

/** Ratios are medians of rounds: rounds are pairs, so a slow minute cancels out. */
function toText(rounds: readonly Record<Shape, Run>[]): string {
  const lines = SHAPES.map((shape) => {
    const perSecond = median(rounds.map((runs) => runs[shape].perSecond));
    const p99 = median(rounds.map((runs) => runs[shape].p99Ms));
    return `${shape.padEnd(10)} ${perSecond.toFixed(0).padStart(7)} requests/s   p99 ${p99.toFixed(1)} ms`;
  });
  const ratio = (of: Shape, to: Shape) =>
    median(rounds.map((runs) => runs[of].perSecond / runs[to].perSecond)).toFixed(2);
  lines.push(`split / one        ${ratio("split", "one")}   (wanted: 0.60 with a core each)`);
  lines.push(`split / unsigned   ${ratio("split", "unsigned")}   (wanted: 0.90)`);
  return lines.join("\n");
}

const options = readOptions(process.argv.slice(2));
console.log(await withCluster(() => benchGateway(options)));
