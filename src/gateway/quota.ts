/**
 * Rate limits of keys and apps: a request takes one token of its key and one of its app, or is rejected with the time
 * to wait. Requests of the Console have a limit of their own. Says how much is left on every answer.
 *
 * @see https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-10.html
 * @module
 */
import type { Limits } from "../accounts/apps/mod.ts";
import type { Principal } from "../principal.ts";
import { Problem } from "../problem.ts";
import { type SharedBucket, type SharedBuckets, waitFor, waitSeconds } from "./shared_buckets.ts";

/** Headers that tell a caller its quota. */
export type Quota = { readonly "ratelimit-policy": string; readonly ratelimit: string };

/**
 * Takes what a request costs: at once where this process has it on lease.
 *
 * @throws {Problem} rate_limited — with `Retry-After` and the quota's headers
 */
export type TakeQuota = (principal: Principal) => Quota | Promise<Quota>;

/** For each app. Reading 50,000 rows is 50 requests; changing 500 rows is 1,000. */
const CONSOLE_PER_MINUTE = 6000;

/** Takes a token of the app's bucket and one of the key's, by the limits of the app. */
export function makeTakeQuota(deps: { limits: Limits; buckets: SharedBuckets }): TakeQuota {
  const { limits, buckets } = deps;
  const toMeters = ({ appId, keyId, isOfConsole }: Principal): Meters => {
    // A search by an administrator never uses up the limit of the app.
    if (isOfConsole)
      return [{ name: "console", bucket: buckets.look(`console ${appId}`, CONSOLE_PER_MINUTE) }];
    const limit = limits.of(appId);
    return [
      { name: "app", bucket: buckets.look(`app ${appId}`, limit.app) },
      { name: "key", bucket: buckets.look(`key ${keyId}`, limit.key) },
    ];
  };
  return (principal) => {
    const meters = toMeters(principal);
    const answer = (empty: SharedBucket | undefined): Quota => {
      const rejected = meters.find(({ bucket }) => bucket === empty);
      if (rejected !== undefined) throw rateLimited(rejected, meters);
      return toQuota(meters, meters.reduce(toNearest));
    };
    // All or none: a request that the app's limit refuses does not use up the key's.
    const empty = buckets.take(meters.map(({ bucket }) => bucket));
    return empty instanceof Promise ? empty.then(answer) : answer(empty);
  };
}

type Meter = { name: string; bucket: SharedBucket };
type Meters = readonly [Meter, ...Meter[]];

function toNearest(nearest: Meter, meter: Meter): Meter {
  return meter.bucket.tokens < nearest.bucket.tokens ? meter : nearest;
}

/** What is left of the nearest limit now, and after how many seconds it is full again. */
function toQuota(meters: Meters, { name, bucket }: Meter, left = bucket.tokens): Quota {
  const wait = Math.ceil(waitFor(bucket, bucket.perMinute, bucket.perMinute) / 1000);
  const policies = meters.map((meter) => `"${meter.name}";q=${meter.bucket.perMinute};w=60`);
  return {
    "ratelimit-policy": policies.join(", "),
    ratelimit: `"${name}";r=${Math.max(0, Math.floor(left))};t=${wait}`,
  };
}

/** Nothing is left for a rejected caller: what remains is leased to other processes. */
function rateLimited(meter: Meter, meters: Meters): Problem {
  const { name, bucket } = meter;
  return new Problem("rate_limited", {
    message: `This ${name} may send ${bucket.perMinute} requests per minute`,
    headers: toQuota(meters, meter, 0),
    retryAfterS: waitSeconds(bucket, bucket.perMinute),
  });
}
