-- The roles, and what they are members of. Idempotent.
--
-- Roles belong to the whole cluster, and none of these can log in. `rowhouse_owner` owns the
-- schemas and everything in `rowhouse`. `rowhouse_tables` owns apps' tables and types, and nothing
-- else: the login that pushes is a member of it and reaches the service's own tables by grants
-- alone. `rowhouse_tenant` owns the generated functions, owns no table and does not bypass row
-- security. A serving login is a member of one of the others, which may only EXECUTE functions and
-- read what their tables' grants allow: `rowhouse_service` for a process that serves everything,
-- `rowhouse_gateway`, `rowhouse_data` and `rowhouse_identity` for processes that serve one part
-- each. `rowhouse_console` may execute the acts of administrators, which prove who asks for them,
-- and nothing else. Commands count and delete apps' rows as a member of `rowhouse_rows`, never as
-- an administrator: it may do no more than a push.

do $$
declare
  role_name text;
begin
  foreach role_name in array array['rowhouse_owner', 'rowhouse_tables', 'rowhouse_tenant',
    'rowhouse_service', 'rowhouse_gateway', 'rowhouse_data', 'rowhouse_identity',
    'rowhouse_console', 'rowhouse_rows'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
      begin
        execute format('create role %I nologin nosuperuser nocreatedb nocreaterole nobypassrls',
          role_name);
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
