/**
 * Creates the database of `dev` with its mark, and logins with least privileges. The mark is an empty schema: it exists
 * before the first table, and is part of dumps.
 *
 * @module
 */

import { quoteLiteral, quoteName } from "../std/quote.ts";
import { listSchemas } from "./existing_objects.ts";
import { type Database, readRows, readValue } from "./pool/mod.ts";

/** Creates a database, unless it exists. */
export async function makeDatabase(admin: Database, name: string): Promise<void> {
  const found = await readRows(admin, "select from pg_catalog.pg_database where datname = $1", [
    name,
  ]);
  if (found.length === 0) await admin.message(`create database ${quoteName(name)}`);
}

/** Whether the database has the service's tables, of any release. */
export async function hasTables(database: Database): Promise<boolean> {
  return await readValue<boolean>(
    database,
    "select pg_catalog.to_regclass('rowhouse.service_migrations') is not null as has_tables",
  );
}

export async function makeLogin(
  admin: Database,
  login: { name: string; password: string },
): Promise<void> {
  const found = await readRows(admin, "select from pg_catalog.pg_roles where rolname = $1", [
    login.name,
  ]);
  const verb = found.length === 0 ? "create" : "alter";
  await admin.message(
    `${verb} role ${quoteName(login.name)} login password ${quoteLiteral(login.password)}`,
  );
}

export const DEV_SCHEMA = "rowhouse_dev";
export const DEV_KEY_NAME = "rowhouse dev";

export async function markForDev(admin: Database): Promise<void> {
  await admin.message(`create schema if not exists ${quoteName(DEV_SCHEMA)}`);
}

/** Returns whether `dev` created the database, and whether it has objects other than those of extensions. */
export async function readDevState(
  admin: Database,
): Promise<{ isMarked: boolean; isEmpty: boolean }> {
  const schemas = await listSchemas(admin);
  return { isMarked: schemas.includes(DEV_SCHEMA), isEmpty: schemas.length === 0 };
}
