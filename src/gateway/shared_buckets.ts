/**
 * Token buckets that all processes share, without a statement a request. The bucket of a name is a row of the database; a
 * process takes from it ahead, by a lease of up to two seconds, and reports afterwards what it has taken.
 *
 * Why a limit holds for all processes together: the database grants only what is in the bucket less what others have on
 * lease, so that leases never add up to more than there is. Without a lease a process takes at most a hundredth of the limit
 * (or one request) before it reports, so that the next leases are smaller by that: in the long run all together take what the
 * limit allows, and at one moment a hundredth more for each process. What is left is shared by what each wants, which is
 * twice what was asked of it lately: if only one is asked for much, it has nearly all with its next lease. Use below
 * a hundredth of the limit is not reported.
 *
 * Requests that find no lease wait for one together: a process has one statement under way at a time, for many names. What
 * a process knows of a bucket is never too little (what others have taken meanwhile is missing), so an empty one refuses at
 * once. A lease ends earlier here than in the database, by a clock that is never set, and what a dead process held is
 * free again after that. While the database does not answer, each process allows what it knew to be left, refilled by the limit:
 * no more than if it were alone.
 *
 * @module
 */
import { BoundedMap } from "../std/bounded_map.ts";
import {
  type Bucket,
  type Lease,
  MINUTE_MS,
  makeReporter,
  refill,
  type SharedBucket,
} from "./leases.ts";

export type { SharedBucket } from "./leases.ts";

export type SharedBuckets = {
  /** The bucket of a name, as far as this process knows it; the limit is both its size and its refill per minute. */
  readonly look: (name: string, perMinute: number) => SharedBucket;
  /** Takes a token of each bucket, or none: then the first that has none for this process is returned. */
  readonly take: (
    buckets: readonly SharedBucket[],
  ) => SharedBucket | undefined | Promise<SharedBucket | undefined>;
  /** Takes a token of a bucket, whether there is one or not. */
  readonly note: (bucket: SharedBucket) => void;
  readonly giveBack: (bucket: SharedBucket) => void;
};

export type SharedBucketsDeps = {
  lease: Lease;
  /** Is told what kept the database from answering, outages aside. */
  noteFault: (error: unknown) => void;
  /** A clock that is never set. */
  now?: () => number;
};

const MAX_BUCKETS = 20_000;
/** How much of the limit a process takes before it reports. */
const UNREPORTED_SHARE = 0.01;
/** How many requests a statement reports at least, unless someone waits for it or a second has passed. */
const LEAST_REPORTED = 10;
/** How long a process that was given less than it wanted waits before it asks again. */
const SHORT_MS = 250;
const MAX_ROUNDS = 3;

const NO_LEASE = {
  tokens: 0,
  granted: 0,
  endsAt: Number.NEGATIVE_INFINITY,
  isShort: false,
  askedAt: 0,
};

/** At most 20,000 buckets in memory; a new one is taken to be full until the database has answered. */
export function makeSharedBuckets(deps: SharedBucketsDeps): SharedBuckets {
  const { now = () => performance.now() } = deps;
  const buckets = new BoundedMap<string, SharedBucket>(MAX_BUCKETS);
  const reporter = makeReporter({ ...deps, now });
  const judgeNow = (bucket: SharedBucket) =>
    judge(bucket, { isAway: reporter.isAway(), time: now() });

  function note(bucket: SharedBucket): void {
    bucket.tokens = Math.max(-bucket.perMinute, bucket.tokens - 1);
    bucket.unreported++;
    bucket.lease.tokens--;
    if (isUrgent(bucket, now())) reporter.reportNow(bucket);
    else if (bucket.unreported >= maxUnreported(bucket)) reporter.reportSoon(bucket);
  }

  /** An empty bucket, or "unknown"; `undefined` if all have a token, which is taken at once, because others wait too. */
  function takeKnown(asked: readonly SharedBucket[]): SharedBucket | undefined | "unknown" {
    const verdicts = asked.map(judgeNow);
    const empty = asked[verdicts.indexOf("empty")];
    if (empty !== undefined) return empty;
    if (verdicts.includes("unknown")) return "unknown";
    asked.forEach(note);
    return undefined;
  }

  async function takeLater(asked: readonly SharedBucket[]): Promise<SharedBucket | undefined> {
    const findUnknown = () => asked.filter((bucket) => judgeNow(bucket) === "unknown");
    for (let round = 0; round < MAX_ROUNDS; round++) {
      await reporter.requestLeases(findUnknown());
      const empty = takeKnown(asked);
      if (empty !== "unknown") return empty;
    }
    return findUnknown()[0];
  }

  return {
    look: (name, perMinute) => look(buckets, { name, perMinute, time: now() }),
    take: (asked) => {
      for (const bucket of asked) bucket.demand++;
      const empty = takeKnown(asked);
      return empty === "unknown" ? takeLater(asked) : empty;
    },
    note,
    giveBack: (bucket) => {
      bucket.tokens = Math.min(bucket.perMinute, bucket.tokens + 1);
      bucket.unreported--;
      bucket.lease.tokens++;
    },
  };
}

type Asked = { name: string; perMinute: number; time: number };

function look(buckets: Map<string, SharedBucket>, { name, perMinute, time }: Asked): SharedBucket {
  const found = buckets.get(name);
  if (found !== undefined) return refresh(found, perMinute, time);
  const made = {
    name,
    perMinute,
    tokens: perMinute,
    countedAt: time,
    unreported: 0,
    demand: 0,
    lease: { ...NO_LEASE },
  };
  buckets.set(name, made);
  return made;
}

/** Whether a bucket has a token for this process, as far as it knows; while the database is away, it knows by itself. */
function judge(
  bucket: SharedBucket,
  { isAway, time }: { isAway: boolean; time: number },
): "full" | "empty" | "unknown" {
  if (bucket.tokens < 1) return "empty";
  if (isAway) return "full";
  const { tokens, endsAt, isShort, askedAt } = bucket.lease;
  if (time >= endsAt) return bucket.unreported < maxUnreported(bucket) ? "full" : "unknown";
  if (tokens >= 1) return "full";
  return isShort && time - askedAt < SHORT_MS ? "empty" : "unknown";
}

/** Whether a request would soon have to wait for a lease; never before there are ten for one statement. */
function isUrgent(bucket: SharedBucket, time: number): boolean {
  if (bucket.unreported < LEAST_REPORTED) return false;
  const { tokens, granted, isShort, endsAt } = bucket.lease;
  if (time < endsAt && tokens < granted / 2) return !isShort;
  return bucket.unreported >= maxUnreported(bucket) / 2;
}

function maxUnreported({ perMinute }: SharedBucket): number {
  return Math.max(1, perMinute * UNREPORTED_SHARE);
}

function refresh(bucket: SharedBucket, perMinute: number, time: number): SharedBucket {
  // What was taken under another limit says nothing of this one.
  if (perMinute !== bucket.perMinute)
    Object.assign(bucket, { perMinute, unreported: 0, demand: 0, lease: { ...NO_LEASE } });
  refill(bucket, perMinute, time);
  return bucket;
}

/** Seconds until a bucket holds one token: how long a caller is told to wait. */
export function waitSeconds(bucket: Bucket, perMinute: number): number {
  return Math.max(1, Math.ceil(waitFor(bucket, 1, perMinute) / 1000));
}

/** Milliseconds until a bucket holds `tokens`. */
export function waitFor(bucket: Bucket, tokens: number, perMinute: number): number {
  return Math.max(0, ((tokens - bucket.tokens) * MINUTE_MS) / perMinute);
}
