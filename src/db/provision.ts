/**
 * Creates the database of `dev` with its mark, and logins with least privileges. The mark is an empty schema: it exists
 * before the first table, and is part of dumps.
 *
 * @module
 */
import { quoteLiteral, quoteName } from "../std/sql_literal.ts";
import type { Database } from "./pool/mod.ts";
import { readRows } from "./read_rows.ts";

/** Creates a database, unless it exists. */
export async function makeDatabase(admin: Database, name: string): Promise<void> {
  const found = await readRows(admin, "select from pg_catalog.pg_database where datname = $1", [
    name,
  ]);
  if (found.length === 0) await admin.message(`create database ${quoteName(name)}`);
}

/** Creates a login, or sets its password. */
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

/** The schema that marks a database as one of `rowhouse dev`. */
export const DEV_SCHEMA = "rowhouse_dev";
/** The name of the keys that `dev` issues. */
export const DEV_KEY_NAME = "rowhouse dev";

export async function markForDev(admin: Database): Promise<void> {
  await admin.message(`create schema if not exists ${quoteName(DEV_SCHEMA)}`);
}

/** Returns whether `dev` created the database, and whether it has objects other than those of extensions. */
export async function readDevState(
  admin: Database,
): Promise<{ isMarked: boolean; isEmpty: boolean }> {
  const [row] = await readRows<{ isMarked: boolean; isEmpty: boolean }>(
    admin,
    `with schemas as (
      select oid, nspname from pg_catalog.pg_namespace
      where nspname not like 'pg\\_%' and nspname <> 'information_schema'),
    created (catalog, object) as (
      select 'pg_catalog.pg_namespace'::pg_catalog.regclass, oid from schemas where nspname <> 'public'
      union all select 'pg_catalog.pg_class'::pg_catalog.regclass, oid from pg_catalog.pg_class
        where relnamespace in (select oid from schemas) and relkind in ('r', 'p', 'v', 'm', 'S', 'f')
      union all select 'pg_catalog.pg_type'::pg_catalog.regclass, oid from pg_catalog.pg_type
        where typnamespace in (select oid from schemas) and typtype in ('e', 'd', 'r')
      union all select 'pg_catalog.pg_proc'::pg_catalog.regclass, oid from pg_catalog.pg_proc
        where pronamespace in (select oid from schemas)
      union all select 'pg_catalog.pg_largeobject'::pg_catalog.regclass, oid from pg_catalog.pg_largeobject_metadata)
    select exists (select from schemas where nspname = $1) as "isMarked",
      not exists (
        select from created where not exists (
          select from pg_catalog.pg_depend where classid = catalog and objid = object and deptype = 'e')) as "isEmpty"`,
    [DEV_SCHEMA],
  );
  return row ?? { isMarked: false, isEmpty: false };
}
