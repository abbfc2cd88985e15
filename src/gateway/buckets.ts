/**
 * Token buckets in memory, one per name: full at first, refilled evenly. Each process counts for itself, so several
 * processes together allow several times as much. @module
 */

export type Bucket = { tokens: number; countedAt: number };

export type Buckets = {
  /** The bucket of a name, refilled up to now; `perMinute` is both its size and its refill per minute. */
  readonly look: (name: string, perMinute: number) => Bucket;
};

const MAX_BUCKETS = 20_000;
const MINUTE_MS = 60_000;

/** Buckets for at most `most` names: the oldest is dropped first, and starts full if its name comes back. */
export function makeBuckets(options: { now: () => number; most?: number }): Buckets {
  const { now, most = MAX_BUCKETS } = options;
  const buckets = new Map<string, Bucket>();
  return {
    look: (name, perMinute) => {
      const time = now();
      const found = buckets.get(name);
      if (found !== undefined) return refill(found, perMinute, time);
      if (buckets.size >= most) dropFirst(buckets);
      const made = { tokens: perMinute, countedAt: time };
      buckets.set(name, made);
      return made;
    },
  };
}

/** Seconds until a bucket holds one token: how long a caller is told to wait. */
export function waitSeconds(bucket: Bucket, perMinute: number): number {
  return Math.max(1, Math.ceil(waitFor(bucket, 1, perMinute) / 1000));
}

/** Milliseconds until a bucket holds `tokens`. */
export function waitFor(bucket: Bucket, tokens: number, perMinute: number): number {
  return Math.max(0, ((tokens - bucket.tokens) * MINUTE_MS) / perMinute);
}

function refill(bucket: Bucket, perMinute: number, time: number): Bucket {
  // A clock that was set back changes nothing.
  const passed = Math.max(0, time - bucket.countedAt);
  bucket.tokens = Math.min(perMinute, bucket.tokens + (passed * perMinute) / MINUTE_MS);
  bucket.countedAt = time;
  return bucket;
}

function dropFirst(buckets: Map<string, Bucket>): void {
  const [first] = buckets.keys();
  if (first !== undefined) buckets.delete(first);
}
