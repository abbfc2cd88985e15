/**
 * Failed authentications by client address: a client that keeps guessing is answered 429 before anything is looked up. Keys
 * that this process found valid in the last minutes are never refused for that.
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { toClientNetwork } from "../std/client_network.ts";
import { makeBuckets, waitSeconds } from "./buckets.ts";

export type Failures = {
  /** @throws {Problem} rate_limited — too many failed from this address */
  readonly check: (address: string) => void;
  readonly note: (address: string) => void;
};

/** Generous for one misconfigured program behind a shared address, far too few for guessing. */
export const FAILURES_PER_MINUTE = 600;

export function makeFailures(now: () => number): Failures {
  const buckets = makeBuckets({ now });
  const look = (address: string) => buckets.look(toClientNetwork(address), FAILURES_PER_MINUTE);
  return {
    check: (address) => {
      const bucket = look(address);
      if (bucket.tokens >= 1) return;
      throw new Problem("rate_limited", {
        message: "Too many requests from this address failed to authenticate",
        retryAfterS: waitSeconds(bucket, FAILURES_PER_MINUTE),
      });
    },
    note: (address) => {
      const bucket = look(address);
      bucket.tokens = Math.max(0, bucket.tokens - 1);
    },
  };
}
