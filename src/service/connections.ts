/** Whether PostgreSQL has as many connections as the processes of a service may open. @module */
import { type Database, readRows } from "../db/mod.ts";
import type { Finding } from "./finding.ts";

/** What a service with these settings opens at most; `pushing` of each process go to the login that pushes. */
export type Connections = { pool: number; pushing: number; workers: number };

/** `db` goes straight to PostgreSQL: behind a pooler it is the pooler that opens connections. */
export async function examineConnections(
  db: Database,
  { pool, pushing, workers }: Connections,
): Promise<Finding[]> {
  const [row] = await readRows<{ most: number; login_most: number }>(
    db,
    `select pg_catalog.current_setting('max_connections')::pg_catalog.int4 - pg_catalog.current_setting('superuser_reserved_connections')::pg_catalog.int4
        - coalesce(pg_catalog.current_setting('reserved_connections', true)::pg_catalog.int4, 0) as most, rolconnlimit as login_most
    from pg_catalog.pg_roles where rolname = current_user`,
  );
  const { most = 0, login_most: loginMost = -1 } = row ?? {};
  const serving = pool * workers;
  const all = serving + pushing * workers;
  const isLoginFull = loginMost >= 0 && serving > loginMost;
  if (all <= most && !isLoginFull) return [];
  const limit = isLoginFull ? `the login may have ${loginMost}` : `PostgreSQL has ${most}`;
  return [
    {
      about: "connections",
      level: "warn",
      says: `this service may open ${isLoginFull ? serving : all}, and ${limit}: the rest would be refused under load`,
      remedy: `lower DATABASE_POOL or WORKERS, or raise ${isLoginFull ? "the login's CONNECTION LIMIT" : "max_connections"}`,
    },
  ];
}
