/**
 * Checks that PostgreSQL still isolates apps as push and migrate set it up: row security, policies, owners, grants and
 * roles, and that `data` and `api` contain no code that a push does not create. One statement on PostgreSQL's catalogs.
 * Never reads apps' rows, and repairs nothing.
 *
 * @module
 */
import { SQL } from "../kinds/mod.ts";
import type { Role } from "../role.ts";
import { quoteLiteral } from "../std/quote.ts";
import { type Finders, READER, renderIsReaderPolicy, renderReaderRules } from "./reader.ts";

/** The group role of a serving login, by the role of its process. */
export const SERVING_ROLES = {
  all: "rowhouse_service",
  gateway: "rowhouse_gateway",
  data: "rowhouse_data",
  identity: "rowhouse_identity",
} as const satisfies Record<Role, string>;

export const APP_SETTING = "rowhouse.app_id";

export const TENANT_POLICY = {
  /** As push writes it. */
  written: `app_id = nullif(pg_catalog.current_setting('${APP_SETTING}', true), '')::pg_catalog.uuid`,
  /** As PostgreSQL 15 to 18 print it. */
  printed: `(app_id = (NULLIF(current_setting('${APP_SETTING}'::text, true), ''::text))::uuid)`,
} as const;

/** The same where `quote_all_identifiers` is on: the check is one statement, also on nodes, and cannot turn it off. */
const QUOTED_POLICY = `("app_id" = (NULLIF("current_setting"('${APP_SETTING}'::"text", true), ''::"text"))::"uuid")`;
const POLICIES = [TENANT_POLICY.printed, QUOTED_POLICY].map(quoteLiteral).join(", ");
const MAX_ISSUES = 50;

/** The only functions in expressions of a push: digests, prefixes and parts of texts in indexes, an app's id, and an enum's value. */
const INDEX_FUNCTIONS = [
  ...Object.values(SQL).flatMap(({ parts }) => parts?.calls ?? []),
  "pg_catalog.left(pg_catalog.text, pg_catalog.int4)",
  "pg_catalog.sha256(pg_catalog.bytea)",
  "pg_catalog.decode(pg_catalog.text, pg_catalog.text)",
  "pg_catalog.replace(pg_catalog.text, pg_catalog.text, pg_catalog.text)",
  "pg_catalog.uuid_eq(pg_catalog.uuid, pg_catalog.uuid)",
  "pg_catalog.enum_eq(pg_catalog.anyenum, pg_catalog.anyenum)",
];
/** The only functions in defaults: those of computed defaults. */
const DEFAULT_FUNCTIONS = [
  ...new Set(
    Object.values(SQL).flatMap(({ computed = {} }) =>
      Object.values(computed).flatMap(({ calls }) => calls),
    ),
  ),
];

/**
 * Returns whether a stored expression contains a call or a kind of node that no push writes. Reads the stored tree: printing it
 * would wait for the lock on its table. A tree contains neither names nor texts that an attacker could choose.
 */
function isForeign(expression: string, { nodes, calls }: { nodes: string[]; calls: string[] }) {
  const oids = calls.map(
    (call) => `${quoteLiteral(call)}::pg_catalog.regprocedure::pg_catalog.oid`,
  );
  return `(${expression}::pg_catalog.text ~ '[{](?!(${nodes.join("|")}) )'
    or ${expression}::pg_catalog.text ~ (':(funcid|opfuncid) (?!('
      || pg_catalog.concat_ws('|', ${oids.join(", ")}) || ') )'))`;
}

const IN_INDEX = {
  nodes: ["FUNCEXPR", "OPEXPR", "CASEEXPR", "CASEWHEN", "BOOLEXPR", "NULLTEST", "VAR", "CONST"],
  calls: INDEX_FUNCTIONS,
};
/** Stored keys of columns, which only processes before 0.2.0 search. */
const IN_KEY = {
  nodes: IN_INDEX.nodes,
  calls: [
    "pg_catalog.float8(pg_catalog.numeric)",
    "pg_catalog.abs(pg_catalog.numeric)",
    ...["ge", "gt", "lt"].map(
      (name) => `pg_catalog.numeric_${name}(pg_catalog.numeric, pg_catalog.numeric)`,
    ),
  ],
};
const IN_DEFAULT = { nodes: ["FUNCEXPR", "CONST"], calls: DEFAULT_FUNCTIONS };

/** Objects that no push creates, and whose code could run in a session that reads, writes or plans: one issue each. */
const PLANTED = `
  select pg_catalog.pg_describe_object(classid, objid, 0) || ' must not be in the schemas of apps'' tables and functions'
    from pg_catalog.pg_depend where refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
      and refobjid in (pg_catalog.to_regnamespace('data'), pg_catalog.to_regnamespace('api'), pg_catalog.to_regnamespace('find'))
      and not case classid
        when 'pg_catalog.pg_class'::pg_catalog.regclass then refobjid = pg_catalog.to_regnamespace('data')
          and exists (select from pg_catalog.pg_class where pg_class.oid = objid and relkind in ('r', 'p', 'v', 'm', 'f'))
        when 'pg_catalog.pg_proc'::pg_catalog.regclass then refobjid <> pg_catalog.to_regnamespace('data')
        when 'pg_catalog.pg_type'::pg_catalog.regclass then refobjid = pg_catalog.to_regnamespace('data')
          and exists (select from pg_catalog.pg_type where pg_type.oid = objid and typtype = 'e' and (
            typname ~ '__enum$' or exists (select from pg_catalog.pg_depend as used
              where used.refclassid = pg_depend.classid and used.refobjid = pg_depend.objid
                and used.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and used.objsubid > 0)))
        else false end
  union all
  select 'Function api.' || proname || ' must match the definition that a push creates'
    from functions where prokind <> 'f' or proretset or prosupport <> 0 or proconfig is not null or pronargdefaults > 0
      or has_sql or provolatile = 'i' or prorettype <> 'pg_catalog.text'::pg_catalog.regtype
      or prolang is distinct from (select oid from pg_catalog.pg_language where lanname = 'plpgsql')
  union all
  select 'Cast from ' || castsource::pg_catalog.regtype || ' to ' || casttarget::pg_catalog.regtype || ' must not exist'
    from pg_catalog.pg_cast where castsource in (select oid from app_types) or casttarget in (select oid from app_types)
  union all
  select 'Constraint ' || conname || ' of ' || name || ' must be a constraint that a push creates'
    from pg_catalog.pg_constraint join app_tables on app_tables.oid = conrelid
    where contype not in ('p', 'f', 'n') or condeferrable
  union all
  select 'Index data.' || index_class.relname || ' must contain only expressions that a push indexes'
    from pg_catalog.pg_index join app_tables on app_tables.oid = indrelid
    join pg_catalog.pg_class as index_class on index_class.oid = indexrelid
    where ${isForeign("indexprs", IN_INDEX)} or ${isForeign("indpred", IN_INDEX)}
  union all
  select 'Statistics ' || stxname || ' of ' || name || ' must have no expression'
    from pg_catalog.pg_statistic_ext join app_tables on app_tables.oid = stxrelid where stxexprs is not null
  union all
  select 'Column ' || attname || ' of ' || name || ' must have only a default that a push sets'
    from app_tables join pg_catalog.pg_attribute on attrelid = app_tables.oid and attnum > 0 and not attisdropped
    left join pg_catalog.pg_attrdef on adrelid = attrelid and adnum = attnum
    where attidentity <> '' or case
      when attname like '#%' then attgenerated <> 's' or atttypid <> 'pg_catalog.float8'::pg_catalog.regtype or ${isForeign("adbin", IN_KEY)}
      else attgenerated <> '' or ${isForeign("adbin", IN_DEFAULT)} end
  union all
  select 'Column ' || attname || ' of ' || name || ' must not have its own grants'
    from app_tables join pg_catalog.pg_attribute on attrelid = app_tables.oid and attacl is not null`;

/**
 * A policy's expression as text. Printing it through the policy's own table would wait for a lock on that table, so it is
 * printed through a table of the service, whose first column has the same name. Skips expressions over other columns: no
 * push writes them.
 */
function print(expression: string, by: string): string {
  return `case when ${expression}::pg_catalog.text !~ ':varattno (?!1 )'
          then pg_catalog.pg_get_expr(${expression}, '${by}'::pg_catalog.regclass) end`;
}

/** The service's table for printing expressions: without or with a copy on every node. */
type Printer = "rowhouse.registrations" | "rowhouse.shards";

/** The checked objects: apps' tables, functions, logins. Names of shards end with a number. */
const SUBJECTS = `
with relations as (
  select oid, 'data.' || relname as name, 'rowhouse_tables' as wanted_owner, relkind, relowner, relacl, relrowsecurity, relforcerowsecurity
  from pg_catalog.pg_class
  where relnamespace = pg_catalog.to_regnamespace('data') and relkind in ('r', 'p', 'v', 'm', 'f')
  union all
  -- The tables of keys' proofs, of stored responses and of changes have the same policies as rows.
  select oid, 'rowhouse.' || relname, 'rowhouse_owner', relkind, relowner, relacl, relrowsecurity, relforcerowsecurity
  from pg_catalog.pg_class
  where relnamespace = pg_catalog.to_regnamespace('rowhouse') and relkind in ('r', 'p')
    and relname ~ '^(proofs|idempotency_keys|changes|row_changes)(_[0-9]+)?$'
),
tables as (select * from relations where relkind in ('r', 'p')),
app_tables as (select * from tables where wanted_owner = 'rowhouse_tables'),
app_types as (
  select oid from pg_catalog.pg_type
  where typnamespace in (pg_catalog.to_regnamespace('data'), pg_catalog.to_regnamespace('api'))
),
functions as (
  select oid, proname, proowner, proacl, prosecdef, prokind, proretset, prosupport, proconfig, pronargdefaults,
    prosqlbody is not null as has_sql, provolatile, prorettype, prolang
  from pg_catalog.pg_proc
  where pronamespace = pg_catalog.to_regnamespace('api')
),
serving as (
  select oid, rolname from pg_catalog.pg_roles
  where rolname in (${Object.values(SERVING_ROLES).map(quoteLiteral).join(", ")})
),
tenant as (select * from pg_catalog.pg_roles where rolname = 'rowhouse_tenant'),
listener as (select * from pg_catalog.pg_roles where rolname = 'rowhouse_listener'),
reader as (select * from pg_catalog.pg_roles where rolname = '${READER.role}'),
triggers as (
  select tgrelid, pg_catalog.concat_ws(' ', tgname, tgtype, tgfoid, tgenabled, tgconstrrelid, tgnargs, tgattr, tgoldtable, tgnewtable,
      -- Trees also say where in the statement they were.
      pg_catalog.regexp_replace(tgqual::pg_catalog.text, ':location -?[0-9]+', '', 'g')) as form
  from pg_catalog.pg_trigger where not tgisinternal
),
owner as (select * from pg_catalog.pg_roles where rolname = 'rowhouse_tables'),`;

/** Each query selects the violations of one rule. */
function renderTableRules(printedBy: Printer): string {
  return `
  select 'Table ' || name || ' must have row security enabled and forced'
    from tables where not (relrowsecurity and relforcerowsecurity)
  union all
  select 'Table ' || name || ' must belong to ' || wanted_owner
    from tables where relowner is distinct from pg_catalog.to_regrole(wanted_owner)
  union all
  select 'Table ' || name || ' must have only the tenant policy' || case wanted_owner when 'rowhouse_tables' then ', and one by which ${READER.role} reads' else '' end
    from tables where (
      select pg_catalog.count(*) <> 1 or not pg_catalog.bool_and(
        polname = 'tenant' and polcmd = '*' and polpermissive and polroles = '{0}'
        and coalesce(${print("polqual", printedBy)}, '') in (${POLICIES})
        and coalesce(${print("polwithcheck", printedBy)}, '') in (${POLICIES}))
      from pg_catalog.pg_policy where polrelid = tables.oid and not (wanted_owner = 'rowhouse_tables' and ${renderIsReaderPolicy(print("polqual", printedBy))}))
    or (select attname from pg_catalog.pg_attribute where attrelid = tables.oid and attnum = 1) is distinct from 'app_id'
  union all
  select 'Relation ' || name || ' must be a table' from relations where relkind not in ('r', 'p')
  union all
  select 'Table ' || name || ' must have no triggers but listeners, and no rules'
    from tables where exists (select from triggers where tgrelid = tables.oid and not (
        wanted_owner = 'rowhouse_tables' and form in (
          select form from triggers where tgrelid = pg_catalog.to_regclass('rowhouse.listened'))))
      or exists (select from pg_catalog.pg_rewrite where ev_class = tables.oid)
  union all
  select distinct 'Relation ' || name || ' must be granted only to rowhouse_tenant, and only for rows'
    from relations, pg_catalog.aclexplode(relacl)
    where grantee <> relowner and not (
      grantee = (select oid from tenant) and not is_grantable
      and privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE'))
      and not (grantee = (select oid from listener) and not is_grantable
        and privilege_type = 'INSERT' and name in ('rowhouse.changes', 'rowhouse.row_changes'))
      and not (grantee = (select oid from reader) and not is_grantable
        and privilege_type = 'SELECT' and wanted_owner = 'rowhouse_tables')`;
}

/** A role that owns functions that run with its rights, and the query that finds it. */
function renderOwnerRules(role: string, query: string): string {
  return `
  select 'Role ${role} must exist, without SUPERUSER, BYPASSRLS and LOGIN'
    where not exists (select from ${query} where not rolsuper and not rolbypassrls and not rolcanlogin)
  union all
  select 'Role ${role} must own no table'
    where exists (select from pg_catalog.pg_class where relkind in ('r', 'p') and relowner = (select oid from ${query}))
  union all
  select 'Role ${role} must be a member of no other role'
    where exists (select from pg_catalog.pg_auth_members where member = (select oid from ${query}))`;
}

/**
 * Listeners record rows of apps. A cluster has none, and an upgraded database only a while after the functions of the release:
 * until then, processes of the earlier release serve it.
 */
const LISTENER_RULES = `
  select 'Table ' || name || ' must have the listeners of its apps'
    from app_tables left join (select tgrelid, pg_catalog.count(*) as listeners from triggers group by tgrelid) as listening on tgrelid = oid
    where listeners <> 3
      or (listeners is null and exists (select from rowhouse.release where release.name is not null)
        and app_tables.name in (select 'data.' || heard from rowhouse.list_heard() as heard))
  union all
  select 'Function rowhouse.' || proname || ' must belong to rowhouse_listener'
    from pg_catalog.pg_proc where oid in (select tgfoid from pg_catalog.pg_trigger
        where tgrelid = 'rowhouse.listened'::pg_catalog.regclass and not tgisinternal)
      and proowner is distinct from (select oid from listener)
  union all
${renderOwnerRules("rowhouse_listener", "listener")}
  union all
  -- From PostgreSQL 16 on, the creator of a role is recorded as a member that may only grant it.
  select 'Role rowhouse_listener must have only administrators as members, not ' || pg_catalog.pg_get_userbyid(member)
    from pg_catalog.pg_auth_members as members
    where roleid = (select oid from listener) and not pg_catalog.pg_has_role(member, pg_catalog.to_regrole('rowhouse_owner'), 'member')
      and coalesce((pg_catalog.to_jsonb(members) ->> 'inherit_option')::pg_catalog.bool
        or (pg_catalog.to_jsonb(members) ->> 'set_option')::pg_catalog.bool, true)`;

const FUNCTION_RULES = `
  select 'Function api.' || proname || ' must belong to rowhouse_tenant and be a security definer'
    from functions where not prosecdef or proowner is distinct from (select oid from tenant)
  union all
  select distinct 'Function api.' || proname || ' must be granted to the serving roles only'
    from functions left join lateral pg_catalog.aclexplode(proacl) as grants on true
    where proacl is null or (grantee <> proowner and (
      is_grantable or not exists (select from serving where serving.oid = grantee)))`;

/** The functions of all tables run as rowhouse_tenant, whose members can change everything of them but their bodies. */
function renderSharedRules(names: readonly string[]): string {
  const listed = names.map(quoteLiteral).join(", ");
  return `
  select 'Function rowhouse.' || proname || ' must be as rowhouse migrate creates it'
    from pg_catalog.pg_proc where pronamespace = pg_catalog.to_regnamespace('rowhouse')
      and (proname in (${listed}) or proowner = (select oid from tenant))
      and (proname not in (${listed}) or proowner is distinct from (select oid from tenant)
        or not prosecdef or prosupport <> 0 or proconfig is distinct from array['search_path=pg_catalog, pg_temp'] or proacl is null
        or exists (select from pg_catalog.aclexplode(proacl) where grantee <> proowner
          and (is_grantable or not exists (select from serving where serving.oid = grantee))))`;
}

const ROLE_RULES = `
${renderOwnerRules("rowhouse_tenant", "tenant")}
  union all
  select 'Role rowhouse_tables must exist, without SUPERUSER, BYPASSRLS and CREATEROLE'
    where not exists (select from owner where not rolsuper and not rolbypassrls and not rolcreaterole)
  union all
  select 'Role rowhouse_tables must own only apps'' tables, not ' || relnamespace::pg_catalog.regnamespace || '.' || relname
    from pg_catalog.pg_class where relowner = (select oid from owner)
      and relnamespace is distinct from pg_catalog.to_regnamespace('data')
      and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  union all
  select 'Role rowhouse_tables must be a member of rowhouse_tenant only'
    where exists (select from pg_catalog.pg_auth_members
      where member = (select oid from owner) and roleid <> (select oid from tenant))
  union all
  select 'Role ' || serving.rolname || ' must not be a member of ' || other.rolname
    from serving join pg_catalog.pg_roles as other
      on other.rolname in ('rowhouse_owner', 'rowhouse_tables', 'rowhouse_tenant', 'rowhouse_rows', 'rowhouse_listener', 'rowhouse_reader')
    where pg_catalog.pg_has_role(serving.oid, other.oid, 'member')`;

type Guarded = {
  /** The functions of the schema find. */
  readonly finders: Finders;
  /** The names of those that belong to rowhouse_tenant. */
  readonly shared: readonly string[];
};

/** A statement with one value: the first issues as JSON. A node has neither listeners nor finders of tables. */
function renderIssues(printedBy: Printer, { finders, shared }: Guarded): string {
  const isOneServer = printedBy === "rowhouse.registrations";
  const rules = [
    ...[renderTableRules(printedBy), FUNCTION_RULES, ROLE_RULES, renderSharedRules(shared)],
    ...(isOneServer ? [LISTENER_RULES] : []),
    renderOwnerRules(READER.role, "reader"),
    renderReaderRules(finders, "app_tables", { hasFinders: isOneServer }),
    PLANTED,
  ];
  return `${SUBJECTS}
issues (issue) as (${rules.join("\n  union all")}
)
select coalesce(pg_catalog.json_agg(issue order by issue), '[]')::pg_catalog.text as found
from (select issue from issues order by issue limit ${MAX_ISSUES}) as first_issues`;
}

/**
 * The function that reports every issue of a database, including functions that no push recorded. It needs rights that no
 * login has.
 */
export const renderFindIssues = (guarded: Guarded): string => `
create function rowhouse.find_issues() returns jsonb language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set jit = off as $function$
begin
  return (${renderIssues("rowhouse.registrations", guarded)})::jsonb
    || coalesce((select jsonb_agg(issue order by issue) from rowhouse.find_unrecorded() as unrecorded (issue)), '[]');
end
$function$;
`;

/** The function that reports the issues of a node. Processes from 0.2.0 on call it, so that they agree. */
export const renderFindNodeIssues = (guarded: Guarded): string => `
create or replace function rowhouse.find_node_issues() returns jsonb language plpgsql stable
set search_path = pg_catalog, pg_temp set jit = off as $function$
begin
  return (${renderIssues("rowhouse.shards", guarded)})::jsonb;
end
$function$;
grant execute on function rowhouse.find_node_issues
  to ${Object.values(SERVING_ROLES).join(", ")}, rowhouse_tables;`;
