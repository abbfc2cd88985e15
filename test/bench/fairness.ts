/** `bench fairness`: what an app waits while another floods, with turns by app and with one queue for all. @module */
import {
  FLOOD_OPTIONS,
  type Flooded,
  makeFlood,
  measureFlood,
  p99,
  withOneQueue,
} from "../storm/flood.ts";
import { openTestService } from "../support/service.ts";
import type { BenchOptions } from "./options.ts";
import { show, table, times } from "./print.ts";
import { median, medians, takeTurns } from "./rounds.ts";

type FairnessSide = ReturnType<typeof toSide>;
export type FairnessResult = Awaited<ReturnType<typeof benchFairness>>;

export async function benchFairness(options: BenchOptions) {
  const { pool, rounds, seconds } = options;
  const service = await openTestService({
    connections: pool,
    shape: "one",
    service: FLOOD_OPTIONS,
  });
  try {
    const flood = await makeFlood(service);
    await measureFlood(flood, 1);
    const measure = async () => toSide(await measureFlood(flood, seconds));
    const done = await takeTurns("fairness", rounds, {
      byApp: measure,
      oneQueue: () => withOneQueue(service, measure),
    });
    // Turns by app over one queue, round by round.
    const compare = (figure: keyof FairnessSide) =>
      median(done.map(({ byApp, oneQueue }) => byApp[figure] / oneQueue[figure]));
    return {
      rounds,
      seconds,
      byApp: sumUp(done.map(({ byApp }) => byApp)),
      oneQueue: sumUp(done.map(({ oneQueue }) => oneQueue)),
      getP99Ratio: compare("getP99Ms"),
      listsKept: compare("listsPerSecond"),
    };
  } finally {
    await service.close();
  }
}

function toSide({ gets, lists, seconds, ...failures }: Flooded) {
  const { getFailures, listFailures } = failures;
  const getsPerSecond = gets.length / seconds;
  const listsPerSecond = lists / seconds;
  return { getP99Ms: p99(gets), getsPerSecond, getFailures, listsPerSecond, listFailures };
}

/** Medians, and the failures of all rounds. */
function sumUp(sides: readonly FairnessSide[]): FairnessSide {
  const sum = (figure: keyof FairnessSide) =>
    sides.reduce((total, side) => total + side[figure], 0);
  const [getFailures, listFailures] = [sum("getFailures"), sum("listFailures")];
  return { ...medians(sides), getFailures, listFailures };
}

export function printFairness(result: FairnessResult): string {
  const toRow = (name: string, side: FairnessSide) => [
    name,
    show(side.getP99Ms, 1),
    show(side.getsPerSecond),
    side.getFailures,
    show(side.listsPerSecond),
    side.listFailures,
  ];
  const { getP99Ratio, listsKept } = result;
  const rows = [
    toRow("turns by app", result.byApp),
    toRow("one queue", result.oneQueue),
    ["by app ÷ one queue", times(getP99Ratio), "", "", times(listsKept), ""],
  ];
  const title = "200 lists of 1,000 rows at once beside 5 gets";
  const head = [title, "get p99 ms", "gets/s", "gets rejected", "lists/s", "lists rejected"];
  return `${table(head, rows)}\n\nMedian of ${result.rounds} × ${result.seconds} s, callers and service in one process.`;
}
