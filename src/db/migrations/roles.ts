/**
 * What everything else in the database needs first: roles, schemas, default privileges, the record of migrations.
 *
 * Roles belong to the whole cluster, and none of these can log in. `rowhouse_owner` owns the schemas and everything in
 * `rowhouse`. `rowhouse_tables` owns apps' tables and types, and nothing else: the login that pushes is a member of it
 * and reaches the service's own tables by grants alone. `rowhouse_tenant` owns the generated functions, owns no table
 * and does not bypass row security. A serving login is a member of one of the others, which may only EXECUTE functions
 * and read what their tables' grants allow: `rowhouse_service` for a process that serves everything,
 * `rowhouse_gateway`, `rowhouse_data` and `rowhouse_identity` for processes that serve one part each. `rowhouse_console`
 * may execute the acts of administrators, which prove who asks for them, and nothing else. `rowhouse_rows` is whom an
 * administrator becomes to touch apps' rows: no login is a member of it, and it may do no more than a push.
 *
 * @module
 */

import { quoteLiteral } from "../literal.ts";

export const ROLE_NAMES = [
  "rowhouse_owner",
  "rowhouse_tables",
  "rowhouse_tenant",
  "rowhouse_service",
  "rowhouse_gateway",
  "rowhouse_data",
  "rowhouse_identity",
  "rowhouse_console",
  "rowhouse_rows",
] as const;

/** The roles and what they are members of. Idempotent. */
export const MAKE_ROLES = `
do $$
declare
  role_name text;
begin
  foreach role_name in array array[${ROLE_NAMES.map(quoteLiteral).join(", ")}] loop
    if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
      begin
        execute format('create role %I nologin nosuperuser nocreatedb nocreaterole nobypassrls', role_name);
      exception when duplicate_object or unique_violation then
        null; -- another database of this cluster was faster
      end;
    end if;
  end loop;
  -- What makes functions hands them to their owner; an administrator may do all that a push does.
  if not pg_has_role('rowhouse_tables', 'rowhouse_tenant', 'usage') then
    grant rowhouse_tenant to rowhouse_tables;
  end if;
  if not pg_has_role('rowhouse_owner', 'rowhouse_tables', 'usage') then
    grant rowhouse_tables to rowhouse_owner;
  end if;
  if not pg_has_role('rowhouse_rows', 'rowhouse_tables', 'usage') then
    grant rowhouse_tables to rowhouse_rows;
  end if;
  if not pg_has_role('rowhouse_owner', 'rowhouse_rows', 'usage') then
    grant rowhouse_rows to rowhouse_owner;
  end if;
end
$$;
`;

/** What the roles may do in the schemas, run by their owner or a superuser. Idempotent. */
export const SCHEMA_RIGHTS = `
alter default privileges for role rowhouse_owner revoke execute on functions from public;
alter default privileges for role rowhouse_tables revoke execute on functions from public;
grant usage, create on schema data to rowhouse_tables;
grant usage, create on schema api to rowhouse_tables, rowhouse_tenant;
grant usage on schema data to rowhouse_tenant;
grant usage on schema api to rowhouse_service, rowhouse_data;
grant usage on schema rowhouse
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity, rowhouse_console;
`;

export const ROLES = `${MAKE_ROLES}
do $$
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
     and not pg_has_role(current_user, 'rowhouse_owner', 'usage') then
    execute format('grant rowhouse_owner to %I', current_user);
  end if;
  -- A temporary schema is searched first: a hostile type there would run inside the functions as their owner.
  execute format('revoke temporary on database %I from public', current_database());
  execute format('grant create on database %I to rowhouse_owner', current_database());
end
$$;

create schema rowhouse authorization rowhouse_owner;
create schema data authorization rowhouse_owner;
create schema api authorization rowhouse_owner;
do $$ begin execute format('revoke create on database %I from rowhouse_owner', current_database()); end $$;

-- Everything from here on belongs to rowhouse_owner.
set local role rowhouse_owner;
${SCHEMA_RIGHTS}
create table rowhouse.service_migrations (
  number integer primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now()
);
grant select on rowhouse.service_migrations
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;
`;
