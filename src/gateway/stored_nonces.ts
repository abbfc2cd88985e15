/**
 * Used nonces in the database, shared by all processes of a service: if two processes get the same signed write, both insert
 * the same key and only one succeeds. The nonce is used up before the request is handled, regardless of the outcome, so a
 * rejected write cannot be replayed either. Requests that arrive during a statement share the next one.
 *
 * @module
 */
import { call, type Database } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { makeBatch } from "./batch.ts";

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
