/** Read statements outside of SQL functions: on PostgreSQL's catalogs, or in a database without migrations. @module */
import type { Parameter } from "./pool/connection.ts";
import { type Database, SERVICE_QUEUE } from "./pool/mod.ts";

/** The rows. Uses the service's own queue; the statement can be sent twice. */
export async function readRows<Row>(
  db: Pick<Database, "query">,
  text: string,
  values: readonly Parameter[] = [],
): Promise<Row[]> {
  return await db.query<Row>(text, values, { retry: "safe", queue: SERVICE_QUEUE });
}

/** The value of the only column of the only row. */
export async function readValue<Value>(
  db: Pick<Database, "query">,
  text: string,
  values: readonly Parameter[] = [],
): Promise<Value> {
  const [row] = await readRows<Record<string, Value>>(db, text, values);
  const [value] = Object.values(row ?? {});
  if (value === undefined) throw new Error(`No row: ${text}`);
  return value;
}
