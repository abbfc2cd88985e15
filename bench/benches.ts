/** Every bench, with the function that prints its result. @module */
import { benchCommands, printCommands } from "./commands.ts";
import { benchFairness, printFairness } from "./fairness.ts";
import { benchGateway, printGateway } from "./gateway.ts";
import { benchGrowth, printGrowth } from "./growth.ts";
import { benchHistory, printHistory } from "./history.ts";
import { benchIdentity, printIdentity } from "./identity.ts";
import { benchLive, printLive } from "./live.ts";
import { benchLiveSoak, printLiveSoak } from "./live_soak.ts";
import type { BenchOptions, Part } from "./options.ts";
import { benchPeople, printPeople } from "./people.ts";
import { benchQueries, printQueries } from "./queries.ts";
import { benchRequests, printRequests } from "./requests.ts";
import { benchSoak, printSoak } from "./soak.ts";
import { benchTables, printTables } from "./tables.ts";
import { benchUnindexed, printUnindexed } from "./unindexed.ts";
import { benchWeights, printWeights } from "./weights.ts";

export type Bench = {
  run: (options: BenchOptions) => Promise<unknown>;
  /** Renders a new or saved result. */
  print: (result: unknown) => string;
};

/** In the order of the figures. */
export const BENCHES: Readonly<Record<Part, Bench>> = {
  requests: pair(benchRequests, printRequests),
  growth: pair(benchGrowth, printGrowth),
  queries: pair(benchQueries, printQueries),
  people: pair(benchPeople, printPeople),
  identity: pair(benchIdentity, printIdentity),
  gateway: pair(benchGateway, printGateway),
  fairness: pair(benchFairness, printFairness),
  soak: pair(benchSoak, printSoak),
  tables: pair(benchTables, printTables),
  weights: pair(benchWeights, printWeights),
  history: pair(benchHistory, printHistory),
  live: pair(benchLive, printLive),
  "live-soak": pair(benchLiveSoak, printLiveSoak),
  commands: pair(benchCommands, printCommands),
  unindexed: pair(benchUnindexed, printUnindexed),
};

function pair<Result>(
  run: (options: BenchOptions) => Promise<Result>,
  print: (result: Result) => string,
): Bench {
  return { run, print: (result) => print(result as Result) };
}
