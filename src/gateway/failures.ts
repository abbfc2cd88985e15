/**
 * Failed authentications by client address: a client that keeps guessing is answered 429 before anything is looked up. Keys
 * that this process found valid in the last minutes are never refused for that.
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { toClientNetwork } from "../std/client_network.ts";
import { type SharedBucket, type SharedBuckets, waitSeconds } from "./shared_buckets.ts";

export type Failures = {
  /**
   * Counts an authentication as failed before its outcome is known, because others from the same address are under way.
   *
   * @throws {Problem} rate_limited — too many failed from this address
   */
  readonly count: (address: string) => Promise<void>;
  /** Takes a count back: it did not fail. */
  readonly giveBack: (address: string) => void;
  /** Counts one that failed without having been counted before. */
  readonly note: (address: string) => void;
};

/** Generous for one misconfigured program behind a shared address, far too few for guessing. */
export const FAILURES_PER_MINUTE = 600;

/** Counts failures in buckets that all processes share, one for each network of a client. */
export function makeFailures(buckets: SharedBuckets): Failures {
  const look = (address: string): SharedBucket =>
    buckets.look(toName(toClientNetwork(address)), FAILURES_PER_MINUTE);
  return {
    count: async (address) => {
      const empty = await buckets.take([look(address)]);
      if (empty === undefined) return;
      throw new Problem("rate_limited", {
        message: "Too many requests from this address failed to authenticate",
        retryAfterS: waitSeconds(empty, FAILURES_PER_MINUTE),
      });
    },
    giveBack: (address) => buckets.giveBack(look(address)),
    note: (address) => buckets.note(look(address)),
  };
}

/** A digest: the database need not know the address. */
function toName(network: string): string {
  return `from ${Bun.CryptoHasher.hash("sha256", network, "hex")}`;
}
