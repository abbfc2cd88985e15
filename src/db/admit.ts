/** The serving login's rights: a member of `rowhouse_service`, with the service's time limit. Part of `migrate`. @module */
import { quoteName } from "./literal.ts";
import { type Database, EXECUTION_LIMIT_MS } from "./pool.ts";

export class AdmissionError extends Error {}

/**
 * Lets the login of `databaseUrl` serve. An administrator who serves himself is left as he is.
 *
 * @throws {AdmissionError} there is no such role
 */
export async function admitLogin(admin: Database, databaseUrl: string): Promise<void> {
  const login = decodeURIComponent(new URL(databaseUrl).username);
  const [role] = await admin.query<{ is_self: boolean; database: string }>(
    "select rolname = current_user as is_self, current_database() as database from pg_catalog.pg_roles where rolname = $1",
    [login],
    { effect: "read" },
  );
  if (role === undefined) {
    throw new AdmissionError(
      `The role ${quoteName(login)} of DATABASE_URL does not exist: create it with create role ${quoteName(login)} login password '…'`,
    );
  }
  if (role.is_self) return;
  const database = quoteName(role.database);
  await admin.message(`
do $$ begin perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('rowhouse migrate', 0)); end $$;
grant rowhouse_service to ${quoteName(login)};
alter role ${quoteName(login)} in database ${database} set statement_timeout = '${EXECUTION_LIMIT_MS}ms';
alter role ${quoteName(login)} in database ${database} set client_connection_check_interval = '1s';
select 1`);
}
