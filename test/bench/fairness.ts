/** `bench fairness`: what an app waits while another floods, with turns by app and with one queue for all, in turns. @module */

import { type Flooded, makeFlood, measureFlood, p99, withOneQueue } from "../storm/flood.ts";
import { openTestService } from "../support/service.ts";
import { median } from "./median.ts";
import type { BenchOptions } from "./options.ts";

export type FairnessSide = {
  getP99Ms: number;
  getsPerSecond: number;
  /** Gets that were refused, of all rounds. */
  getFailures: number;
  listsPerSecond: number;
  listFailures: number;
};
export type FairnessResult = {
  rounds: number;
  seconds: number;
  byApp: FairnessSide;
  oneQueue: FairnessSide;
  /** Medians of each round's ratio, with turns by app over one queue. */
  getP99Ratio: number;
  listsKept: number;
};

export async function benchFairness({
  pool,
  rounds,
  seconds,
}: BenchOptions): Promise<FairnessResult> {
  const service = await openTestService({ connections: pool, shape: "one" });
  try {
    const flood = await makeFlood(service);
    await measureFlood(flood, 1);
    const pairs: { fair: Flooded; unfair: Flooded }[] = [];
    for (let round = 0; round < rounds; round++) {
      const fair = await measureFlood(flood, seconds);
      const unfair = await withOneQueue(service, () => measureFlood(flood, seconds));
      pairs.push({ fair, unfair });
      process.stderr.write(`fairness ${round + 1}/${rounds}\n`);
    }
    return {
      rounds,
      seconds,
      byApp: toSide(pairs.map(({ fair }) => fair)),
      oneQueue: toSide(pairs.map(({ unfair }) => unfair)),
      getP99Ratio: median(pairs.map(({ fair, unfair }) => p99(fair.gets) / p99(unfair.gets))),
      listsKept: median(pairs.map(({ fair, unfair }) => fair.lists / unfair.lists)),
    };
  } finally {
    await service.close();
  }
}

function toSide(rounds: readonly Flooded[]): FairnessSide {
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    getP99Ms: median(rounds.map(({ gets }) => p99(gets))),
    getsPerSecond: median(rounds.map(({ gets, seconds }) => gets.length / seconds)),
    getFailures: sum(rounds.map(({ getFailures }) => getFailures)),
    listsPerSecond: median(rounds.map(({ lists, seconds }) => lists / seconds)),
    listFailures: sum(rounds.map(({ listFailures }) => listFailures)),
  };
}
