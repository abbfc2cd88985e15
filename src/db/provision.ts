/**
 * Creates the database of `dev` with its mark, and logins with least privileges. The mark is an empty schema: it exists
 * before the first table, and is part of dumps.
 *
 * @module
 */

import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { quoteLiteral, quoteName } from "../std/quote.ts";
import { type Database, readRows, readValue, SERVICE_QUEUE } from "./pool/mod.ts";

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

// A temporary login for one task, with only one role. If an app's tables contain injected code, the
// code runs with the rights of this task, never in an administrator's session.

/**
 * A killed process leaves its login behind. After this time the login cannot sign in, and the next command that needs a
 * temporary login drops it.
 */
const LIFETIME_HOURS = 13;

/**
 * Disables logins that this command cannot drop, because they own objects or have a session: planted code can create objects and
 * set a password. Skips those of another administrator.
 */
const DROP_EXPIRED = `do $$
declare
  expired pg_catalog.name;
begin
  for expired in
    select rolname from pg_catalog.pg_roles
    where rolname ~ '^rowhouse_(rows|tables)_[0-9a-f]{16}$' and rolvaliduntil < pg_catalog.now()
  loop
    begin
      execute pg_catalog.format('alter role %I nologin password null', expired);
      begin
        if not exists (select from pg_catalog.pg_stat_activity where usename = expired) then
          execute pg_catalog.format('drop role %I', expired);
        end if;
      exception
        when dependent_objects_still_exist then null;
      end;
    exception
      when insufficient_privilege then null;
      when undefined_object or internal_error then null; -- another command has just dropped it
    end;
  end loop;
end $$;`;

/**
 * Runs `use` with the connection string of a new login in `group`, then drops the login.
 *
 * @throws the error of `use`, even if the login cannot be dropped
 */
export async function withTemporaryLogin<Result>(
  admin: Database,
  { url, group }: { url: string; group: "rowhouse_rows" | "rowhouse_tables" },
  use: (url: string) => Promise<Result>,
): Promise<Result> {
  const name = `${group}_${randomBytes(8).toString("hex")}`;
  const password = randomBytes(24).toString("hex");
  const until = new Date(Date.now() + LIFETIME_HOURS * 3_600_000).toISOString();
  await admin.message(
    `${DROP_EXPIRED}
    create role ${quoteName(name)} login password ${quoteLiteral(toVerifier(password))}
      valid until ${quoteLiteral(until)} in role ${group}`,
  );
  const own = new URL(url);
  own.username = name;
  own.password = password;
  const drop = async () => {
    // The login owns objects if planted code ran in its session: then it cannot be dropped, and could have another password.
    await admin.message(`alter role ${quoteName(name)} nologin password null`);
    await admin.message(`drop role ${quoteName(name)}`);
  };
  let result: Result;
  try {
    result = await use(own.href);
  } catch (error) {
    // A remaining login expires, and the next command drops it.
    await drop().catch(() => undefined);
    throw error;
  }
  await drop();
  return result;
}

const ITERATIONS = 4096;

/** The verifier that PostgreSQL stores for a password (RFC 5803), so that the server's log never contains the password. */
function toVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, "sha256");
  const sign = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(sign("Client Key")).digest("base64");
  const serverKey = sign("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}

// A session without a sign-in, for tests of rules: only in a database of `rowhouse dev`.

type DevSession = {
  readonly userId: string;
  readonly id: string;
  readonly secretId: string;
  readonly sessionDigest: string;
  readonly identityDigest: string;
  readonly maxS: number;
};

/** @throws {Error} `dev` did not create the database: no other one gets a session without a password */
export async function startDevSession(admin: Database, session: DevSession): Promise<void> {
  const { isMarked } = await readDevState(admin);
  if (!isMarked) throw new Error("Cannot start a session: this is not a database of rowhouse dev");
  await admin.query(
    `select rowhouse.start_session($1::pg_catalog.uuid, '', $2, pg_catalog.decode($3, 'hex'),
      pg_catalog.decode($4, 'hex'), $5, $6::pg_catalog.int4, pg_catalog.now(), null, '127.0.0.1', 'rowhouse dev', true)`,
    [
      session.userId,
      session.id,
      session.sessionDigest,
      session.identityDigest,
      session.secretId,
      session.maxS,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
}

// What people created in a database: `dev` writes only into a database without such objects.

/** Kinds of objects: the catalog, the column of its schema and a condition. */
const KINDS: readonly { catalog: string; schema?: string; only?: string; described?: string }[] = [
  { catalog: "pg_namespace", schema: "pg_namespace.oid", only: "nspname <> 'public'" },
  {
    catalog: "pg_class",
    schema: "relnamespace",
    only: "relkind in ('r', 'p', 'v', 'm', 'S', 'f')",
  },
  {
    catalog: "pg_type",
    schema: "typnamespace",
    only: `typcategory <> 'A' and typtype <> 'm' and (typtype <> 'c'
      or exists (select from pg_catalog.pg_class where pg_class.oid = typrelid and relkind = 'c'))`,
  },
  { catalog: "pg_proc", schema: "pronamespace" },
  { catalog: "pg_operator", schema: "oprnamespace" },
  { catalog: "pg_opfamily", schema: "opfnamespace" },
  { catalog: "pg_collation", schema: "collnamespace" },
  { catalog: "pg_conversion", schema: "connamespace" },
  { catalog: "pg_ts_config", schema: "cfgnamespace" },
  { catalog: "pg_ts_dict", schema: "dictnamespace" },
  { catalog: "pg_statistic_ext", schema: "stxnamespace" },
  { catalog: "pg_cast" },
  { catalog: "pg_event_trigger" },
  { catalog: "pg_publication" },
  { catalog: "pg_foreign_data_wrapper" },
  { catalog: "pg_foreign_server" },
  { catalog: "pg_language" },
  { catalog: "pg_largeobject_metadata", described: "pg_largeobject" },
];

/** Objects of the server itself have lower ids. */
const FIRST_ID = 16_384;

const OBJECTS = KINDS.map(
  ({ catalog, schema = "null::oid", only = "true", described = catalog }) =>
    `select 'pg_catalog.${described}'::pg_catalog.regclass as catalog, ${catalog}.oid as object, ${schema} as namespace
    from pg_catalog.${catalog} where ${catalog}.oid >= ${FIRST_ID} and ${only}`,
).join("\nunion all ");

/** Lists the schemas of the objects, without those of extensions. An object without a schema has null; a schema is in itself. */
async function listSchemas(database: Database): Promise<(string | null)[]> {
  const found = await readRows<{ schema: string | null }>(
    database,
    `with objects as (${OBJECTS})
    select distinct nspname::pg_catalog.text as schema
    from objects left join pg_catalog.pg_namespace on pg_namespace.oid = namespace
    where (nspname is null or (nspname !~ '^pg_' and nspname <> 'information_schema'))
      and not exists (select from pg_catalog.pg_depend
        where classid = catalog and objid = object and pg_depend.deptype = 'e')`,
  );
  return found.map(({ schema }) => schema);
}
