/**
 * Nonces in the database, where each is used once by all processes of a service together: two processes that get the same
 * signed write at once insert the same key, and one of them succeeds. The nonce counts before the request is handled and
 * whatever becomes of it, so that a write that was refused cannot be sent again either. Requests that arrive while a
 * statement is under way share the next one.
 *
 * @module
 */
import { call, type Database } from "../db/mod.ts";
import { Problem } from "../problem.ts";
import { makeBatch } from "./batch.ts";

/** Whether a nonce is new to every process. @throws {Problem} unavailable; timeout; overloaded */
export type UseNonce = (nonce: string) => Promise<boolean>;

/** A queue of its own: pages and rows do not wait behind nonces, nor these behind them. */
const NONCE_QUEUE = "nonces";

/** A check that records each nonce in the database; concurrent ones share a statement. */
export function makeUseNonce(db: Database): UseNonce {
  const use = makeBatch<string, true>(async (nonces) => {
    const byId = new Map(nonces.map((nonce) => [toId(nonce), nonce]));
    const shown = [...byId.keys()];
    const unused = await call(db, "use_nonces", { shown }, { queue: NONCE_QUEUE });
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

/** Whatever became of the nonce, the write that it is for has not begun. */
function toCertain(error: unknown): unknown {
  if (!(error instanceof Problem && error.code === "unknown_outcome")) return error;
  return new Problem("unavailable", { cause: error, retryAfterS: 1 });
}

/** The same 128 bits as PostgreSQL prints them. */
function toId(nonce: string): string {
  const digits = Buffer.from(nonce, "base64url").toString("hex");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const SWEEP_STEP = 5000;

/** Deletes some that no process would accept any more; returns whether there may be more. */
export async function sweepNonces({ db }: { db: Database }): Promise<boolean> {
  return (
    (await call(db, "sweep_nonces", { max_rows: SWEEP_STEP }, { queue: NONCE_QUEUE })) >= SWEEP_STEP
  );
}
