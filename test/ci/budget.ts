/** Whether the remaining parts of a run fit into its time. Decides from times that it receives; reads no clock. @module */

/** Minutes of a part: as expected on the machine of `parts.ts`, and on this machine. */
export type Finished = { expected: number; actual: number };

export type Progress = {
  finished: readonly Finished[];
  /** The expected minutes of the parts that remain. */
  remaining: readonly number[];
  /** Minutes since the start, which can be longer than the parts. */
  elapsed: number;
  limit: number;
};

/**
 * Compares the minutes of the finished parts with the expected minutes. A short part proves little: until a twentieth of the
 * work is done, the machine counts as the expected one.
 */
export function measureSlowness({ finished, remaining }: Progress): number {
  const expected = sum(finished.map((part) => part.expected));
  const all = expected + sum(remaining);
  if (expected < all / 20) return 1;
  return sum(finished.map((part) => part.actual)) / expected;
}

/** Returns the sentence to fail with if the remaining parts cannot fit; otherwise `undefined`. */
export function findOverrun(progress: Progress): string | undefined {
  const { remaining, elapsed, limit } = progress;
  const slowness = measureSlowness(progress);
  const needed = sum(remaining) * slowness;
  if (remaining.length === 0 || elapsed + needed <= limit) return undefined;
  const parts =
    remaining.length === 1 ? "1 part that remains" : `${remaining.length} parts that remain`;
  const verb = remaining.length === 1 ? "needs" : "need";
  return (
    `The ${parts} ${verb} about ${Math.ceil(needed)} minutes on this machine, which is ${slowness.toFixed(1)} times ` +
    `as slow as expected, and ${Math.max(0, Math.floor(limit - elapsed))} of ${limit} minutes are left`
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
