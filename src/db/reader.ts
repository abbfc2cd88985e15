/**
 * `rowhouse_reader`, the role of the functions that find ids of rows: its policy on apps' tables, and what the isolation check
 * demands of the role, of its rights and of the schema `find`. No login can become it: a policy for a role holds for its members.
 *
 * @module
 */
import { quoteLiteral } from "../std/quote.ts";

/**
 * The second policy of apps' tables on one PostgreSQL. It comes with its grant, in one transaction: a table that an earlier release
 * created has neither until `rowhouse migrate` reaches it. `estimate` is an option of the column `app_id`, as PostgreSQL stores it,
 * which counts from the next analyze on.
 */
export const READER = {
  policy: "reader",
  role: "rowhouse_reader",
  estimate: "n_distinct=1",
} as const;

const ROLE = `(select pg_catalog.to_regrole('${READER.role}')::pg_catalog.oid)`;

/** Statements that create the functions of the schema `find`, by name, followed by their rights. */
export type Finders = Readonly<Record<string, readonly [create: string, ...rights: string[]]>>;

/** A condition on a policy; `qual` prints its expression. Without the role, no policy is one. */
export function renderIsReaderPolicy(qual: string): string {
  return `coalesce(polname = '${READER.policy}' and polcmd = 'r' and polpermissive
        and polroles = array[${ROLE}] and polwithcheck is null and ${qual} = 'true', false)`;
}

/** The end of the name of a table's finder: `db/code/tables/finders.sql`. */
const OF_TABLE = "__finder";
const IN_FIND = "pronamespace = pg_catalog.to_regnamespace('find')";
/** What the rights, the ownership and the memberships of the role are recorded as. */
const OF_READER = `refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and refobjid = ${ROLE}
      and dbid in (0, (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()))`;

/** Each query selects the violations of one rule. `tables`: the relation of apps' tables. Those of an earlier release have neither policy nor grant. */
export function renderReaderRules(
  finders: Finders,
  tables: string,
  { hasFinders }: { hasFinders: boolean },
): string {
  return `
  select 'Table ' || name || ' must let ${READER.role} read by a policy and a grant, or by neither'
    from ${tables} as app_tables where exists (select from pg_catalog.pg_policy where polrelid = app_tables.oid and polname = '${READER.policy}')
      <> exists (select from pg_catalog.aclexplode(relacl) where grantee = ${ROLE})
  union all
  select 'Role ${READER.role} must have no right on ' || pg_catalog.pg_describe_object(classid, objid, objsubid)
    from pg_catalog.pg_shdepend where ${OF_READER} and deptype = 'a' and not case classid
      when 'pg_catalog.pg_class'::pg_catalog.regclass then objid in (select oid from ${tables} as listed)
      when 'pg_catalog.pg_namespace'::pg_catalog.regclass then not exists (
        select from pg_catalog.pg_namespace, pg_catalog.aclexplode(nspacl) where pg_namespace.oid = objid
          and grantee = ${ROLE} and (is_grantable or not (nspname = 'find'
            or (nspname in ('data', 'rowhouse') and privilege_type = 'USAGE'))))
      when 'pg_catalog.pg_proc'::pg_catalog.regclass then exists (select from pg_catalog.pg_proc where pg_proc.oid = objid
        and (${IN_FIND} or (pronamespace = pg_catalog.to_regnamespace('rowhouse')
          and provolatile = 'i' and not prosecdef and proowner = pg_catalog.to_regrole('rowhouse_owner'))))
      else false end
  union all
  select 'Role ${READER.role} must own only functions of the schema find, not ' || pg_catalog.pg_describe_object(classid, objid, 0)
    from pg_catalog.pg_shdepend where ${OF_READER} and deptype = 'o' and not case classid
      when 'pg_catalog.pg_proc'::pg_catalog.regclass then
        exists (select from pg_catalog.pg_proc where pg_proc.oid = objid and ${IN_FIND})
      -- That public cannot execute its new functions.
      else classid = 'pg_catalog.pg_default_acl'::pg_catalog.regclass end
  union all
  -- From PostgreSQL 16 on, the creator of a role is recorded as a member that may only grant it.
  select 'Role ${READER.role} must have no member that inherits or may set it, not ' || pg_catalog.pg_get_userbyid(member)
    from pg_catalog.pg_auth_members as members
    where roleid = ${ROLE}
      and coalesce((pg_catalog.to_jsonb(members) ->> 'inherit_option')::pg_catalog.bool
        or (pg_catalog.to_jsonb(members) ->> 'set_option')::pg_catalog.bool, true)
  union all
  select 'Function find.' || proname || ' must belong to ${READER.role} and be a security definer'
    from pg_catalog.pg_proc where ${IN_FIND} and (not prosecdef or proowner is distinct from ${ROLE})
  union all
  select distinct 'Function find.' || proname || ' must be granted to ' || caller || ' only'
    from pg_catalog.pg_proc cross join lateral (
        select case proname when 'make' then 'rowhouse_tables' else 'rowhouse_tenant' end) as allowed (caller)
      left join lateral pg_catalog.aclexplode(proacl) as grants on true
    where ${IN_FIND} and (proacl is null or (grantee <> proowner and (
      is_grantable or grantee is distinct from (select pg_catalog.to_regrole(caller)))))
  union all
  select 'Function find.' || proname || ' must be one of this release, with its body'
    from pg_catalog.pg_proc where ${IN_FIND}${hasFinders ? ` and pg_catalog.right(proname, ${OF_TABLE.length}) <> '${OF_TABLE}'` : ""} and not exists (
      select from pg_catalog.json_each_text(${quoteLiteral(JSON.stringify(digestBodies(finders)))}) as known (name, digest)
      where name = proname and digest = pg_catalog.md5(prosrc)
    )
${
  hasFinders
    ? `
  union all
  select 'Function find.' || name || '${OF_TABLE} must be one of this release, with its body'
    from rowhouse.find_false_finders(null, false) as found (name)`
    : ""
}`;
}

const BODY = /\bas (\$\w*\$)([\s\S]*)\1$/;

/** @throws {Error} a function has no quoted body, which the check could compare */
function digestBodies(finders: Finders): Record<string, string> {
  const digests = Object.entries(finders).map(([name, [create]]) => {
    const [, , body] = BODY.exec(create) ?? [];
    if (body === undefined)
      throw new Error(`Function find.${name} must end with its body: as $$ … $$`);
    return [name, new Bun.CryptoHasher("md5").update(body).digest("hex")];
  });
  return Object.fromEntries(digests);
}
