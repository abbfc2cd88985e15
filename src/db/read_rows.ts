/** Reading statements that are no functions: of PostgreSQL's own catalogs, or in a database that is not migrated yet. @module */
import type { Parameter } from "./pool/connection.ts";
import { type Database, SERVICE_QUEUE } from "./pool/mod.ts";

/** Its rows. Waits in the service's own queue, and may be sent twice. */
export async function readRows<Row>(
  db: Pick<Database, "query">,
  text: string,
  values: readonly Parameter[] = [],
): Promise<Row[]> {
  return await db.query<Row>(text, values, { retry: "safe", queue: SERVICE_QUEUE });
}
