/** `Idempotency-Key`: a repeated write takes effect once, and gets the first response. @module */

import { call, type Database, MAX_STORED_RESPONSE_BYTES, REPLAY, type Result } from "../db/mod.ts";
import type { KeyRequestContext } from "../http/mod.ts";
import type { Principal } from "../principal.ts";
import { Problem } from "../problem.ts";
import { IDEMPOTENCY_COUNT_S, IDEMPOTENCY_HOURS, SWEEP_STEP } from "../std/limits.ts";

/** Whose space a key needs: the app's, and for a person also a part of it, so that no person uses up the space of the others. */
type KeyOwner = Pick<Principal, "appId" | "person">;

/** The free space of each app for recorded responses, as known to this process. */
export type IdempotencyCapacity = {
  readonly hasCapacity: (owner: KeyOwner) => boolean;
  /** Whether neither can reach its limit within a short wait for a lock. */
  readonly isFarFromFull: (owner: KeyOwner) => boolean;
  readonly add: (owner: KeyOwner, bytes: number) => void;
  /** Sets the database's counts for every app. */
  readonly reset: (sizes: ReadonlyMap<string, number>) => void;
};

/** `now`: milliseconds of a monotonic clock. */
export function makeIdempotencyCapacity(
  maxBytes: number,
  now: () => number = () => performance.now(),
): IdempotencyCapacity {
  let used = new Map<string, number>();
  // The database counts apps. The count of a person ends after the life of its keys, and with the process.
  const byPeople = new Map<string, number>();
  let since = now();
  const isBelow = ({ appId, person }: KeyOwner, margin: number): boolean => {
    if (now() - since > IDEMPOTENCY_HOURS * 3_600_000) {
      byPeople.clear();
      since = now();
    }
    const ofPerson = person === undefined ? 0 : (byPeople.get(`${appId} ${person.id}`) ?? 0);
    const maxOfPerson = maxBytes * PERSON_PART;
    return (
      (used.get(appId) ?? 0) < maxBytes - margin &&
      ofPerson < maxOfPerson - Math.min(margin, maxOfPerson / 2)
    );
  };
  return {
    hasCapacity: (owner) => isBelow(owner, 0),
    isFarFromFull: (owner) => isBelow(owner, FAR_BYTES),
    add: ({ appId, person }, bytes) => {
      used.set(appId, (used.get(appId) ?? 0) + bytes);
      if (person === undefined) return;
      const name = `${appId} ${person.id}`;
      byPeople.set(name, (byPeople.get(name) ?? 0) + bytes);
    },
    reset: (sizes) => {
      used = new Map(sizes);
    },
  };
}

/** The responses of hundreds of writes. */
const FAR_BYTES = 4_194_304;
/** A person's part of the app's space: in each process, for the life of a key. */
const PERSON_PART = 1 / 8;

/** Printable ASCII without `, `, which joins the values of a repeated header. */
const KEY = /^(?!.*, )[\x20-\x7e]{1,255}$/;

/** The key of a request; `undefined` without the header. @throws {Problem} invalid_precondition */
export function readIdempotencyKey({ headers }: Request): string | undefined {
  const key = headers.get("idempotency-key");
  if (key === null || KEY.test(key)) return key ?? undefined;
  throw new Problem("invalid_precondition", {
    message:
      "Cannot read Idempotency-Key: must be given once, with 1 to 255 printable ASCII characters",
  });
}

type Deps = { readonly idempotencyCapacity: IdempotencyCapacity };
type KeyedRequest = { key: string | undefined; path: string; body: string };

/** The key and the request as an argument of the functions: see `rowhouse.claim_key`. */
export function claimFor(
  { idempotencyCapacity }: Deps,
  { request: { method }, principal }: KeyRequestContext,
  { key, path, body }: KeyedRequest,
): Uint8Array | null {
  if (key === undefined) return null;
  const claim = new Uint8Array(65);
  claim[0] = idempotencyCapacity.hasCapacity(principal) ? 1 : 0;
  claim.set(Bun.CryptoHasher.hash("sha256", key), 1);
  claim.set(Bun.CryptoHasher.hash("sha256", `${method}\n${path}\n${body}`), 33);
  return claim;
}

type Replay = { readonly body: Uint8Array<ArrayBuffer>; readonly isShort: boolean };

const WHOLE = REPLAY.whole.charCodeAt(0);
const SHORT = REPLAY.short.charCodeAt(0);
const MISMATCH = REPLAY.mismatch.charCodeAt(0);
const FULL = REPLAY.full.charCodeAt(0);

type Written = { key: string | undefined; found: Uint8Array<ArrayBuffer> | null; rows: number };

/** The first response to this key, if this call is a replay. @throws {Problem} idempotency_mismatch; idempotency_full */
export function findReplay(
  { idempotencyCapacity }: Deps,
  { principal }: KeyRequestContext,
  { key, found, rows }: Written,
): Replay | undefined {
  if (key === undefined) return undefined;
  const replay = readReplay(found);
  if (replay === undefined && found !== null)
    idempotencyCapacity.add(principal, countStored(found, rows) + KEY_BYTES);
  return replay;
}

function readReplay(found: Uint8Array<ArrayBuffer> | null): Replay | undefined {
  const letter = found?.[0];
  if (found === null || letter === undefined) return undefined;
  if (letter === MISMATCH) throw new Problem("idempotency_mismatch");
  if (letter === FULL) throw new Problem("idempotency_full", { retryAfterS: IDEMPOTENCY_COUNT_S });
  if (letter !== WHOLE && letter !== SHORT) return undefined;
  return { body: found.subarray(1), isShort: letter === SHORT };
}

/** Bytes of a key without its response; the same number as in `rowhouse.idempotency_sizes`. */
const KEY_BYTES = 200;

/** The recorded bytes of a response: as it is, or with only the ids of its rows and the results of upserts. */
function countStored(found: Uint8Array<ArrayBuffer>, rows: number): number {
  if (found.length <= MAX_STORED_RESPONSE_BYTES) return found.length;
  const results = Buffer.from(found.buffer, found.byteOffset, found.length).lastIndexOf(RESULTS);
  const ids = rows * (ID_START + ID_LENGTH + '"},'.length);
  return ids + (results < 0 ? 0 : found.length - results);
}

const RESULTS = '],"results":[';

export function readId(row: Uint8Array): string {
  return new TextDecoder().decode(row.subarray(ID_START, ID_START + ID_LENGTH));
}

const ID_START = '{"id":"'.length;
const ID_LENGTH = 36;

export function replayHeaders(replay: Replay | undefined): Record<string, string> {
  if (replay === undefined) return {};
  return {
    "idempotency-replayed": "true",
    ...(replay.isShort ? { "preference-applied": "return=minimal" } : {}),
  };
}

// Deletes expired idempotency keys, and counts the remaining bytes of each app.

export type IdempotencySweepDeps = { db: Database; idempotencyCapacity: IdempotencyCapacity };

/** Deletes some keys, and returns whether there may be more. After the last keys, counts every app's space. */
export async function sweepIdempotency({
  db,
  idempotencyCapacity,
}: IdempotencySweepDeps): Promise<boolean> {
  if ((await call(db, "sweep_idempotency_keys", { max_rows: SWEEP_STEP })) >= SWEEP_STEP)
    return true;
  idempotencyCapacity.reset(await countKeys(db));
  return false;
}

/** An id before that of every app. */
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";

/** The bytes of keys of each app with keys. Each call counts some apps. */
async function countKeys(db: Database): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (let after: string | undefined = BEFORE_ALL; after !== undefined; ) {
    const counted: Result<"idempotency_sizes"> = await call(db, "idempotency_sizes", { after });
    for (const { app_id, bytes } of counted) if (bytes > 0) sizes.set(app_id, bytes);
    after = counted.at(-1)?.app_id;
  }
  return sizes;
}
