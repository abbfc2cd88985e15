/** Reads rows of a test's own statement. @module */
import { type Database, SERVICE_QUEUE } from "../../src/db/mod.ts";

export async function readAll<Row>(admin: Database, text: string): Promise<Row[]> {
  return await admin.query<Row>(text, [], { retry: "safe", queue: SERVICE_QUEUE });
}
