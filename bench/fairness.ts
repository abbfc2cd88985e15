/**
 * `bench fairness`: an app's latency during another app's flood. Lists with one queue per app or one for all apps; creates with
 * and without groups.
 *
 * @module
 */
import {
  FLOOD_OPTIONS,
  type Flood,
  type Flooded,
  makeFlood,
  measureFlood,
  p99,
  withOneQueue,
  withoutGroups,
} from "../test/storm/flood.ts";
import { openTestService } from "../test/support/service.ts";
import type { BenchOptions } from "./options.ts";
import { show, table, times } from "./print.ts";
import { alternate, median, medians } from "./rounds.ts";

type FairnessSide = ReturnType<typeof toSide>;
type CreatesResult = Awaited<ReturnType<typeof benchCreates>>;
/** Older saved results have no creates. */
export type FairnessResult = Omit<Awaited<ReturnType<typeof benchFairness>>, "creates"> & {
  creates?: CreatesResult;
};

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
    const done = await alternate("fairness", rounds, {
      byApp: measure,
      oneQueue: () => withOneQueue(service, measure),
    });
    // The ratio of queues by app to one queue, per round.
    const compare = (figure: keyof FairnessSide) =>
      median(done.map(({ byApp, oneQueue }) => byApp[figure] / oneQueue[figure]));
    return {
      rounds,
      seconds,
      byApp: sumUp(done.map(({ byApp }) => byApp)),
      oneQueue: sumUp(done.map(({ oneQueue }) => oneQueue)),
      getP99Ratio: compare("getP99Ms"),
      listsKept: compare("listsPerSecond"),
      creates: await benchCreates(flood, options),
    };
  } finally {
    await service.close();
  }
}

/** Compares creates in groups with separate creates, per round. */
async function benchCreates(flood: Flood, { rounds, seconds }: BenchOptions) {
  const measure = async () => toSide(await measureFlood(flood, seconds, { creates: true }));
  const done = await alternate("creates", rounds, {
    grouped: measure,
    single: () => withoutGroups(flood.service, measure),
  });
  const compare = (figure: keyof FairnessSide) =>
    median(done.map(({ grouped, single }) => grouped[figure] / single[figure]));
  return {
    grouped: sumUp(done.map(({ grouped }) => grouped)),
    single: sumUp(done.map(({ single }) => single)),
    p99Ratio: compare("getP99Ms"),
    rateRatio: compare("listsPerSecond"),
  };
}

function toSide({ gets, lists, seconds, ...failures }: Flooded) {
  const { getFailures, listFailures } = failures;
  const getsPerSecond = gets.length / seconds;
  const listsPerSecond = lists / seconds;
  return { getP99Ms: p99(gets), getsPerSecond, getFailures, listsPerSecond, listFailures };
}

/** Returns the medians, and the total failures of all rounds. */
function sumUp(sides: readonly FairnessSide[]): FairnessSide {
  const sum = (figure: keyof FairnessSide) =>
    sides.reduce((total, side) => total + side[figure], 0);
  const [getFailures, listFailures] = [sum("getFailures"), sum("listFailures")];
  return { ...medians(sides), getFailures, listFailures };
}

export function printFairness(result: FairnessResult): string {
  const { getP99Ratio, listsKept, creates } = result;
  const title = "200 concurrent lists of 1,000 rows with 5 gets";
  const heads = ["get p99 ms", "gets/s", "gets rejected", "lists/s", "lists rejected"];
  const lists = table(
    [title, ...heads],
    [
      toRow("turns by app", result.byApp),
      toRow("one queue", result.oneQueue),
      ["by app ÷ one queue", times(getP99Ratio), "", "", times(listsKept), ""],
    ],
  );
  const floods = creates === undefined ? [] : [printCreates(creates)];
  const conditions = `Median of ${result.rounds} × ${result.seconds} s, callers and service in one process.`;
  return [lists, ...floods, conditions].join("\n\n");
}

function printCreates({ grouped, single, p99Ratio, rateRatio }: CreatesResult): string {
  const title = "200 concurrent creates with 5 of another app";
  const heads = ["other's p99 ms", "other's/s", "rejected", "creates/s", "rejected"];
  return table(
    [title, ...heads],
    [
      toRow("in groups", grouped),
      toRow("each separately", single),
      ["in groups ÷ separately", times(p99Ratio), "", "", times(rateRatio), ""],
    ],
  );
}

function toRow(name: string, side: FairnessSide) {
  return [
    name,
    show(side.getP99Ms, 1),
    show(side.getsPerSecond),
    side.getFailures,
    show(side.listsPerSecond),
    side.listFailures,
  ];
}
