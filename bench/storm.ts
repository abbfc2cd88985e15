/** The end of a soak: requests before, during and after kills of database connections. @module */
import { killBackends } from "../test/storm/kill.ts";
import { type LoadRecord, latency, rate, recovery, startLoad } from "../test/storm/load.ts";
import type { Served } from "./load.ts";
import { show, table } from "./print.ts";

const CALLERS = 24;
/** The time to reconnect, before the phase "after" starts. */
const SETTLE_MS = 1000;

type Phase = ReturnType<typeof readPhase>;
export type KillsResult = Awaited<ReturnType<typeof measureKills>>;

/** Measures phases of this many seconds each. */
export async function measureKills({ stage, server }: Served, seconds: number) {
  const [app] = stage.apps;
  if (app === undefined) throw new Error("The stage has no app");
  const { adminUrl: url, name: database } = stage.database;
  const { record, stop } = startLoad({ url: server.url, table: "tasks" }, app, CALLERS);
  await Bun.sleep(SETTLE_MS);
  const startedAt = performance.now();
  await Bun.sleep(seconds * 1000);
  const killedAt = performance.now();
  const killed = await killBackends({ url, database }, seconds * 1000);
  const healedAt = performance.now();
  await Bun.sleep(SETTLE_MS + seconds * 1000);
  const endedAt = performance.now();
  await stop();
  const before = readPhase(record, startedAt, killedAt);
  const during = readPhase(record, killedAt, healedAt);
  const after = readPhase(record, healedAt + SETTLE_MS, endedAt);
  const phases = { before, during, after };
  /** `recoveryMs`: until ten consecutive responses are good. `foreign`: responses that belonged to other callers. */
  const found = { killed, recoveryMs: recovery(record, healedAt), foreign: record.foreign.length };
  return { seconds, callers: CALLERS, phases, ...found };
}

function readPhase(record: LoadRecord, from: number, to: number) {
  const rejected = record.responses.filter(
    ({ at, isGood }) => !isGood && at >= from && at < to,
  ).length;
  return { perSecond: rate(record, from, to), p99Ms: latency(record, from, to, 0.99), rejected };
}

export function printKills({ phases, ...result }: KillsResult): string {
  const rows = Object.entries<Phase>(phases).map(([phase, { perSecond, p99Ms, rejected }]) => [
    phase,
    show(perSecond),
    show(p99Ms, 1),
    rejected,
  ]);
  const lines = table(["connections killed", "good responses/s", "p99 ms", "rejected"], rows);
  const { killed, seconds, recoveryMs, foreign, callers } = result;
  return `${lines}\n\nRecovered ${show(recoveryMs)} ms after the last of ${show(killed)} kills in ${seconds} s; ${foreign} responses belonged to other callers; ${callers} callers.`;
}
