/**
 * Rate limits of keys and apps: a request takes one token of its key and one of its app, or is refused with the time
 * to wait. Says how much is left on every answer.
 *
 * @see https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-10.html
 * @module
 */
import type { Limit, Limits } from "../accounts/apps/mod.ts";
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

/** Takes a token of the app's bucket and one of the key's, by the limits of the app. */
export function makeTakeQuota(deps: { limits: Limits; buckets: SharedBuckets }): TakeQuota {
  const { limits, buckets } = deps;
  return ({ appId, keyId }) => {
    const limit = limits.of(appId);
    const ofApp = { name: "app", bucket: buckets.look(`app ${appId}`, limit.app) };
    const ofKey = { name: "key", bucket: buckets.look(`key ${keyId}`, limit.key) };
    const answer = (empty: SharedBucket | undefined): Quota => {
      if (empty === ofApp.bucket) throw rateLimited(ofApp, limit);
      if (empty === ofKey.bucket) throw rateLimited(ofKey, limit);
      return toQuota(ofKey.bucket.tokens < ofApp.bucket.tokens ? ofKey : ofApp, limit);
    };
    // Both or neither: a request that the app's limit refuses does not use up the key's.
    const empty = buckets.take([ofApp.bucket, ofKey.bucket]);
    return empty instanceof Promise ? empty.then(answer) : answer(empty);
  };
}

type Meter = { name: string; bucket: SharedBucket };

/** What is left of the nearest limit now, and after how many seconds it is full again. */
function toQuota({ name, bucket }: Meter, limit: Limit, left = bucket.tokens): Quota {
  const wait = Math.ceil(waitFor(bucket, bucket.perMinute, bucket.perMinute) / 1000);
  return {
    "ratelimit-policy": `"app";q=${limit.app};w=60, "key";q=${limit.key};w=60`,
    ratelimit: `"${name}";r=${Math.max(0, Math.floor(left))};t=${wait}`,
  };
}

/** Nothing is left for a refused caller: what remains is leased to other processes. */
function rateLimited(meter: Meter, limit: Limit): Problem {
  const { name, bucket } = meter;
  return new Problem("rate_limited", {
    message: `This ${name} may send ${bucket.perMinute} requests per minute`,
    headers: toQuota(meter, limit, 0),
    retryAfterS: waitSeconds(bucket, bucket.perMinute),
  });
}
