/** `bench storm`: requests before, while and after connections to the database are killed, and how soon all is well. @module */
import schema from "../../schema/mod.ts";
import { killBackends } from "../storm/kill.ts";
import { type Load, latency, rate, recovery, startLoad } from "../storm/load.ts";
import { clusterUrls } from "../support/cluster.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { median } from "./median.ts";
import type { BenchOptions } from "./options.ts";

export const PHASES = ["before", "during", "after"] as const;
export type Phase = (typeof PHASES)[number];
export type PhaseResult = { perSecond: number; p99Ms: number; refused: number };
export type StormResult = {
  rounds: number;
  seconds: number;
  callers: number;
  pool: number;
  /** Connections killed in a round. */
  killed: number;
  phases: Record<Phase, PhaseResult>;
  duringToBefore: number;
  afterToBefore: number;
  /** Until ten answers in a row are good; the longest of the rounds. */
  recoveryMs: number;
  /** Answers that were somebody else's. */
  foreign: number;
};

const CALLERS = 24;
/** What counts as after begins when connections have been opened again. */
const SETTLE_MS = 1000;

type Round = Record<Phase, PhaseResult> & { killed: number; recoveryMs: number; foreign: number };

export async function benchStorm({ pool, rounds, seconds }: BenchOptions): Promise<StormResult> {
  const service = await openTestService({ connections: pool, shape: "one" });
  try {
    const app = await service.makeApp(schema);
    const made: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      made.push(await storm(service, app, seconds * 1000));
      process.stderr.write(`storm ${round + 1}/${rounds}\n`);
    }
    const compare = (phase: Phase) =>
      median(made.map((round) => round[phase].perSecond / round.before.perSecond));
    return {
      rounds,
      seconds,
      callers: CALLERS,
      pool,
      killed: median(made.map(({ killed }) => killed)),
      phases: {
        before: toMiddle(made, "before"),
        during: toMiddle(made, "during"),
        after: toMiddle(made, "after"),
      },
      duringToBefore: compare("during"),
      afterToBefore: compare("after"),
      recoveryMs: Math.max(...made.map(({ recoveryMs }) => recoveryMs)),
      foreign: made.reduce((sum, { foreign }) => sum + foreign, 0),
    };
  } finally {
    await service.close();
  }
}

async function storm(service: TestService, app: TestApp, ms: number): Promise<Round> {
  const url = clusterUrls()?.admin;
  if (url === undefined) throw new Error("There is no PostgreSQL to hurt");
  const load = startLoad(service, app, CALLERS);
  await Bun.sleep(SETTLE_MS);
  const startedAt = performance.now();
  await Bun.sleep(ms);
  const hurtAt = performance.now();
  const killed = await killBackends({ url, database: service.database.name }, ms);
  const healedAt = performance.now();
  await Bun.sleep(SETTLE_MS + ms);
  const endedAt = performance.now();
  await load.stop();
  return {
    before: readPhase(load, startedAt, hurtAt),
    during: readPhase(load, hurtAt, healedAt),
    after: readPhase(load, healedAt + SETTLE_MS, endedAt),
    killed,
    recoveryMs: recovery(load.book, healedAt),
    foreign: load.book.foreign.length,
  };
}

function readPhase({ book }: Load, from: number, to: number): PhaseResult {
  const refused = book.answers.filter(({ at, isGood }) => !isGood && at >= from && at < to);
  return {
    perSecond: rate(book, from, to),
    p99Ms: latency(book, from, to, 0.99),
    refused: refused.length,
  };
}

function toMiddle(rounds: readonly Round[], phase: Phase): PhaseResult {
  const read = (name: keyof PhaseResult) => median(rounds.map((round) => round[phase][name]));
  return { perSecond: read("perSecond"), p99Ms: read("p99Ms"), refused: read("refused") };
}
