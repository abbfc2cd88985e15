/** Compares runs of several servers: medians, and the ratio of the first to each other. @module */
import type { Lasting, Run } from "./load.ts";
import { show, table, times } from "./print.ts";
import { alternate, median, medians } from "./rounds.ts";

/** Values by the names in the tables. */
export type Sides<Value> = Readonly<Record<string, Value>>;
export type Comparison = Lasting & {
  rounds: number;
  sides: Sides<Run>;
  /** The median of first ÷ other per round. A slow minute affects both sides of a round. */
  ratios: Sides<number>;
};

export async function compare(
  name: string,
  sides: Sides<() => Promise<Run>>,
  { rounds, seconds, connections }: Lasting & { rounds: number },
): Promise<Comparison> {
  const found = await alternate(name, rounds, sides);
  const [first = "", ...others] = Object.keys(sides);
  const runsOf = (side: string) => found.flatMap((round) => round[side] ?? []);
  const rateOf = (round: Sides<Run>, side: string) => round[side]?.perSecond ?? Number.NaN;
  const ratioTo = (other: string) =>
    median(found.map((round) => rateOf(round, first) / rateOf(round, other)));
  return {
    rounds,
    seconds,
    connections,
    sides: Object.fromEntries([first, ...others].map((side) => [side, medians(runsOf(side))])),
    ratios: Object.fromEntries(others.map((side) => [side, ratioTo(side)])),
  };
}

/**
 * Returns the CPU time per request of one side divided by another's, server and database together; `undefined` if a side has no
 * measurement. More reliable than rates if other programs use the machine.
 */
export function compareCpu(
  sides: Sides<Run>,
  side: string,
  other: string | undefined,
): number | undefined {
  const cpuOf = ({ serverCpu, databaseCpu }: Partial<Run> = {}) =>
    serverCpu === undefined || databaseCpu === undefined ? undefined : serverCpu + databaseCpu;
  const [cpu, otherCpu] = [cpuOf(sides[side]), cpuOf(sides[other ?? ""])];
  return cpu === undefined || otherCpu === undefined ? undefined : cpu / otherCpu;
}

/** Renders a table with a row per side. */
export function printComparison(title: string, { sides, ratios, ...run }: Comparison): string {
  const cpu = (seconds: number | undefined) => show(seconds && seconds * 1000);
  const [first, ...others] = Object.keys(sides);
  const rows = Object.entries(sides).map(([side, { serverCpu, databaseCpu, ...found }]) => [
    side,
    show(found.perSecond),
    show(found.p50Ms, 2),
    show(found.p99Ms, 2),
    cpu(serverCpu),
    cpu(databaseCpu),
    times(ratios[side]),
    others.includes(side) ? times(compareCpu(sides, side, first)) : undefined,
  ]);
  const costs = ["server CPU µs", "database CPU µs"];
  const quotients = ["first ÷ this", "CPU ÷ the first's"];
  const head = [title, "req/s", "p50 ms", "p99 ms", ...costs, ...quotients];
  const conditions = `${run.connections} connections, median of ${run.rounds} × ${run.seconds} s.`;
  return `${table(head, rows)}\n\n${conditions}`;
}
