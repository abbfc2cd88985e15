/**
 * `Idempotency-Key`: a repeated write takes effect once, and gets the first response.
 *
 * @module
 */
import { REPLAY } from "../db/mod.ts";
import type { KeyRequestContext } from "../http/mod.ts";
import { Problem } from "../problem.ts";

/** The free space of each app for recorded responses, as known to this process. */
export type IdempotencyCapacity = {
  readonly hasCapacity: (appId: string) => boolean;
  readonly add: (appId: string, bytes: number) => void;
  /** Sets the database's counts for every app. */
  readonly reset: (sizes: ReadonlyMap<string, number>) => void;
};

/** Space of `maxBytes` per app. */
export function makeIdempotencyCapacity(maxBytes: number): IdempotencyCapacity {
  let used = new Map<string, number>();
  return {
    hasCapacity: (appId) => (used.get(appId) ?? 0) < maxBytes,
    add: (appId, bytes) => void used.set(appId, (used.get(appId) ?? 0) + bytes),
    reset: (sizes) => {
      used = new Map(sizes);
    },
  };
}

/** Bytes of a key without its response; the same number as in `rowhouse.idempotency_sizes`. */
export const KEY_BYTES = 200;

/** Printable ASCII without `, `, which joins the values of a repeated header. */
const KEY = /^(?!.*, )[\x20-\x7e]{1,255}$/;

/**
 * The key of a request; `undefined` without the header.
 *
 * @throws {Problem} invalid_precondition
 */
export function readIdempotencyKey({ headers }: Request): string | undefined {
  const key = headers.get("idempotency-key");
  if (key === null || KEY.test(key)) return key ?? undefined;
  throw new Problem("invalid_precondition", {
    message:
      "Cannot read Idempotency-Key: must be given once, with 1 to 255 printable ASCII characters",
  });
}

/** The key and the request as arguments of the functions: see `rowhouse.claim_key`. */
export function toClaim(
  { request: { method } }: KeyRequestContext,
  {
    key,
    path,
    body,
    hasCapacity,
  }: { key: string; path: string; body: string; hasCapacity: boolean },
): Uint8Array {
  const claim = new Uint8Array(65);
  claim[0] = hasCapacity ? 1 : 0;
  claim.set(toDigest(key), 1);
  claim.set(toDigest(`${method}\n${path}\n${body}`), 33);
  return claim;
}

function toDigest(text: string): Uint8Array {
  return new Bun.CryptoHasher("sha256").update(text).digest();
}

/** A replay of a first response. */
export type Replay = { readonly body: Uint8Array<ArrayBuffer>; readonly isShort: boolean };

const WHOLE = REPLAY.whole.charCodeAt(0);
const SHORT = REPLAY.short.charCodeAt(0);
const MISMATCH = REPLAY.mismatch.charCodeAt(0);
const FULL = REPLAY.full.charCodeAt(0);

/**
 * The first response, if the function returned a replay.
 *
 * @throws {Problem} idempotency_mismatch; idempotency_full
 */
export function readReplay(found: Uint8Array<ArrayBuffer> | null): Replay | undefined {
  const letter = found?.[0];
  if (found === null || letter === undefined) return undefined;
  if (letter === MISMATCH) throw new Problem("idempotency_mismatch");
  if (letter === FULL) throw new Problem("idempotency_full", { retryAfterS: FULL_RETRY_S });
  if (letter !== WHOLE && letter !== SHORT) return undefined;
  return { body: found.subarray(1), isShort: letter === SHORT };
}

/** The interval between counts of the space. */
const FULL_RETRY_S = 600;

/** The headers of a replayed response. */
export function replayHeaders({ isShort }: Replay): Record<string, string> {
  return {
    "idempotency-replayed": "true",
    ...(isShort ? { "preference-applied": "return=minimal" } : {}),
  };
}
