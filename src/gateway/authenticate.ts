/**
 * API key → Principal. Every failure gets the same response. A key's record is cached while the version of keys is confirmed.
 * The database rejects a revoked key immediately in any case. While the database is unavailable nothing confirms the version,
 * and every key, known or unknown, gets 503.
 *
 * Unknown keys are not cached, so a new key works everywhere immediately. They cost at most one query at a time, because
 * concurrent lookups are batched.
 *
 * @module
 */

import {
  type Database,
  type SharedBucket,
  type SharedBuckets,
  type VersionWatch,
  waitSeconds,
} from "../db/mod.ts";
import { keyRejected } from "../http/mod.ts";
import { makePrincipal, type Principal } from "../principal.ts";
import { Problem } from "../problem.ts";
import {
  KEY_MAX_LENGTH,
  type KeyRecord,
  type KeyUse,
  readKeyText,
  toProof,
  type UsedKey,
  useKeys,
} from "../records/apps/mod.ts";
import { BoundedMap } from "../std/bounded.ts";
import { toClientNetwork } from "../std/client_network.ts";
import { makeBatch } from "./batch.ts";

// Limits failed authentications by client address: a client over the limit gets 429 before any
// lookup. Keys that this process recently found valid are exempt.

type Failures = {
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
function makeFailures(buckets: SharedBuckets): Failures {
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

/**
 * The principal of a request. Reads the client's address only if the key is not cached.
 *
 * @throws {Problem} unauthenticated; rate_limited
 */
export type Authenticate = (request: Request, readAddress: () => string) => Promise<Principal>;

type AuthenticateDeps = {
  db: Database;
  watch: VersionWatch;
  now: () => number;
  keyPrefix: string;
  buckets: SharedBuckets;
};

/** Max age of a cached record, even if no key changed: reading a record also updates the key's last use. */
const RECORD_LIFE_MS = 60_000;
/** Maximum age of the confirmed version of keys: well under the 5 s within which a revocation must take effect. */
const CONFIRMATION_LIFE_MS = 3000;
/** How long a proven key is exempt from the failure limit of its address. */
const PROVEN_LIFE_MS = 600_000;
const MAX_RECORDS = 10_000;
/** Longer texts are not keys. */
const BEARER = new RegExp(`^Bearer +([\\w.-]{1,${KEY_MAX_LENGTH}})$`, "i");

/** The id of the presented key, without verification. */
export function readPresentedKeyId(request: Request, keyPrefix: string): string | undefined {
  return readKeyText(readBearer(request) ?? "", keyPrefix)?.keyId;
}

function readBearer({ headers }: Request): string | undefined {
  return BEARER.exec(headers.get("authorization") ?? "")?.[1];
}

type Cached = { record: KeyRecord; readAt: number; version: number; principal: Principal };

/** A check of the `Authorization` header. */
export function makeAuthenticate(deps: AuthenticateDeps): Authenticate {
  const cache = new BoundedMap<string, Cached>(MAX_RECORDS);
  const failures = makeFailures(deps.buckets);
  const findMany = makeBatch<string, UsedKey>((uses) => useKeys(deps, uses.map(toUse)));

  async function verify(text: string | undefined, digest: string): Promise<Principal> {
    const parts = text === undefined ? undefined : readKeyText(text, deps.keyPrefix);
    if (parts === undefined) throw keyRejected();
    const readAt = deps.now();
    const proof = toProof(parts.secret);
    const found = await findMany(`${parts.keyId} ${Buffer.from(proof).toString("hex")}`);
    if (found === undefined) throw keyRejected();
    const cached = { ...found, readAt, principal: makePrincipal({ ...found.record, proof }) };
    const principal = checkExpiry(cached, deps.now());
    cache.set(digest, cached);
    return principal;
  }

  async function verifyFrom(
    address: string,
    key: { text: string | undefined; digest: string },
  ): Promise<Principal> {
    const isStranger = !isProven(cache.get(key.digest), deps.now());
    if (isStranger) await failures.count(address);
    try {
      const principal = await verify(key.text, key.digest);
      if (isStranger) failures.giveBack(address);
      return principal;
    } catch (error) {
      const isFailure = error instanceof Problem && error.code === "unauthenticated";
      if (isFailure) cache.delete(key.digest);
      if (isFailure && !isStranger) failures.record(address);
      if (!isFailure && isStranger) failures.giveBack(address);
      throw error;
    }
  }

  return async (request, readAddress) => {
    const text = readBearer(request);
    if (text === undefined) return await verifyFrom(readAddress(), { text, digest: "" });
    // Cache by digest: no secret stays in memory, and lookup timing reveals nothing about a key.
    const digest = Bun.CryptoHasher.hash("sha256", text, "base64");
    const cached = cache.get(digest);
    if (cached !== undefined && isCurrent(cached, deps)) return checkExpiry(cached, deps.now());
    return await verifyFrom(readAddress(), { text, digest });
  };
}

/** Parses the batch key of a lookup; equal API keys share a lookup. */
function toUse(text: string): KeyUse {
  const [keyId = "", proof = ""] = text.split(" ");
  return { keyId, proof };
}

/** Whether a key was recently valid, so that other failures from its address do not count against it. */
function isProven(cached: Cached | undefined, time: number): boolean {
  return cached !== undefined && time - cached.readAt <= PROVEN_LIFE_MS;
}

function isCurrent(cached: Cached, { watch, now }: AuthenticateDeps): boolean {
  const time = now();
  const confirmedAt = watch.confirmedAt();
  if (time - confirmedAt > CONFIRMATION_LIFE_MS || time - cached.readAt > RECORD_LIFE_MS)
    return false;
  const latest = watch.latest()?.keys ?? 0;
  // A record can be newer than the last version check. If a later check does not reach its version, the record is from
  // another database, such as one before a restore.
  return cached.version === latest || (cached.version > latest && cached.readAt >= confirmedAt);
}

function checkExpiry({ record, principal }: Cached, time: number): Principal {
  if (record.expiresAt !== undefined && record.expiresAt.getTime() <= time) throw keyRejected();
  return principal;
}
