/** Proves a key in the database, outside of a table's function. @module */
import { call, SIGNALS, SignalError } from "../db/mod.ts";
import { keyRejected } from "../http/mod.ts";
import type { Principal } from "../principal.ts";
import type { DataDeps } from "./deps.ts";

/**
 * The database trusts keys, not processes: only a proven key gets an app's declarations. The same statement checks
 * whether the catalog is current: another process may have just pushed.
 */
export async function proveKey(
  { db, catalog }: Pick<DataDeps, "db" | "catalog">,
  { appId, proof }: Principal,
): Promise<void> {
  const version = await call(
    db,
    "prove_key",
    { app: appId, presented_proof: proof },
    {
      queue: appId,
      reject: (error) => {
        const isRejected = error instanceof SignalError && error.signal === SIGNALS.keyRejected;
        return isRejected ? keyRejected(error) : error;
      },
    },
  );
  if (version !== catalog.version()) await catalog.refresh();
}
