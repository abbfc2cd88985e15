/** Whether a database is distributed over the nodes of a Citus cluster: a property of the database, never a setting. @module */
import { type Database, readValue } from "../pool/mod.ts";

/**
 * The table that fixes the number of shards permanently: all distributed tables are colocated with it, so that an app's
 * rows, the proofs of its keys and its functions are on one node. It has no rows.
 */
export const ANCHOR = "rowhouse.shards";

/** SQL for whether the database is distributed; never true on plain PostgreSQL. */
export const IS_DISTRIBUTED_SQL = `pg_catalog.to_regclass('${ANCHOR}') is not null`;

export async function isDistributed(db: Database): Promise<boolean> {
  return await readValue<boolean>(db, `select ${IS_DISTRIBUTED_SQL}`);
}

/** The service's tables that are distributed by app. */
export const BY_APP = ["rowhouse.proofs", "rowhouse.idempotency_keys"] as const;
