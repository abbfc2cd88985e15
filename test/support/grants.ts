/**
 * The rights of each login on each object of the database. Asks PostgreSQL for each right, so that the result includes
 * rights by membership, by ownership and by PUBLIC.
 *
 * @module
 */
import { FUNCTIONS } from "../../src/db/functions.ts";
import { CONSOLE_ACTIONS, type Database, type FunctionShape, readRows } from "../../src/db/mod.ts";

/** By object and then by login. A login without rights on an object has no entry. */
export type Grants = Readonly<Record<string, Readonly<Record<string, string>>>>;

type Right = { object: string; login: string; rights: string };

/** Returns the rights of the roles in `logins`, under the names that are its keys. */
export async function readGrants(
  admin: Database,
  logins: Readonly<Record<string, string>>,
): Promise<Grants> {
  const rows = await readRows<Right>(admin, RIGHTS, [JSON.stringify(logins)]);
  const objects = [...new Set(rows.map(({ object }) => object))];
  return Object.fromEntries(
    objects.map((object) => [
      object,
      Object.fromEntries(
        rows.flatMap((row) =>
          row.object === object && row.rights ? [[row.login, row.rights]] : [],
        ),
      ),
    ]),
  );
}

/** Queries of each kind of object, with rows of `object, login, rights`. They ask for the rights of `role`. */
const KINDS = {
  database: `
    select 'database', login, concat_ws(', ',
      case when has_database_privilege(role, current_database(), 'CONNECT') then 'connect' end,
      case when has_database_privilege(role, current_database(), 'CREATE') then 'create' end,
      case when has_database_privilege(role, current_database(), 'TEMPORARY') then 'temporary' end)
    from logins`,
  schemas: `
    select 'schema ' || nspname, login, case when pg_has_role(role, nspowner, 'usage') then 'owns' else concat_ws(', ',
      case when has_schema_privilege(role, pg_namespace.oid, 'USAGE') then 'usage' end,
      case when has_schema_privilege(role, pg_namespace.oid, 'CREATE') then 'create' end) end
    from pg_namespace cross join logins where nspname !~ '^pg_' and nspname <> 'information_schema'`,
  tables: `
    select case when relnamespace = 'data'::regnamespace then 'each table of data'
        else 'table ' || pg_class.oid::regclass end, login,
      case when pg_has_role(role, relowner, 'usage') then 'owns' else (
        select string_agg(case when has_table_privilege(role, pg_class.oid, kind) then lower(kind) else (
            select lower(kind) || ' (' || string_agg(attname, ', ' order by attnum) || ')' from pg_attribute
            where attrelid = pg_class.oid and attnum > 0 and not attisdropped
              and kind in ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')
              and has_column_privilege(role, pg_class.oid, attname, kind)) end, ', ' order by position)
        from unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER'])
          with ordinality as kinds (kind, position)) end
    from pg_class cross join logins where relkind in ('r', 'p', 'v', 'm', 'f')
      and relnamespace in ('rowhouse'::regnamespace, 'data'::regnamespace, 'api'::regnamespace)`,
  sequences: `
    select 'sequence ' || pg_class.oid::regclass, login,
      case when has_sequence_privilege(role, pg_class.oid, 'USAGE, SELECT, UPDATE') then 'uses' end
    from pg_class cross join logins where relkind = 'S'
      and relnamespace in ('rowhouse'::regnamespace, 'data'::regnamespace, 'api'::regnamespace)`,
  types: `
    select 'each type of data', login, case when pg_has_role(role, typowner, 'usage') then 'owns'
      when has_type_privilege(role, pg_type.oid, 'USAGE') then 'usage' end
    from pg_type cross join logins where typnamespace = 'data'::regnamespace and typtype = 'e'`,
  functions: `
    select case when pronamespace = 'api'::regnamespace then 'each function of api'
        else 'function ' || pg_proc.oid::regprocedure end, login,
      case when pg_has_role(role, proowner, 'usage') then 'owns'
        when has_function_privilege(role, pg_proc.oid, 'EXECUTE') then 'executes' end
    from pg_proc cross join logins
    where pronamespace in ('rowhouse'::regnamespace, 'data'::regnamespace, 'api'::regnamespace, 'find'::regnamespace)`,
};

// Apps' tables, types and functions have one entry per kind. If rights differ, the entry has all variants.
const RIGHTS = `
with logins as (select key as login, value::regrole::oid as role from jsonb_each_text($1::text::jsonb)),
found (object, login, rights) as (${Object.values(KINDS).join("\n    union all")}),
merged as (
  select object, login, string_agg(distinct coalesce(nullif(rights, ''), 'nothing'), ' or ') as rights
  from found group by object, login
)
select object, login, case rights when 'nothing' then '' else rights end as rights from merged order by object, login`;

/** With the actions of the Console, and with what the caller of a function needs in addition to the right. */
export function addNeeds(grants: Grants): Grants {
  const shapes: Readonly<Record<string, FunctionShape>> = FUNCTIONS;
  const toRight = (needsRecentSignIn: boolean) =>
    needsRecentSignIn ? "executes, recent sign-in" : "executes";
  const actions = CONSOLE_ACTIONS.map(
    ({ name, needsRecentSignIn }) =>
      [`action ${name}`, { console: toRight(needsRecentSignIn) }] as const,
  );
  const entries = Object.entries(grants).map(([object, rights]) => {
    const [, name = ""] = /^function rowhouse\.(\w+)/.exec(object) ?? [];
    const isNeeded = "console" in rights && shapes[name]?.needs !== undefined;
    return [object, isNeeded ? { ...rights, console: toRight(true) } : rights] as const;
  });
  return Object.fromEntries([...actions.toSorted(([a], [b]) => (a < b ? -1 : 1)), ...entries]);
}
