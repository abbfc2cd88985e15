/**
 * The new database of a move. The mark, an empty schema, exists from before its first table until every row is compared: no
 * process serves a marked database, and the next move starts over in it.
 *
 * @module
 */
import { PROCESS_SILENT_S } from "../../std/limits.ts";
import { quoteBody, quoteLiteral, quoteName } from "../../std/quote.ts";
import { MOVING_SCHEMA } from "../migrations/state.ts";
import type { Database } from "../pool/mod.ts";
import { readDevState } from "../provision.ts";
import { readRows, readValue } from "../read_rows.ts";

export async function isMoving(database: Database): Promise<boolean> {
  return await readValue<boolean>(
    database,
    `select pg_catalog.to_regnamespace('${MOVING_SCHEMA}') is not null as is_moving`,
  );
}

export type SourceState = {
  name: string;
  /** Whether it has the service's tables. */
  isRowhouse: boolean;
  /** Processes that used the database in the last minutes. */
  processes: number;
};

export async function readSourceState(source: Database): Promise<SourceState> {
  const [state] = await readRows<Omit<SourceState, "processes">>(
    source,
    `select pg_catalog.current_database()::text as name,
      pg_catalog.to_regclass('rowhouse.service_migrations') is not null as "isRowhouse"`,
  );
  const { name = "", isRowhouse = false } = state ?? {};
  const processes = isRowhouse
    ? await readValue<number>(
        source,
        `select count(*)::integer as processes from rowhouse.processes
        where ended_at is null and seen_at > now() - interval '${PROCESS_SILENT_S} seconds'`,
      )
    : 0;
  return { name, isRowhouse, processes };
}

/**
 * Creates the new database with the encoding and the collation of the old one, so that texts keep their order. Returns false
 * if it exists.
 */
export async function createTarget(source: Database, name: string): Promise<boolean> {
  const found = await readRows(source, "select from pg_catalog.pg_database where datname = $1", [
    name,
  ]);
  if (found.length > 0) return false;
  const [old] = await readRows<{ options: string }>(
    source,
    `select pg_catalog.format('encoding %L lc_collate %L lc_ctype %L', pg_catalog.pg_encoding_to_char(encoding), datcollate, datctype)
      || case datlocprovider when 'c' then '' else pg_catalog.format(' locale_provider %s %s %L',
        case datlocprovider when 'i' then 'icu' else 'builtin' end,
        case datlocprovider when 'i' then 'icu_locale' else 'builtin_locale' end,
        coalesce(fields ->> 'datlocale', fields ->> 'daticulocale')) end as options
    from pg_catalog.pg_database, pg_catalog.to_jsonb(pg_database) as fields
    where datname = pg_catalog.current_database()`,
  );
  await source.message(
    `create database ${quoteName(name)} template template0 ${old?.options ?? ""}`,
  );
  return true;
}

/** Prepares the new database: empty and marked. Returns why it cannot be used. */
export async function openTarget(target: Database): Promise<string | undefined> {
  const sessions = await readValue<number>(
    target,
    `select count(*)::integer as sessions from pg_catalog.pg_stat_activity
    where datname = pg_catalog.current_database() and pid <> pg_catalog.pg_backend_pid()
      and application_name = pg_catalog.current_setting('application_name')`,
  );
  if (sessions > 0) return "is in use by another command: wait until it ends";
  if ((await isMoving(target)) || (await hasOnlyTables(target))) await clearTarget(target);
  else if (!(await readDevState(target)).isEmpty)
    return "is not empty: name a database that does not exist, or an empty one";
  await target.message(`create schema ${MOVING_SCHEMA}`);
  return undefined;
}

/** Whether `rowhouse migrate` set up the database, and nothing else has happened in it. */
async function hasOnlyTables(target: Database): Promise<boolean> {
  const isSetUp = await readValue<boolean>(
    target,
    "select pg_catalog.to_regclass('rowhouse.audit') is not null as is_set_up",
  );
  return (
    isSetUp &&
    (await readValue<boolean>(
      target,
      `select not exists (select from rowhouse.apps) and not exists (select from rowhouse.users)
        and not exists (select from rowhouse.audit) as is_unused`,
    ))
  );
}

/** Removes everything that a move creates, and the mark last. */
export async function clearTarget(target: Database): Promise<void> {
  const schemas = ["api", "data", "rowhouse", MOVING_SCHEMA];
  await target.message(
    [...schemas.map((schema) => `drop schema if exists ${schema} cascade`), "select 1"].join(";\n"),
  );
}

export async function dropTarget(source: Database, name: string): Promise<void> {
  await source.message(`drop database if exists ${quoteName(name)} with (force)`);
}

/** Settings whose value is a list need other quotes. */
const LISTS = "_libraries$|^search_path$|^temp_tablespaces$";

type LoginSetting = { login: string | null; name: string; value: string };

/** The settings of logins in the old database, such as time limits; without a login, those of the database. */
async function readLoginSettings(source: Database): Promise<LoginSetting[]> {
  return await readRows<LoginSetting>(
    source,
    `select rolname as login, pg_catalog.split_part(setting, '=', 1) as name,
      pg_catalog.substr(setting, pg_catalog.strpos(setting, '=') + 1) as value
    from pg_catalog.pg_db_role_setting left join pg_catalog.pg_roles on pg_roles.oid = setrole
    cross join lateral pg_catalog.unnest(setconfig) as settings (setting)
    where setdatabase = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
      and (setrole = 0 or rolname is not null) and pg_catalog.split_part(setting, '=', 1) !~ '${LISTS}'
    order by 1, 2`,
  );
}

/** Sets the logins' limits as in the old database, and removes the mark: the new database can be served. */
export async function finishTarget(
  { source, target }: { source: Database; target: Database },
  name: string,
): Promise<void> {
  const database = quoteName(name);
  const statements = (await readLoginSettings(source)).map(({ login, name, value }) => {
    const of =
      login === null ? `database ${database}` : `role ${quoteName(login)} in database ${database}`;
    // Only a superuser can repeat some of them; migrate has set those that are needed.
    return `begin execute ${quoteLiteral(`alter ${of} set ${quoteName(name)} = ${quoteLiteral(value)}`)};
      exception when insufficient_privilege then null; end;`;
  });
  await target.message(
    `do ${quoteBody(`begin ${statements.join("\n")} end`)};
drop schema ${MOVING_SCHEMA};
select 1`,
  );
}
