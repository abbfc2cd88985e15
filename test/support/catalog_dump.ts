/**
 * Every definition of a database's schemas `rowhouse`, `data`, `api` and `find` as text: two databases with the same dump have the
 * same tables, code, rights, settings and rows that declarations fill.
 *
 * @module
 */
import { type Database, SERVICE_QUEUE } from "../../src/db/mod.ts";

/** Sorted lines, by kind of object. */
export type CatalogDump = Readonly<Record<string, readonly string[]>>;

const rights = (acl: string, kind: string, owner: string) =>
  `(select coalesce(string_agg(concat_ws(' ', case grantee when 0 then 'public' else pg_get_userbyid(grantee) end,
      'has', privilege_type, case when is_grantable then 'grantable' end), ', ' order by grantee::regrole::text, privilege_type), 'no one')
    from aclexplode(coalesce(${acl}, acldefault('${kind}', ${owner}))))`;

const RELATIONS = `pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where nspname in ('rowhouse', 'data', 'api', 'find')`;
const NAME = "concat(nspname, '.', relname)";

/** Queries with one text for each object. */
const QUERIES = {
  schemas: `select concat_ws('; ', nspname, pg_get_userbyid(nspowner), ${rights("nspacl", "n", "nspowner")})
    from pg_namespace where nspname in ('rowhouse', 'data', 'api', 'find')`,
  relations: `select concat_ws('; ', ${NAME}, relkind, relpersistence, pg_get_userbyid(relowner), relrowsecurity, relforcerowsecurity,
      relreplident, reloptions, relispartition, ${rights("relacl", "r", "relowner")},
      case when relkind in ('v', 'm') then pg_get_viewdef(pg_class.oid) end)
    from ${RELATIONS} and relkind not in ('i', 'I')`,
  columns: `select concat_ws('; ', concat(${NAME}, '.', attname), attnum, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
      attcollation, attstorage, attcompression, attstattarget, pg_get_expr(adbin, adrelid),
      case when attacl is not null then ${rights("attacl", "c", "relowner")} end)
    from pg_attribute join pg_class on pg_class.oid = attrelid join pg_namespace on pg_namespace.oid = relnamespace
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where nspname in ('rowhouse', 'data', 'api', 'find') and relkind not in ('i', 'I') and attnum > 0 and not attisdropped`,
  constraints: `select concat_ws('; ', ${NAME}, conname, contype, convalidated, condeferrable, pg_get_constraintdef(pg_constraint.oid))
    from pg_constraint join pg_class on pg_class.oid = conrelid join pg_namespace on pg_namespace.oid = relnamespace
    where nspname in ('rowhouse', 'data', 'api', 'find')`,
  indexes: `select concat_ws('; ', pg_get_indexdef(indexrelid), indisvalid, indisready, indisreplident, indisclustered)
    from pg_index join ${RELATIONS.replace("where", "on pg_class.oid = indexrelid where")}`,
  sequences: `select concat_ws('; ', ${NAME}, seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle)
    from pg_sequence join ${RELATIONS.replace("where", "on pg_class.oid = seqrelid where")}`,
  types: `select concat_ws('; ', format_type(pg_type.oid, null), typtype, pg_get_userbyid(typowner),
      ${rights("typacl", "T", "typowner")},
      (select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder) from pg_enum where enumtypid = pg_type.oid))
    from pg_type join pg_namespace on pg_namespace.oid = typnamespace where nspname in ('rowhouse', 'data', 'api', 'find')`,
  functions: `select concat_ws('; ', pg_proc.oid::regprocedure, pg_get_userbyid(proowner), ${rights("proacl", "f", "proowner")},
      case when prokind <> 'a' then pg_get_functiondef(pg_proc.oid) end)
    from pg_proc join pg_namespace on pg_namespace.oid = pronamespace where nspname in ('rowhouse', 'data', 'api', 'find')`,
  triggers: `select concat_ws('; ', tgenabled, pg_get_triggerdef(pg_trigger.oid))
    from pg_trigger join pg_class on pg_class.oid = tgrelid join pg_namespace on pg_namespace.oid = relnamespace
    where nspname in ('rowhouse', 'data', 'api', 'find') and not tgisinternal`,
  policies: `select concat_ws('; ', ${NAME}, polname, polcmd, polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid),
      pg_get_expr(polwithcheck, polrelid))
    from pg_policy join pg_class on pg_class.oid = polrelid join pg_namespace on pg_namespace.oid = relnamespace`,
  rules: `select pg_get_ruledef(pg_rewrite.oid) from pg_rewrite join pg_class on pg_class.oid = ev_class
    join pg_namespace on pg_namespace.oid = relnamespace where nspname in ('rowhouse', 'data', 'api', 'find')`,
  eventTriggers: `select concat_ws('; ', evtname, evtevent, evtenabled) from pg_event_trigger`,
  comments: `select concat_ws('; ', pg_describe_object(classoid, objoid, objsubid), description) from pg_description
    where pg_describe_object(classoid, objoid, objsubid) ~ '\\m(rowhouse|data|api|find)\\M'`,
  defaults: `select concat_ws('; ', pg_get_userbyid(defaclrole), coalesce(nspname, 'every schema'), defaclobjtype,
      (select string_agg(item::text, ', ' order by item::text) from unnest(defaclacl) as item))
    from pg_default_acl left join pg_namespace on pg_namespace.oid = defaclnamespace`,
  database: `select concat_ws('; ', (select string_agg(item::text, ', ' order by item::text) from unnest(datacl) as item))
    from pg_database where datname = current_database()`,
  settings: `select concat_ws('; ', coalesce(pg_roles.rolname, 'every role'), unnest(setconfig))
    from pg_db_role_setting left join pg_roles on pg_roles.oid = setrole
    where setdatabase = (select oid from pg_database where datname = current_database())`,
  auditActions: `select to_jsonb(audit_actions)::text from rowhouse.audit_actions`,
  appSwitches: `select to_jsonb(app_switches)::text from rowhouse.app_switches`,
} as const;

export async function dumpCatalog(admin: Database): Promise<CatalogDump> {
  const parts = Object.entries(QUERIES).map(
    ([kind, query]) =>
      `'${kind}', (select coalesce(jsonb_agg(line order by line collate "C"), '[]') from (${query}) as listed (line))`,
  );
  // One text for all types: PostgreSQL leaves out a schema that the search path contains.
  const [row] = await admin.message<{ dump: CatalogDump }>(
    `set local search_path = pg_catalog, pg_temp;
    select jsonb_build_object(${parts.join(",\n")}) as dump`,
    { queue: SERVICE_QUEUE },
  );
  return row?.dump ?? {};
}
