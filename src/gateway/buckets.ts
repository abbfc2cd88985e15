/** The arithmetic of token buckets: full at first, refilled evenly. @module */

export type Bucket = { tokens: number; countedAt: number };

const MINUTE_MS = 60_000;

/** Refills a bucket up to a time; `perMinute` is both its size and its refill per minute. */
export function refill(bucket: Bucket, perMinute: number, time: number): void {
  // A clock that was set back changes nothing.
  const passed = Math.max(0, time - bucket.countedAt);
  bucket.tokens = Math.min(perMinute, bucket.tokens + (passed * perMinute) / MINUTE_MS);
  bucket.countedAt = time;
}

/** Seconds until a bucket holds one token: how long a caller is told to wait. */
export function waitSeconds(bucket: Bucket, perMinute: number): number {
  return Math.max(1, Math.ceil(waitFor(bucket, 1, perMinute) / 1000));
}

/** Milliseconds until a bucket holds `tokens`. */
export function waitFor(bucket: Bucket, tokens: number, perMinute: number): number {
  return Math.max(0, ((tokens - bucket.tokens) * MINUTE_MS) / perMinute);
}
