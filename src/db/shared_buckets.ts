/**
 * Token buckets that all processes share, without a statement per request. Each bucket is a row in the database. A process
 * leases tokens for up to two seconds and reports its use afterwards.
 *
 * Why a limit holds for all processes together: the database grants only the tokens in the bucket minus the leases of other
 * processes, so leases never exceed the bucket. Without a lease, a process uses at most 1% of the limit (or one request)
 * before it reports, and the next leases shrink by that amount. On average all processes together stay within the limit; at
 * any moment they can exceed it by 1% per process. The rest is shared by demand, which is twice the recent requests of each
 * process: a single busy process gets nearly all tokens with its next lease. Use below 1% of the limit is not reported.
 *
 * Requests without a lease wait together: a process runs one statement at a time, for many buckets. A process never
 * underestimates a bucket (it misses the recent use of other processes), so an empty bucket rejects immediately. A lease ends
 * earlier here than in the database, by a monotonic clock, and the tokens of a dead process are free again after that. While
 * the database is unavailable, each process allows its last known tokens, refilled by the limit: no more than if it were the
 * only process.
 *
 * @module
 */
import { BoundedMap } from "../std/bounded.ts";
import { MINUTE_MS, makeReporter, type ReporterDeps, refill, type SharedBucket } from "./leases.ts";

export type { SharedBucket } from "./leases.ts";

export type SharedBuckets = {
  /** The local state of a bucket. The limit is both its size and its refill per minute. */
  readonly find: (name: string, perMinute: number) => SharedBucket;
  /** Uses a token of each bucket, or none and returns the first empty bucket. */
  readonly spend: (
    buckets: readonly SharedBucket[],
  ) => SharedBucket | undefined | Promise<SharedBucket | undefined>;
  /** Uses a token of a bucket, or more, even if it is empty. */
  readonly record: (bucket: SharedBucket, tokens?: number) => void;
  readonly giveBack: (bucket: SharedBucket) => void;
};

const MAX_BUCKETS = 20_000;
/** The share of the limit that a process uses before it reports. */
const UNREPORTED_SHARE = 0.01;
/** Min requests per report, unless a request waits for it or a second has passed. */
const MIN_REPORTED = 10;
/** Delay before a process that got less than it requested asks again. */
const SHORT_MS = 250;
const MAX_ROUNDS = 3;

const NO_LEASE = {
  tokens: 0,
  granted: 0,
  endsAt: Number.NEGATIVE_INFINITY,
  isShort: false,
  askedAt: 0,
};

/** Max 20,000 buckets in memory. A new bucket counts as full until the database responds. */
export function makeSharedBuckets(deps: Omit<ReporterDeps, "now">): SharedBuckets {
  const now = () => performance.now();
  const buckets = new BoundedMap<string, SharedBucket>(MAX_BUCKETS);
  const reporter = makeReporter({ ...deps, now });
  const evaluateNow = (bucket: SharedBucket) =>
    evaluate(bucket, { isUnavailable: reporter.isUnavailable(), time: now() });

  function record(bucket: SharedBucket, tokens = 1): void {
    bucket.tokens = Math.max(-bucket.perMinute, bucket.tokens - tokens);
    bucket.unreported += tokens;
    bucket.lease.tokens -= tokens;
    if (isUrgent(bucket, now())) reporter.reportNow(bucket);
    else if (bucket.unreported >= maxUnreported(bucket)) reporter.reportSoon(bucket);
  }

  /** An empty bucket, or "unknown"; `undefined` if all have a token, which is used immediately, because other requests wait. */
  function readKnown(asked: readonly SharedBucket[]): SharedBucket | undefined | "unknown" {
    const verdicts = asked.map(evaluateNow);
    const empty = asked[verdicts.indexOf("empty")];
    if (empty !== undefined) return empty;
    if (verdicts.includes("unknown")) return "unknown";
    for (const bucket of asked) record(bucket);
    return undefined;
  }

  async function readLater(asked: readonly SharedBucket[]): Promise<SharedBucket | undefined> {
    const findUnknown = () => asked.filter((bucket) => evaluateNow(bucket) === "unknown");
    for (let round = 0; round < MAX_ROUNDS; round++) {
      await reporter.requestLeases(findUnknown());
      const empty = readKnown(asked);
      if (empty !== "unknown") return empty;
    }
    return findUnknown()[0];
  }

  return {
    find: (name, perMinute) => find(buckets, { name, perMinute, time: now() }),
    spend: (asked) => {
      for (const bucket of asked) bucket.demand++;
      const empty = readKnown(asked);
      return empty === "unknown" ? readLater(asked) : empty;
    },
    record,
    giveBack: (bucket) => {
      bucket.tokens = Math.min(bucket.perMinute, bucket.tokens + 1);
      bucket.unreported--;
      bucket.lease.tokens++;
    },
  };
}

type Asked = { name: string; perMinute: number; time: number };

function find(buckets: Map<string, SharedBucket>, { name, perMinute, time }: Asked): SharedBucket {
  const found = buckets.get(name);
  if (found !== undefined) return refresh(found, perMinute, time);
  const created = {
    name,
    perMinute,
    tokens: perMinute,
    countedAt: time,
    unreported: 0,
    demand: 0,
    lease: { ...NO_LEASE },
  };
  buckets.set(name, created);
  return created;
}

/** Whether a bucket has a token for this process; while the database is unavailable, the local state decides. */
function evaluate(
  bucket: SharedBucket,
  { isUnavailable, time }: { isUnavailable: boolean; time: number },
): "full" | "empty" | "unknown" {
  if (bucket.tokens < 1) return "empty";
  if (isUnavailable) return "full";
  const { tokens, endsAt, isShort, askedAt } = bucket.lease;
  if (time >= endsAt) return bucket.unreported < maxUnreported(bucket) ? "full" : "unknown";
  if (tokens >= 1) return "full";
  return isShort && time - askedAt < SHORT_MS ? "empty" : "unknown";
}

/** Whether requests will soon wait for a lease; false for fewer than 10 unreported requests. */
function isUrgent(bucket: SharedBucket, time: number): boolean {
  if (bucket.unreported < MIN_REPORTED) return false;
  const { tokens, granted, isShort, endsAt } = bucket.lease;
  if (time < endsAt && tokens < granted / 2) return !isShort;
  return bucket.unreported >= maxUnreported(bucket) / 2;
}

function maxUnreported({ perMinute }: SharedBucket): number {
  return Math.max(1, perMinute * UNREPORTED_SHARE);
}

function refresh(bucket: SharedBucket, perMinute: number, time: number): SharedBucket {
  // Use under another limit does not apply to this limit.
  if (perMinute !== bucket.perMinute)
    Object.assign(bucket, { perMinute, unreported: 0, demand: 0, lease: { ...NO_LEASE } });
  refill(bucket, time);
  return bucket;
}

/** Seconds until a bucket holds one token, for `Retry-After`. */
export function waitSeconds(bucket: SharedBucket): number {
  return Math.max(1, Math.ceil(waitFor(bucket, 1) / 1000));
}

/** Milliseconds until a bucket holds `tokens`. */
export function waitFor(bucket: SharedBucket, tokens: number): number {
  return Math.max(0, ((tokens - bucket.tokens) * MINUTE_MS) / bucket.perMinute);
}
