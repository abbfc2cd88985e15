/**
 * Rate limits of keys, people and apps: a request uses a token of its key and a token of its app, or is rejected with the time
 * to wait. All keys of a person for an app share one limit, which a large body uses more of. The Console has a separate limit. Every
 * response reports the remaining quota.
 *
 * @see https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-10.html
 * @module
 */

import { type SharedBucket, type SharedBuckets, waitFor, waitSeconds } from "../db/mod.ts";
import type { Principal } from "../principal.ts";
import { Problem } from "../problem.ts";
import type { Limits } from "../records/apps/mod.ts";
import { BODY_BYTES_A_REQUEST, MOST_BATCH_BYTES } from "../std/limits.ts";

export type Quota = { readonly "ratelimit-policy": string; readonly ratelimit: string };

/**
 * Uses the tokens of a request; immediate if this process has a lease.
 *
 * @throws {Problem} rate_limited — with `Retry-After` and the quota's headers
 */
export type SpendQuota = (principal: Principal, request: Request) => Quota | Promise<Quota>;

/** Limit per app. Reading 50,000 rows costs 50 requests; changing 500 rows costs 1,000. */
const CONSOLE_PER_MINUTE = 6000;

type QuotaDeps = { limits: Limits; buckets: SharedBuckets; personPerMinute: number };

/** Uses a token of the app's bucket and a token of the key's or the person's bucket, by the limits of the app. */
export function makeSpendQuota({ limits, buckets, personPerMinute }: QuotaDeps): SpendQuota {
  const toMeters = ({ appId, keyId, isOfConsole, person }: Principal): Meters => {
    // Administrators never use up the limit of the app.
    if (isOfConsole)
      return [{ name: "console", bucket: buckets.find(`console ${appId}`, CONSOLE_PER_MINUTE) }];
    const limit = limits.of(appId);
    const ofApp = { name: "app", bucket: buckets.find(`app ${appId}`, limit.app) };
    if (person === undefined)
      return [ofApp, { name: "key", bucket: buckets.find(`key ${keyId}`, limit.key) }];
    // A new key is no new quota.
    const perMinute = Math.min(limit.key, personPerMinute);
    return [
      ofApp,
      { name: "person", bucket: buckets.find(`person ${appId} ${person.id}`, perMinute) },
    ];
  };
  return (principal, request) => {
    const meters = toMeters(principal);
    const more = principal.person === undefined ? 0 : countMore(request);
    const reportQuota = (empty: SharedBucket | undefined): Quota => {
      const rejected = meters.find(({ bucket }) => bucket === empty);
      if (rejected !== undefined) throw rateLimited(rejected, meters);
      const own = meters.find(({ name }) => name === "person");
      if (own !== undefined && more > 0) buckets.record(own.bucket, more);
      return toQuota(meters, meters.reduce(toNearest));
    };
    // All or none: a request over the app's limit does not use a token of the key.
    const empty = buckets.spend(meters.map(({ bucket }) => bucket));
    return empty instanceof Promise ? empty.then(reportQuota) : reportQuota(empty);
  };
}

/** The further requests that a body counts as. One that does not announce its length counts as the largest. */
function countMore({ headers }: Request): number {
  const initial = headers.has("transfer-encoding") ? MOST_BATCH_BYTES : 0;
  const bytes = Number(headers.get("content-length") ?? initial);
  return Math.max(0, Math.ceil(Math.min(bytes, MOST_BATCH_BYTES) / BODY_BYTES_A_REQUEST) - 1);
}

type Meter = { name: string; bucket: SharedBucket };
type Meters = readonly [Meter, ...Meter[]];

function toNearest(nearest: Meter, meter: Meter): Meter {
  return meter.bucket.tokens < nearest.bucket.tokens ? meter : nearest;
}

/** Remaining tokens of the closest limit, and the seconds until it is full again. */
function toQuota(meters: Meters, { name, bucket }: Meter, left = bucket.tokens): Quota {
  const wait = Math.ceil(waitFor(bucket, bucket.perMinute) / 1000);
  const policies = meters.map((meter) => `"${meter.name}";q=${meter.bucket.perMinute};w=60`);
  return {
    "ratelimit-policy": policies.join(", "),
    ratelimit: `"${name}";r=${Math.max(0, Math.floor(left))};t=${wait}`,
  };
}

/** Reports 0 remaining tokens, because the rest is leased to other processes. */
function rateLimited(meter: Meter, meters: Meters): Problem {
  const { name, bucket } = meter;
  return new Problem("rate_limited", {
    message: `This ${name} is limited to ${bucket.perMinute} requests per minute`,
    headers: toQuota(meters, meter, 0),
    retryAfterS: waitSeconds(bucket),
  });
}
