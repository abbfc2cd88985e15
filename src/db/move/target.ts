/**
 * The new database of a move: one that the command creates, an empty one, or one that an unfinished move marked. The mark, an
 * empty schema, exists from before its first table until every row is compared: no process serves a marked database, and the
 * next move starts over in it.
 *
 * @module
 */
import { PROCESS_SILENT_S } from "../../std/limits.ts";
import { quote, quoteBody, quoteLiteral, quoteName } from "../../std/quote.ts";
import { MOVING_SCHEMA } from "../migrations/state.ts";
import { type Database, readRows, readValue } from "../pool/mod.ts";
import { type CreatedObject, listCreatedObjects } from "../provision.ts";
import { readSqlState } from "../sqlstate.ts";

export async function isMoving(database: Database): Promise<boolean> {
  return await readValue<boolean>(
    database,
    `select pg_catalog.to_regnamespace('${MOVING_SCHEMA}') is not null as is_moving`,
  );
}

type SourceState = {
  name: string;
  /** Whether it has the service's tables. */
  isRowhouse: boolean;
  /** Processes that used the database in the last minutes. */
  processes: number;
};

export async function readSourceState(source: Database): Promise<SourceState> {
  const [state] = await readRows<Omit<SourceState, "processes">>(
    source,
    `select pg_catalog.current_database()::pg_catalog.text as name,
      pg_catalog.to_regclass('rowhouse.service_migrations') is not null as "isRowhouse"`,
  );
  const { name = "", isRowhouse = false } = state ?? {};
  const processes = isRowhouse
    ? await readValue<number>(
        source,
        `select pg_catalog.count(*)::pg_catalog.int4 as processes from rowhouse.processes
        where ended_at is null and seen_at > pg_catalog.now() - interval '${PROCESS_SILENT_S} seconds'`,
      )
    : 0;
  return { name, isRowhouse, processes };
}

/** PostgreSQL cuts a longer name. */
const MAX_NAME_BYTES = 63;
/** Databases that tools and PostgreSQL itself use. */
const RESERVED = ["postgres", "template0", "template1"];
/** Another session created the same database or schema a moment ago. */
const EXISTS = new Set(["23505", "42P04", "42P06"]);

/** Finds the database of the name. Returns whether it exists, or why it cannot be used. Reads only the list of databases. */
export async function findTarget(
  source: Database,
  name: string,
): Promise<{ exists: boolean; issue?: string }> {
  if (name === "") return { exists: false, issue: "needs a name" };
  if (/\p{Cc}/u.test(name)) return { exists: false, issue: "has a control character in its name" };
  if (Buffer.byteLength(name) > MAX_NAME_BYTES)
    return { exists: false, issue: `has a name of more than ${MAX_NAME_BYTES} bytes` };
  // An address with it as its path is that of another database.
  if (name === "." || name === "..") return { exists: false, issue: "has no address" };
  const [found] = await readRows<{ isTemplate: boolean; allowsSessions: boolean }>(
    source,
    `select datistemplate as "isTemplate", datallowconn as "allowsSessions"
    from pg_catalog.pg_database where datname = $1`,
    [name],
  );
  const exists = found !== undefined;
  if (RESERVED.includes(name)) return { exists, issue: "is one of PostgreSQL itself" };
  if (found?.isTemplate) return { exists, issue: "is a template of new databases" };
  if (found?.allowsSessions === false) return { exists, issue: "accepts no connections" };
  return { exists };
}

/**
 * Creates the new database with the encoding and the collation of the old one, so that texts keep their order. Returns why
 * it cannot be created.
 */
export async function createTarget(source: Database, name: string): Promise<string | undefined> {
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
  return await explainRefusal(
    source.message(`create database ${quoteName(name)} template template0 ${old?.options ?? ""}`),
    "cannot be created: the administrator needs the right to create databases",
  );
}

/** Returns why the database or the schema was not created. */
async function explainRefusal(
  creating: Promise<unknown>,
  denied: string,
): Promise<string | undefined> {
  try {
    await creating;
  } catch (error) {
    const state = readSqlState(error) ?? "";
    if (EXISTS.has(state)) return "is in use by another move: wait until it ends";
    if (state === "42501") return denied;
    throw error;
  }
  return undefined;
}

/** Checks of sessions that are ending: closed by a client, but not yet by the server. */
const CHECKS = 20;
const CHECK_WAIT_MS = 100;

/** The logins of the sessions that use a database, without this one and those that end now. */
export async function listSessions(database: Database, name: string): Promise<string[]> {
  for (let check = 1; ; check++) {
    const found = await readRows<{ login: string }>(
      database,
      `select distinct pg_catalog.concat(usename, ' (' || nullif(application_name, '') || ')') as login
      from pg_catalog.pg_stat_activity
      where datname = $1 and usename is not null and pid <> pg_catalog.pg_backend_pid() order by 1`,
      [name],
    );
    if (found.length === 0 || check === CHECKS) return found.map(({ login }) => login);
    await Bun.sleep(CHECK_WAIT_MS);
  }
}

type Target = {
  name: string;
  /** Whether this command has just created it: sessions in it are of commands that look at it. */
  isCreated: boolean;
};

/** Returns why a move cannot use the database. Changes nothing. */
export async function checkTarget(
  target: Database,
  { name, isCreated }: Target,
): Promise<string | undefined> {
  // A pooler can give an address another database.
  const opened = await readValue<string>(
    target,
    "select pg_catalog.current_database()::pg_catalog.text",
  );
  if (opened !== name) return `has an address that leads to the database ${quote(opened)}`;
  const sessions = isCreated ? [] : await listSessions(target, name);
  if (sessions.length > 0) return `is in use by ${sessions.join(", ")}: end these sessions first`;
  return describeObjects(await listForeign(target));
}

/** Marks the new database, and removes what an unfinished move left. Returns why it cannot be used. */
export async function openTarget(target: Database, of: Target): Promise<string | undefined> {
  // Read before the sessions: a mark that is set later is of another move.
  const isUnfinished = await isMoving(target);
  const issue = await checkTarget(target, of);
  if (issue !== undefined) return issue;
  if (isUnfinished && !of.isCreated) await clearTarget(target);
  return await explainRefusal(
    target.message(`create schema ${MOVING_SCHEMA}`),
    "cannot be used: the administrator must own it",
  );
}

/** What a move creates: objects of the service's groups in these schemas. */
const CREATED_SCHEMAS = ["api", "data", "rowhouse"];

/** The objects that no unfinished move created: all of them, unless the database is marked. */
async function listForeign(target: Database): Promise<CreatedObject[]> {
  const found = await listCreatedObjects(target);
  if (!found.some(({ schema }) => schema === MOVING_SCHEMA)) return found;
  return found.filter(
    ({ name, schema, isService }) =>
      name !== `schema ${MOVING_SCHEMA}` && !(isService && CREATED_SCHEMAS.includes(schema ?? "")),
  );
}

const MAX_DESCRIBED = 6;

function describeObjects(found: readonly CreatedObject[]): string | undefined {
  if (found.length === 0) return undefined;
  const names = found.slice(0, MAX_DESCRIBED).map(({ name }) => name);
  const more = found.length > MAX_DESCRIBED ? ` and ${found.length - MAX_DESCRIBED} more` : "";
  return `is not empty: it has ${names.join(", ")}${more}. Name a database that does not exist, or an empty one`;
}

/** Removes everything that a move created, and the mark last. */
export async function clearTarget(target: Database): Promise<void> {
  const schemas = [...CREATED_SCHEMAS, MOVING_SCHEMA];
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
