/**
 * Failed authentications by client address: who keeps guessing is answered 429 before anything is looked up. Keys
 * that this process knows are good are never refused for it.
 *
 * @module
 */
import { isIPv6 } from "node:net";
import { Problem } from "../problem.ts";
import { makeBuckets, waitFor } from "./buckets.ts";

export type Failures = {
  /** @throws {Problem} rate_limited — too many failed from this address */
  readonly check: (address: string) => void;
  readonly note: (address: string) => void;
};

/** Generous for one misconfigured program behind a shared address, far too few for guessing. */
export const FAILURES_PER_MINUTE = 600;

export function makeFailures(now: () => number): Failures {
  const buckets = makeBuckets({ now });
  const look = (address: string) => buckets.look(toNetwork(address), FAILURES_PER_MINUTE);
  return {
    check: (address) => {
      const bucket = look(address);
      if (bucket.tokens >= 1) return;
      const seconds = Math.max(1, Math.ceil(waitFor(bucket, 1, FAILURES_PER_MINUTE) / 1000));
      throw new Problem("rate_limited", {
        message: "Too many requests of this address failed to authenticate",
        headers: { "retry-after": String(seconds) },
      });
    },
    note: (address) => {
      const bucket = look(address);
      bucket.tokens = Math.max(0, bucket.tokens - 1);
    },
  };
}

/** A subscriber holds a whole /64 of IPv6: counted one by one its addresses would never run out. */
function toNetwork(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail = ""] = address.split("::");
  const left = head.split(":").filter((group) => group !== "");
  const right = tail.split(":").filter((group) => group !== "");
  const zeros = Math.max(0, 8 - left.length - right.length);
  const groups = address.includes("::") ? [...left, ...Array(zeros).fill("0"), ...right] : left;
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
