/** PostgreSQL's version, and whether it is supported. @module */
import { type Database, readValue } from "./pool/mod.ts";

/** The first version with `on delete set null (column)` and the row security features that the service needs. */
export const MIN_POSTGRES_VERSION = 15;

export function isSupportedVersion(version: number): boolean {
  return version >= MIN_POSTGRES_VERSION;
}

export async function readMajorVersion(db: Database): Promise<number> {
  return await readValue<number>(
    db,
    "select pg_catalog.current_setting('server_version_num')::pg_catalog.int4 / 10000 as version",
  );
}
