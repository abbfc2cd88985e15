/**
 * Rate limits of keys and apps: a request takes one token of its key and one of its app, or is refused with the time
 * to wait. Says how much is left on every answer.
 *
 * @see https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-10.html
 * @module
 */
import type { Limits } from "../accounts/mod.ts";
import type { Principal } from "../principal.ts";
import { Problem } from "../problem.ts";
import { type Bucket, makeBuckets, waitFor, waitSeconds } from "./buckets.ts";

/** Headers that tell a caller its quota. */
export type Quota = { readonly "ratelimit-policy": string; readonly ratelimit: string };

/** @throws {Problem} rate_limited — with `Retry-After` and the quota's headers */
export type TakeQuota = (principal: Principal) => Quota;

export function makeTakeQuota(deps: { limits: Limits; now: () => number }): TakeQuota {
  const apps = makeBuckets(deps);
  const keys = makeBuckets(deps);
  return ({ appId, keyId }) => {
    const limit = deps.limits.of(appId);
    const ofApp = { name: "app", perMinute: limit.app, bucket: apps.look(appId, limit.app) };
    const ofKey = { name: "key", perMinute: limit.key, bucket: keys.look(keyId, limit.key) };
    const nearest = ofKey.bucket.tokens < ofApp.bucket.tokens ? ofKey : ofApp;
    // Both or neither: a request that the app's limit refuses does not use up the key's.
    const isAllowed = nearest.bucket.tokens >= 1;
    if (isAllowed) {
      ofApp.bucket.tokens -= 1;
      ofKey.bucket.tokens -= 1;
    }
    const quota = {
      "ratelimit-policy": `"app";q=${limit.app};w=60, "key";q=${limit.key};w=60`,
      ratelimit: toState(nearest),
    };
    if (!isAllowed) throw rateLimited(nearest, quota);
    return quota;
  };
}

type Meter = { name: string; perMinute: number; bucket: Bucket };

/** What is left now, and after how many seconds it is full again. */
function toState({ name, perMinute, bucket }: Meter): string {
  const wait = Math.ceil(waitFor(bucket, perMinute, perMinute) / 1000);
  return `"${name}";r=${Math.floor(bucket.tokens)};t=${wait}`;
}

function rateLimited({ name, perMinute, bucket }: Meter, quota: Quota): Problem {
  return new Problem("rate_limited", {
    message: `This ${name} may send ${perMinute} requests per minute`,
    headers: quota,
    retryAfterS: waitSeconds(bucket, perMinute),
  });
}
