/**
 * Limits failed authentications by client address: a client over the limit gets 429 before any lookup. Keys that this process
 * recently found valid are exempt.
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { toClientNetwork } from "../std/client_network.ts";
import { type SharedBucket, type SharedBuckets, waitSeconds } from "./shared_buckets.ts";

export type Failures = {
  /**
   * Counts a failure before the outcome is known, because other requests from the same address are running.
   *
   * @throws {Problem} rate_limited — too many failed from this address
   */
  readonly count: (address: string) => Promise<void>;
  /** Reverts a count after a success. */
  readonly giveBack: (address: string) => void;
  /** Counts a failure that `count` has not counted. */
  readonly record: (address: string) => void;
};

/** Enough for a misconfigured program behind a shared address, and far too few to guess keys. */
export const FAILURES_PER_MINUTE = 600;

/** Counts failures in buckets that all processes share, one per client network. */
export function makeFailures(buckets: SharedBuckets): Failures {
  const find = (address: string): SharedBucket =>
    buckets.find(toName(toClientNetwork(address)), FAILURES_PER_MINUTE);
  return {
    count: async (address) => {
      const empty = await buckets.spend([find(address)]);
      if (empty === undefined) return;
      throw new Problem("rate_limited", {
        message: "Too many requests from this address failed to authenticate",
        retryAfterS: waitSeconds(empty),
      });
    },
    giveBack: (address) => buckets.giveBack(find(address)),
    record: (address) => buckets.record(find(address)),
  };
}

/** A digest, so that the database does not store the address. */
function toName(network: string): string {
  return `from ${Bun.CryptoHasher.hash("sha256", network, "hex")}`;
}
