/** The contents of PostgreSQL's `data` and `api` as facts: one statement over its catalogs, without any app's rows. @module */
import { type Database, LOCK_BUDGET_MS, PLAIN_TEXT, readSqlState } from "../../db/mod.ts";
import { Problem } from "../../problem.ts";
import { isDroppedValue } from "../../schema/mod.ts";
import { canonicalJson } from "../../std/json.ts";
import { readDefaultText } from "../sql/conversions.ts";
import type { Facts } from "./facts.ts";

/**
 * The facts in PostgreSQL's catalogs: the same paths as `toFacts`, and more if someone added an object.
 *
 * @throws {Problem} push_busy — a table is locked: PostgreSQL needs the table's lock to print expressions
 */
export async function readSnapshot(admin: Database): Promise<Facts> {
  const [row] = await admin
    .message<{ facts: string }>(`${FACTS_SETTINGS}
${FACTS_QUERY}`)
    .catch((cause) => {
      if (readSqlState(cause) !== LOCK_TIMEOUT) throw cause;
      throw new Problem("push_busy", { message: "A table is locked right now", cause });
    });
  return readFacts(row?.facts ?? "[]");
}

export function readFacts(found: string): Facts {
  const facts = JSON.parse(found) as [string, string][];
  return new Map(
    facts
      .filter(([path]) => !OF_COPY.test(path))
      .map(([path, value]) => [path, readValue(path, value)]),
  );
}

/** Converts values from PostgreSQL's notation to that of definitions. */
function readValue(path: string, value: string): string {
  if (path.endsWith(" / default")) return readDefaultText(value);
  // PostgreSQL prints a CASE in several lines.
  if (path.includes(" / index ") || path.includes(" / key ")) return value.replaceAll(/\s+/g, " ");
  return path.startsWith("type ") && value.startsWith("[")
    ? canonicalJson(withoutDropped(JSON.parse(value) as string[]))
    : value;
}

/** The copy of a column in a retype, and its type. */
const OF_COPY = /^(?:table \S+ \/ column|type) \$to(?:__| |$)/;

export function withoutDropped(labels: readonly string[]): string[] {
  return labels.filter((label) => !isDroppedValue(label));
}

const LOCK_TIMEOUT = "55P03";

/** Settings affect how expressions are printed: with these, the output is always the same. */
export const FACTS_SETTINGS = `set local lock_timeout = '${LOCK_BUDGET_MS}ms';
set local search_path = pg_catalog;
set local timezone = 'UTC';
set local datestyle = 'ISO';
set local intervalstyle = 'postgres';
set local bytea_output = 'hex';
${PLAIN_TEXT}`;

/** A query that returns one text, which changes only if the facts change. */
export const FACTS_QUERY = `with tables as (
  select oid, relname, 'table ' || relname as path, relowner, relacl, relrowsecurity, relforcerowsecurity
  from pg_class where relnamespace = 'data'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
),
functions as (
  select *, 'function ' || proname || '(' || oidvectortypes(proargtypes) || ')' as path
  from pg_proc where pronamespace = 'api'::regnamespace
    and proname || '(' || oidvectortypes(proargtypes) || ')' in (select signature from rowhouse.list_bodies('', null, false))
),
facts (path, value) as (
  select path, 'there' from tables
  union all select path || ' / owner', relowner::regrole::text from tables
  union all select path || ' / row security',
    case when relrowsecurity then 'on' else 'off' end || case when relforcerowsecurity then ', forced' else ', not forced' end
    from tables
  union all select path || ' / policy ' || polname,
    case when polpermissive then 'permissive' else 'restrictive' end || ' for ' || polcmd::text || ' to ' ||
    (select string_agg(case when role = 0 then 'public' else role::regrole::text end, ', ' order by 1)
      from unnest(polroles) as roles (role))
    || ' using ' || coalesce(pg_get_expr(polqual, polrelid), 'nothing')
    || ' with check ' || coalesce(pg_get_expr(polwithcheck, polrelid), 'nothing')
    from pg_policy join tables on tables.oid = polrelid
  union all select path || ' / grants to ' || case when grantee = 0 then 'public' else grantee::regrole::text end,
    string_agg(privilege_type || case when is_grantable then ' with grant option' else '' end, ', ' order by privilege_type)
    from tables, aclexplode(relacl) where grantee <> relowner group by path, grantee
  union all select path || ' / grants on column ' || attname || ' to ' ||
    case when grantee = 0 then 'public' else grantee::regrole::text end,
    string_agg(privilege_type, ', ' order by privilege_type)
    from tables join pg_attribute on attrelid = tables.oid, aclexplode(attacl) group by path, attname, grantee
  -- Extensions of a server can add options of their own, such as pg_attver.
  union all select path || ' / options of app_id', string_agg(attoption, ', ' order by attoption)
    from tables join pg_attribute on attrelid = tables.oid and attname = 'app_id', unnest(attoptions) as attoption
    where left(attoption, 10) = 'n_distinct' group by path
  union all select path || ' / column ' || attname || fact, value
    from tables join pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped and attname not like '#%'
    left join pg_attrdef on adrelid = attrelid and adnum = attnum,
    lateral (values ('', 'there'),
      (' / type', case when atttypid in (select oid from pg_type where typnamespace = 'data'::regnamespace)
        then 'data.' || (select typname from pg_type where oid = atttypid) else format_type(atttypid, atttypmod) end),
      (' / required', case when attnotnull then 'required' else 'optional' end),
      (' / default', coalesce(pg_get_expr(adbin, adrelid), 'none'))) as column_facts (fact, value)
  union all select path || ' / key ' || substr(attname, 2), format_type(atttypid, atttypmod) || ' '
    || case attgenerated when 's' then 'stored' else 'not stored' end || ' as ' || replace(coalesce(pg_get_expr(adbin, adrelid), 'nothing'), '"', '')
    from tables join pg_attribute on attrelid = tables.oid and not attisdropped and attname like '#%'
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
  union all select path || ' / constraint ' || conname,
    case contype when 'p' then 'primary key' when 'u' then 'unique' when 'f' then 'foreign key' when 'c' then 'check' else contype::text end
    || case when contype = 'c' then ' ' || pg_get_expr(conbin, conrelid)
      else ' (' || (select string_agg(attname, ', ' order by ordinal) from unnest(conkey) with ordinality as k (key, ordinal)
        join pg_attribute on attrelid = conrelid and attnum = key) || ')' end
    || case when contype = 'f' then ' references ' || (select relname from pg_class where oid = confrelid) || ' ('
      || (select string_agg(attname, ', ' order by ordinal) from unnest(confkey) with ordinality as k (key, ordinal)
        join pg_attribute on attrelid = confrelid and attnum = key) || ')'
      || case confdeltype when 'a' then '' when 'c' then ' on delete cascade' else ' on delete '
        || case confdeltype when 'n' then 'set null' else confdeltype::text end
        || coalesce(' (' || (select string_agg(attname, ', ' order by ordinal) from unnest(confdelsetcols) with ordinality as k (key, ordinal)
          join pg_attribute on attrelid = conrelid and attnum = key) || ')', '') end else '' end
    || case when condeferrable then ', deferrable' else '' end
    || case when convalidated then '' else ', not valid' end
    from pg_constraint join tables on tables.oid = conrelid where contype not in ('n', 't')
  union all select path || ' / index ' || index_class.relname,
    amname || ' (' || (select string_agg(coalesce(attname::text, replace(pg_get_indexdef(indexrelid, ordinal::int, true), '"', '')), ', ' order by ordinal)
        from unnest(indkey::int2[]) with ordinality as k (key, ordinal)
        left join pg_attribute on attrelid = indrelid and attnum = key and key <> 0) || ')'
    || case when indisunique then ', unique' else '' end
    || coalesce(' where ' || replace(pg_get_expr(indpred, indrelid, true), '"', ''), '')
    || case when indisvalid then '' else ', invalid' end
    from pg_index join tables on tables.oid = indrelid
    join pg_class as index_class on index_class.oid = indexrelid join pg_am on pg_am.oid = index_class.relam
    where not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))
  union all select path || ' / constraint ' || conname || ' / index', 'invalid'
    from pg_constraint join tables on tables.oid = conrelid join pg_index on indexrelid = conindid
    where contype in ('p', 'u') and not indisvalid
  union all select path || ' / trigger ' || tgname, 'there' from pg_trigger join tables on tables.oid = tgrelid where not tgisinternal and tgname !~ '^listen_to_'
  union all select path || ' / rule ' || rulename, 'there' from pg_rewrite join tables on tables.oid = ev_class where rulename <> '_RETURN'
  union all select 'type ' || typname, (select json_agg(enumlabel order by enumsortorder)::jsonb::text from pg_enum where enumtypid = pg_type.oid)
    from pg_type where typnamespace = 'data'::regnamespace and typtype = 'e'
  union all select 'type ' || typname, 'there' from pg_type where typnamespace = 'data'::regnamespace and typtype in ('d', 'r')
  union all select path || fact, value from functions, lateral (values ('', 'there'),
    (' / owner', proowner::regrole::text),
    (' / security', case when prosecdef then 'definer' else 'invoker' end),
    (' / language', (select lanname from pg_language where pg_language.oid = prolang)),
    (' / settings', coalesce(array_to_string(proconfig, ', '), 'none')),
    (' / argument defaults', coalesce(pg_get_expr(proargdefaults, 0), 'none')),
    (' / body', trim(both E'\\n' from prosrc))) as function_facts (fact, value)
  union all select path || ' / executed by ' || case when grantee = 0 then 'public' else grantee::regrole::text end,
    case when is_grantable then 'allowed, and may grant it' else 'allowed' end
    from functions, aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee <> proowner
)
select coalesce(json_agg(json_build_array(path, value) order by path, value), '[]')::text as facts from facts`;
