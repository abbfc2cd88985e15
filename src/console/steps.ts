/** The steps of a time axis, each with its counts and the counts of the same step in the previous span. Pure. @module */
import type { Axis, Numbers } from "../accounts/console/mod.ts";
import { estimateLatency, LATENCY_BUCKETS } from "../std/latency.ts";

/** With fewer requests, a share or a p99 is meaningless. */
export const MIN_REQUESTS = 30;

type Totals = Omit<Numbers, "counted">;

export type Step = Omit<Totals, "latencies"> & {
  /** Milliseconds; `undefined` with too few requests. */
  p99: number | undefined;
  before: Step | undefined;
};

export function toSteps({ counted, steps }: Axis): Step[] {
  const byPosition = new Map(counted.map((step) => [step[0], step]));
  const read = (position: number): Step => {
    const [, requests = 0, errors = 0, rejections = 0, latencies = []] =
      byPosition.get(position) ?? [];
    const p99 = requests < MIN_REQUESTS ? undefined : estimateLatency(addUp(latencies), 0.99);
    const before = position < 0 ? undefined : read(position - steps);
    return { requests, errors, rejections, p99, before };
  };
  return Array.from({ length: steps }, (_, position) => read(position));
}

export function toTotals({ counted }: Axis): { now: Totals; before: Totals } {
  const sum = (isInSpan: (position: number) => boolean): Totals => {
    const inSpan = counted.filter(([position]) => isInSpan(position));
    const add = (read: 1 | 2 | 3) => inSpan.reduce((total, step) => total + step[read], 0);
    const latencies = addUp(inSpan.flatMap((step) => step[4]));
    return { requests: add(1), errors: add(2), rejections: add(3), latencies };
  };
  return { now: sum((position) => position >= 0), before: sum((position) => position < 0) };
}

function addUp(lists: readonly (readonly number[])[]): number[] {
  const sums = Array<number>(LATENCY_BUCKETS).fill(0);
  for (const list of lists)
    for (const [bucket, count] of list.entries()) sums[bucket] = (sums[bucket] ?? 0) + count;
  return sums;
}
