/** Durations counted in buckets, and estimates from the counts. @module */

/** Inclusive upper bounds of the buckets in milliseconds; the last bucket has no bound. */
export const LATENCY_BOUNDS_MS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500] as const;
export const LATENCY_BUCKETS = LATENCY_BOUNDS_MS.length + 1;

/**
 * The bucket of a duration, from 0.
 *
 * @example
 * ```ts
 * expect([0, 1, 1.5, 2500, 2501].map(toLatencyBucket)).toEqual([0, 0, 1, 10, 11]);
 * ```
 */
export function toLatencyBucket(ms: number): number {
  let bucket = 0;
  while (bucket < LATENCY_BOUNDS_MS.length && ms > (LATENCY_BOUNDS_MS[bucket] ?? 0)) bucket++;
  return bucket;
}

/**
 * The quantile `share` of all durations in milliseconds, assuming evenly filled buckets; `Infinity` in the last bucket,
 * `undefined` without counts.
 *
 * @example
 * ```ts
 * expect(estimateLatency([0, 0, 0, 100], 0.5)).toBe(7.5);
 * expect(estimateLatency([99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 0.999)).toBe(Number.POSITIVE_INFINITY);
 * expect(estimateLatency([], 0.99)).toBeUndefined();
 * ```
 */
export function estimateLatency(buckets: readonly number[], share: number): number | undefined {
  const all = buckets.reduce((sum, count) => sum + count, 0);
  if (all === 0) return undefined;
  let left = all * share;
  for (const [bucket, count] of buckets.entries()) {
    if (left <= count && count > 0) return within(bucket, left / count);
    left -= count;
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * The sum of all durations in milliseconds, assuming evenly filled buckets, and the bound for the last bucket.
 *
 * @example
 * ```ts
 * expect(estimateSum([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1])).toBe(1 + 14 + 2500);
 * ```
 */
export function estimateSum(buckets: readonly number[]): number {
  const toMiddle = (bucket: number) => Math.min(within(bucket, 0.5), LATENCY_BOUNDS_MS.at(-1) ?? 0);
  return buckets.reduce((sum, count, bucket) => sum + count * toMiddle(bucket), 0);
}

function within(bucket: number, share: number): number {
  const to = LATENCY_BOUNDS_MS[bucket] ?? Number.POSITIVE_INFINITY;
  const from = LATENCY_BOUNDS_MS[bucket - 1] ?? 0;
  return to === Number.POSITIVE_INFINITY ? to : from + (to - from) * share;
}
