/** What `dev` creates on one's own machine: a database, and a login with the least rights. @module */
import { quoteLiteral, quoteName } from "./literal.ts";
import { type Database, SERVICE_QUEUE } from "./pool/mod.ts";

/** Creates a database, unless there is one with that name. */
export async function makeDatabase(admin: Database, name: string): Promise<void> {
  const found = await admin.query("select from pg_catalog.pg_database where datname = $1", [name], {
    retry: "safe",
    queue: SERVICE_QUEUE,
  });
  if (found.length === 0) await admin.message(`create database ${quoteName(name)}`);
}

/** Creates a login, or gives it this password. */
export async function makeLogin(
  admin: Database,
  login: { name: string; password: string },
): Promise<void> {
  const found = await admin.query(
    "select from pg_catalog.pg_roles where rolname = $1",
    [login.name],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const verb = found.length === 0 ? "create" : "alter";
  await admin.message(
    `${verb} role ${quoteName(login.name)} login password ${quoteLiteral(login.password)}`,
  );
}
