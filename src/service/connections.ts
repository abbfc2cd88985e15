/** Checks whether PostgreSQL allows all connections that the service's processes can open. @module */
import { type Database, readRows } from "../db/mod.ts";
import { type CheckResult, warn } from "./check_result.ts";

/** Max connections: `pool` and `pushing` per worker; `pushing` are those of the pushing login. */
export type Connections = { pool: number; pushing: number; workers: number };

/** `db` connects directly to PostgreSQL: behind a pooler, the pooler opens the connections. */
export async function checkConnections(
  db: Database,
  { pool, pushing, workers }: Connections,
): Promise<CheckResult[]> {
  const [row] = await readRows<{ max: number; login_max: number }>(
    db,
    `select pg_catalog.current_setting('max_connections')::pg_catalog.int4 - pg_catalog.current_setting('superuser_reserved_connections')::pg_catalog.int4
        - coalesce(pg_catalog.current_setting('reserved_connections', true)::pg_catalog.int4, 0) as max, rolconnlimit as login_max
    from pg_catalog.pg_roles where rolname = current_user`,
  );
  const { max = 0, login_max: loginMax = -1 } = row ?? {};
  const serving = pool * workers;
  const all = serving + pushing * workers;
  const isLoginFull = loginMax >= 0 && serving > loginMax;
  if (all <= max && !isLoginFull) return [];
  const limit = isLoginFull ? `the login's limit is ${loginMax}` : `PostgreSQL's limit is ${max}`;
  return [
    warn("connections", {
      message: `this service can open ${isLoginFull ? serving : all}, but ${limit}: PostgreSQL would reject the rest under load`,
      remedy: `lower DATABASE_POOL or WORKERS, or raise ${isLoginFull ? "the login's CONNECTION LIMIT" : "max_connections"}`,
    }),
  ];
}
