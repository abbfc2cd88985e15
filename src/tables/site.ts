/** The site and previews of a database's functions, as recorded by `rowhouse migrate`. @module */

import { type Database, DIALECT_SQL, PREVIEWS_SQL, readValue } from "../db/mod.ts";
import type { FunctionSite } from "./catalog/mod.ts";

/** The fields of a {@linkcode FunctionSite}, as arguments of `json_build_object`. */
export const SITE_SQL = `'dialect', ${DIALECT_SQL}, 'previews', ${PREVIEWS_SQL}`;

export async function readSite(db: Database): Promise<FunctionSite> {
  return await readValue<FunctionSite>(db, `select pg_catalog.json_build_object(${SITE_SQL})`);
}
