/** Reads rows of a test's own statement. @module */
import type { Database } from "../../src/db/mod.ts";
import { readRows } from "../../src/db/mod.ts";

export async function readAll<Row>(admin: Database, text: string): Promise<Row[]> {
  return await readRows<Row>(admin, text);
}
