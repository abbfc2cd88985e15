/** What a database of one's own machine is given: a database by name and a login of least rights. Part of `dev`. @module */
import { quoteLiteral, quoteName } from "./literal.ts";
import { type Database, SERVICE_QUEUE } from "./pool/mod.ts";

/** Makes a database where there is none of that name. */
export async function makeDatabase(admin: Database, name: string): Promise<void> {
  const found = await admin.query("select from pg_catalog.pg_database where datname = $1", [name], {
    retry: "safe",
    queue: SERVICE_QUEUE,
  });
  if (found.length === 0) await admin.message(`create database ${quoteName(name)}`);
}

/** Makes a login, or gives it this password. */
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
