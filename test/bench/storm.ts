/** The storm that ends a soak: requests before, while and after connections to the database are killed. @module */
import { killBackends } from "../storm/kill.ts";
import { type Book, latency, rate, recovery, startLoad } from "../storm/load.ts";
import type { Served } from "./load.ts";
import type { BenchOptions } from "./options.ts";
import { show, table, times } from "./print.ts";
import { median, medians } from "./rounds.ts";

const CALLERS = 24;
/** What counts as after begins when connections have been opened again. */
const SETTLE_MS = 1000;

type Round = Awaited<ReturnType<typeof storm>>;
type Phase = "before" | "during" | "after";
export type StormResult = Awaited<ReturnType<typeof measureStorm>>;

export async function measureStorm(served: Served, options: BenchOptions) {
  const { rounds, seconds, pool } = options;
  const made: Round[] = [];
  for (let round = 0; round < rounds; round++) made.push(await storm(served, seconds * 1000));
  const compare = (phase: Phase) =>
    median(made.map((round) => round[phase].perSecond / round.before.perSecond));
  const phase = (name: Phase) => medians(made.map((round) => round[name]));
  return {
    rounds,
    seconds,
    callers: CALLERS,
    pool,
    killed: median(made.map(({ killed }) => killed)),
    phases: { before: phase("before"), during: phase("during"), after: phase("after") },
    duringToBefore: compare("during"),
    afterToBefore: compare("after"),
    recoveryMs: Math.max(...made.map(({ recoveryMs }) => recoveryMs)),
    foreign: made.reduce((sum, { foreign }) => sum + foreign, 0),
  };
}

async function storm({ stage, server }: Served, ms: number) {
  const [app] = stage.apps;
  if (app === undefined) throw new Error("The stage has no app");
  const { book, stop } = startLoad({ url: server.url, table: "tasks" }, app, CALLERS);
  await Bun.sleep(SETTLE_MS);
  const startedAt = performance.now();
  await Bun.sleep(ms);
  const hurtAt = performance.now();
  const { adminUrl: url, name: database } = stage.database;
  const killed = await killBackends({ url, database }, ms);
  const healedAt = performance.now();
  await Bun.sleep(SETTLE_MS + ms);
  const endedAt = performance.now();
  await stop();
  return {
    before: readPhase(book, startedAt, hurtAt),
    during: readPhase(book, hurtAt, healedAt),
    after: readPhase(book, healedAt + SETTLE_MS, endedAt),
    killed,
    /** Until ten answers in a row are good. */
    recoveryMs: recovery(book, healedAt),
    /** Answers that were somebody else's. */
    foreign: book.foreign.length,
  };
}

function readPhase(book: Book, from: number, to: number) {
  const refused = book.answers.filter(({ at, isGood }) => !isGood && at >= from && at < to).length;
  return { perSecond: rate(book, from, to), p99Ms: latency(book, from, to, 0.99), refused };
}

export function printStorm({ phases, ...result }: StormResult): string {
  const row = (phase: Phase, ratio?: number) => {
    const { perSecond, p99Ms, refused } = phases[phase];
    return [phase, show(perSecond), show(p99Ms, 1), refused, times(ratio)];
  };
  const { duringToBefore, afterToBefore } = result;
  const rows = [row("before"), row("during", duringToBefore), row("after", afterToBefore)];
  const head = ["connections killed", "good answers/s", "p99 ms", "refused", "÷ before"];
  const note = `All is well ${show(result.recoveryMs)} ms after the last of ${show(result.killed)} kills (the longest of ${result.rounds} rounds of ${result.seconds} s a phase); ${result.foreign} answers were somebody else's; ${result.callers} callers, a pool of ${result.pool}.`;
  return `${table(head, rows)}\n\n${note}`;
}
