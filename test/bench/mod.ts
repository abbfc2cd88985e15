/** `bun run bench`: reads the command line, runs one bench, prints or saves what it found. @module */

import { benchAdmission } from "./admission.ts";
import { benchCeiling } from "./ceiling.ts";
import { benchFairness } from "./fairness.ts";
import { benchGateway } from "./gateway.ts";
import { benchGrowth } from "./growth.ts";
import { benchIdentity } from "./identity.ts";
import { type BenchOptions, readOptions, USAGE } from "./options.ts";
import { printGrowth, printPush, printRequests, printStart } from "./print.ts";
import {
  printAdmission,
  printCeiling,
  printFairness,
  printGateway,
  printIdentity,
  printSoak,
  printStorm,
} from "./print_limits.ts";
import { benchPush } from "./push.ts";
import { writeReadme } from "./readme.ts";
import { benchRequests } from "./requests.ts";
import { type Part, saveResult } from "./results.ts";
import { benchSoak } from "./soak.ts";
import { withCluster } from "./stage.ts";
import { benchStart } from "./start.ts";
import { benchStorm } from "./storm.ts";

/** How a command runs, and its result as text. */
function bench<Result>(
  run: (options: BenchOptions) => Promise<Result>,
  print: (result: Result) => string,
): (options: BenchOptions) => Promise<{ result: unknown; text: string }> {
  return async (options) => {
    const result = await withCluster(() => run(options));
    return { result, text: print(result) };
  };
}

const BENCHES: Readonly<Record<Part, ReturnType<typeof bench>>> = {
  requests: bench(benchRequests, printRequests),
  growth: bench(benchGrowth, printGrowth),
  push: bench(benchPush, printPush),
  start: bench(benchStart, printStart),
  ceiling: bench(benchCeiling, printCeiling),
  identity: bench(benchIdentity, printIdentity),
  gateway: bench(benchGateway, printGateway),
  fairness: bench(benchFairness, printFairness),
  admission: bench(benchAdmission, printAdmission),
  storm: bench(benchStorm, printStorm),
  soak: bench(benchSoak, printSoak),
};

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options.command === "readme") return void console.log(writeReadme());
  const { result, text } = await BENCHES[options.command](options);
  console.log(options.json ? JSON.stringify(result, null, 2) : text);
  if (options.save) {
    const date = new Date().toISOString().slice(0, 10);
    console.error(`Saved in ${saveResult(date, options.command, result)}`);
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.error(USAGE);
  process.exitCode = 1;
}
