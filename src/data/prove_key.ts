/** Proves a key in the database, outside of a table's function. @module */
import { call, SIGNALS, SignalError } from "../db/mod.ts";
import { keyRejected } from "../http/mod.ts";
import type { Principal, Scope } from "../principal.ts";
import type { DataDeps } from "./deps.ts";

/** The error of a rejected key, for calls that prove it. */
export function rejectKey(error: unknown): unknown {
  const isRejected = error instanceof SignalError && error.signal === SIGNALS.keyRejected;
  return isRejected ? keyRejected(error) : error;
}

/**
 * The database trusts keys, not processes: only a proven key gets an app's declarations, and errors that name columns or
 * values. The same statement checks whether the catalog is current: another process may have just pushed. For
 * `data:write`, it also checks that no setting stops the app's writes.
 *
 * @throws {Problem} unauthenticated; read_only
 */
export async function proveKey(
  { db, catalog }: Pick<DataDeps, "db" | "catalog">,
  { appId, proof, person }: Principal,
  scope?: Extract<Scope, `data:${string}`>,
): Promise<void> {
  // A person's key that claims to be an API key would get what only API keys read.
  const version = await call(
    db,
    person === undefined ? "prove_api_key" : "prove_key",
    { app: appId, presented_proof: proof, scope },
    { queue: appId, reject: rejectKey },
  );
  if (version !== catalog.version()) await catalog.refresh();
}
