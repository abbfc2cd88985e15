/** `bench gateway`: the cost of separate processes: a get by gateway and data service, and by one process. @module */
import { type Comparison, compare, printComparison } from "./compare.ts";
import { prepareRun } from "./load.ts";
import type { BenchOptions } from "./options.ts";
import { findScenario } from "./scenarios.ts";
import { startServer } from "./servers.ts";
import { withStage } from "./stage.ts";

const SECRET = { BENCH_SECRET: "a secret of the bench - 32 bytes or more" };

export async function benchGateway(options: BenchOptions): Promise<Comparison> {
  return await withStage(options, async (stage) => {
    const start = (env = {}) =>
      startServer("service", stage, options, { env: { ...SECRET, ...env } });
    await using single = await start();
    await using data = await start({ BENCH_ROLE: "data" });
    await using gateway = await start({ BENCH_ROLE: "gateway", BENCH_DATA_URL: data.url });
    const prepare = (server: typeof single) =>
      prepareRun({ stage, server }, findScenario("get"), options);
    const sides = {
      "gateway and data service": await prepare(gateway),
      "one process": await prepare(single),
    };
    return await compare("gateway", sides, options);
  });
}

export function printGateway(result: Comparison): string {
  return printComparison("get one row by", result);
}
