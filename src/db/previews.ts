/** The enabled previews of a database, as `rowhouse migrate` recorded them from `PREVIEW`. @module */
import type { Preview } from "../preview.ts";
import { type Database, SERVICE_QUEUE } from "./pool/mod.ts";
import { readValue } from "./read_rows.ts";

/** The names as a JSON array, in order. */
export const PREVIEWS_SQL = "(select to_json(features) from rowhouse.release)";

export async function readPreviews(db: Database): Promise<Preview[]> {
  const previews = await readValue<Preview[] | null>(db, `select ${PREVIEWS_SQL}`);
  return previews ?? [];
}

export async function recordPreviews(admin: Database, previews: readonly Preview[]): Promise<void> {
  await admin.query(
    `update rowhouse.release set features = array(
      select name from pg_catalog.jsonb_array_elements_text($1::pg_catalog.text::pg_catalog.jsonb) as listed (name) order by name)`,
    [JSON.stringify(previews)],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
}
