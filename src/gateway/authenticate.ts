/**
 * API key → Principal. One answer for every way to fail; a key's record is kept in memory for as long as the version
 * of keys is confirmed, so that a revocation holds everywhere within seconds.
 *
 * @module
 */
import { timingSafeEqual } from "node:crypto";
import { hashSecret, type KeyRecord, readKeyText, useKey } from "../accounts/mod.ts";
import type { Database, VersionWatch } from "../db/mod.ts";
import { makePrincipal, type Principal } from "../principal.ts";
import { Problem } from "../problem.ts";

export type Authenticate = (request: Request) => Principal | Promise<Principal>;

export type AuthenticateDeps = {
  db: Database;
  watch: VersionWatch;
  now: () => number;
  keyPrefix: string;
};

/** A record is read again after this long even if no key changed: it also notes that the key is in use. */
const RECORD_LIFE_MS = 60_000;
/** How old the confirmation of the keys' version may be: well under the 5 s in which a revocation must hold. */
const CONFIRMATION_LIFE_MS = 3000;
const MOST_RECORDS = 10_000;

type Cached = { record: KeyRecord; readAt: number; version: number; principal: Principal };

/** A check of the `Authorization` header. @throws {Problem} unauthenticated */
export function makeAuthenticate(deps: AuthenticateDeps): Authenticate {
  const cache = new Map<string, Cached>();
  const pending = new Map<string, Promise<Principal>>();
  return (request) => {
    const header = request.headers.get("authorization");
    if (header === null) throw unauthenticated();
    // Found by its digest: no secret stays in memory, and a look-up's time tells nothing of one.
    const digest = Bun.CryptoHasher.hash("sha256", header, "base64");
    const cached = cache.get(digest);
    if (cached !== undefined && isCurrent(cached, deps)) return admit(cached, deps.now());
    return share(pending, digest, () => verify(deps, cache, { header, digest }));
  };
}

function isCurrent(cached: Cached, { watch, now }: AuthenticateDeps): boolean {
  const time = now();
  if (time - watch.confirmedAt() > CONFIRMATION_LIFE_MS) return false;
  return cached.version >= (watch.latest()?.keys ?? 0) && time - cached.readAt <= RECORD_LIFE_MS;
}

function admit({ record, principal }: Cached, time: number): Principal {
  if (record.expiresAt !== undefined && record.expiresAt.getTime() <= time) throw unauthenticated();
  return principal;
}

/** One look-up a key at a time: a change of any key makes every caller of every key ask again at once. */
function share(
  pending: Map<string, Promise<Principal>>,
  digest: string,
  run: () => Promise<Principal>,
): Promise<Principal> {
  const found = pending.get(digest);
  if (found !== undefined) return found;
  const made = run().finally(() => pending.delete(digest));
  pending.set(digest, made);
  return made;
}

/** Form and checksum cost no query; the database is asked for what is left. */
async function verify(
  deps: AuthenticateDeps,
  cache: Map<string, Cached>,
  { header, digest }: { header: string; digest: string },
): Promise<Principal> {
  const key = /^Bearer +(\S+)$/i.exec(header)?.[1];
  const parts = key === undefined ? undefined : readKeyText(key, deps.keyPrefix);
  if (parts === undefined) throw unauthenticated();
  const readAt = deps.now();
  const found = await useKey(deps, parts.keyId);
  if (found === undefined || !isSecret(found.record, parts.secret)) throw unauthenticated();
  if (found.record.revokedAt !== undefined) throw unauthenticated();
  const cached = { ...found, readAt, principal: makePrincipal(found.record) };
  if (cache.size >= MOST_RECORDS) cache.clear();
  cache.set(digest, cached);
  return admit(cached, deps.now());
}

function isSecret(record: KeyRecord, secret: string): boolean {
  return timingSafeEqual(record.secretHash, hashSecret(secret));
}

function unauthenticated(): Problem {
  return new Problem("unauthenticated", {
    message: "Send a valid API key as Authorization: Bearer <API_KEY>",
    headers: { "www-authenticate": "Bearer" },
  });
}
