/** Whether a database is distributed over the nodes of a Citus cluster: a fact of the database, never a setting. @module */
import { type Database, SERVICE_QUEUE } from "../pool/mod.ts";

/**
 * The table that fixes the number of shards once and for all: whatever is distributed is colocated with it, so that an
 * app's rows, the proofs of its keys and its functions are on one node. It has no rows.
 */
export const ANCHOR = "rowhouse.shards";

/** SQL that says whether the database is distributed; never true on plain PostgreSQL. */
export const IS_DISTRIBUTED_SQL = `pg_catalog.to_regclass('${ANCHOR}') is not null`;

export async function isDistributed(db: Database): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>(`select ${IS_DISTRIBUTED_SQL} as found`, [], {
    retry: "safe",
    queue: SERVICE_QUEUE,
  });
  return row?.found === true;
}
