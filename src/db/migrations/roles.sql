-- The service's roles and their memberships. Idempotent.
--
-- Roles belong to the whole cluster, and none of these can log in. `rowhouse_owner` owns the
-- schemas and everything in `rowhouse`. `rowhouse_tables` owns only apps' tables and types: the
-- pushing login is a member of it, and accesses the service's own tables only by grants.
-- `rowhouse_tenant` owns the generated functions, owns no table and does not bypass row security.
-- A serving login is a member of another role, which can only EXECUTE functions and read tables
-- with a grant: `rowhouse_service` for a process that serves everything,
-- `rowhouse_gateway`, `rowhouse_data` and `rowhouse_identity` for processes that serve one part
-- each. `rowhouse_console` can only execute the actions of administrators, which verify the user.
-- Commands count and delete apps' rows as a member of `rowhouse_rows`, never as an administrator:
-- it has no more rights than a push. `rowhouse_listener` owns the triggers that record changes of
-- rows, and can only insert these records. `rowhouse_reader` owns the functions that find rows, and
-- can only read apps' tables, past the tenant's policy: it has no members.

do $$
declare
  role_name text;
begin
  -- From PostgreSQL 16 on, it can make the creator of a role a member.
  if current_setting('createrole_self_grant', true) <> '' then
    perform set_config('createrole_self_grant', '', true);
  end if;
  foreach role_name in array array['rowhouse_owner', 'rowhouse_tables', 'rowhouse_tenant',
    'rowhouse_service', 'rowhouse_gateway', 'rowhouse_data', 'rowhouse_identity',
    'rowhouse_console', 'rowhouse_rows', 'rowhouse_listener', 'rowhouse_reader'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
      begin
        execute format('create role %I nologin nosuperuser nocreatedb nocreaterole nobypassrls',
          role_name);
      exception when duplicate_object or unique_violation then
        null; -- another database of this cluster was faster
      end;
    end if;
  end loop;
  -- The creator of a function transfers it to its owner; an administrator has all rights of a
  -- push.
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
  if not pg_has_role('rowhouse_owner', 'rowhouse_listener', 'usage') then
    grant rowhouse_listener to rowhouse_owner;
  end if;
end
$$;
