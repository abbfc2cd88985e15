/**
 * Used nonces of this process, in bounded memory: each is accepted once. The database stores those of all processes.
 *
 * @module
 */

import { call, type Database } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { makeBatch } from "./batch.ts";

type Nonces = {
  /** Records the nonce of a request that was signed at `timestamp`; `full` if memory is at the limit. */
  readonly use: (nonce: string, timestamp: number) => "new" | "used" | "full";
};

/** A nonce: 128 random bits. */
export function makeNonce(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url");
}

export function isNonce(text: string): boolean {
  return /^[\w-]{22}$/.test(text);
}

/** Nonces are deleted together, by the time slice of their signature. */
const SLICE_MS = 10_000;
const MAX_NONCES = 1_000_000;

/** A store that deletes a nonce after `windowMs`: an older timestamp is rejected in any case. */
export function makeNonces(options: {
  now: () => number;
  windowMs: number;
  maxNonces?: number;
}): Nonces {
  const { now, windowMs, maxNonces = MAX_NONCES } = options;
  const slices = new Map<number, Set<string>>();
  let count = 0;
  let sweptAt = 0;
  const sweep = (): void => {
    const current = Math.floor(now() / SLICE_MS);
    if (current === sweptAt) return;
    sweptAt = current;
    for (const [slice, nonces] of slices) {
      if ((slice + 1) * SLICE_MS > now() - windowMs) continue;
      count -= nonces.size;
      slices.delete(slice);
    }
  };
  return {
    use: (nonce, timestamp) => {
      sweep();
      const slice = Math.floor(timestamp / SLICE_MS);
      const nonces = slices.get(slice) ?? new Set();
      if (nonces.has(nonce)) return "used";
      if (count >= maxNonces) return "full";
      slices.set(slice, nonces.add(nonce));
      count++;
      return "new";
    },
  };
}

// Used nonces in the database, shared by all processes of a service: if two processes get the same
// signed write, both insert the same key and only one succeeds. The nonce is used up before the
// request is handled, regardless of the outcome, so a rejected write cannot be replayed either.
// Requests that arrive during a statement share the next one.

/** Whether a nonce is new to every process. @throws {Problem} unavailable; timeout; overloaded */
export type UseNonce = (nonce: string) => Promise<boolean>;

/** A separate queue, so that nonces and other queries do not wait for each other. */
const NONCE_QUEUE = "nonces";

/** A check that records each nonce in the database; concurrent checks share a statement. */
export function makeUseNonce(db: Database): UseNonce {
  const use = makeBatch<string, true>(async (nonces) => {
    const byId = new Map(nonces.map((nonce) => [toId(nonce), nonce]));
    const presented = [...byId.keys()];
    const unused = await call(db, "use_nonces", { presented }, { queue: NONCE_QUEUE });
    return new Map(unused.map((id) => [byId.get(id) ?? "", true]));
  });
  return async (nonce) => {
    try {
      return (await use(nonce)) === true;
    } catch (error) {
      throw toCertain(error);
    }
  };
}

/** An unknown outcome of the nonce becomes `unavailable`, because the write has not started. */
function toCertain(error: unknown): unknown {
  if (!(error instanceof Problem && error.code === "unknown_outcome")) return error;
  return new Problem("unavailable", { cause: error, retryAfterS: 1 });
}

/** The nonce as a UUID in PostgreSQL's format. */
function toId(nonce: string): string {
  const digits = Buffer.from(nonce, "base64url").toString("hex");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const SWEEP_STEP = 5000;

/** Deletes a batch of expired nonces; returns whether more may exist. */
export async function sweepNonces({ db }: { db: Database }): Promise<boolean> {
  return (
    (await call(db, "sweep_nonces", { max_rows: SWEEP_STEP }, { queue: NONCE_QUEUE })) >= SWEEP_STEP
  );
}
