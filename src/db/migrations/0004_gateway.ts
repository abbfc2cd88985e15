/**
 * What the gateway needs: limits of requests an app, and a check of keys that notes a use only for who knows the
 * secret. Group roles for a split house, none of which can log in: `rowhouse_gateway` checks keys, `rowhouse_data`
 * executes the generated functions, `rowhouse_identity` reaches people and sessions; `rowhouse_service` stays what one
 * process that does everything is a member of.
 *
 * @module
 */
export const GATEWAY = `
do $$
declare
  role_name text;
begin
  foreach role_name in array array['rowhouse_gateway', 'rowhouse_data', 'rowhouse_identity'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = role_name) then
      begin
        execute format('create role %I nologin nosuperuser nocreatedb nocreaterole nobypassrls', role_name);
      exception when duplicate_object or unique_violation then
        null; -- another database of this cluster was faster
      end;
    end if;
  end loop;
end
$$;
set local role rowhouse_owner;
alter table rowhouse.apps
  add column requests_per_minute integer check (requests_per_minute > 0),
  add column key_requests_per_minute integer check (key_requests_per_minute > 0);

-- The record of a key. Its use is noted at most once a minute, and only for a caller who knows the secret.
create function rowhouse.use_key(wanted text, digest bytea) returns rowhouse.api_keys language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  found_key rowhouse.api_keys;
begin
  select * into found_key from rowhouse.api_keys where key_id = wanted;
  if found_key.secret_hash = digest and found_key.revoked_at is null
     and (found_key.expires_at is null or found_key.expires_at > now())
     and (found_key.last_used_at is null or found_key.last_used_at < now() - interval '1 minute') then
    update rowhouse.api_keys set last_used_at = now() where key_id = wanted;
  end if;
  return found_key;
end
$$;

grant execute on function rowhouse.use_key(text, bytea) to rowhouse_service, rowhouse_gateway;
revoke execute on function rowhouse.use_key(text) from rowhouse_service;
drop function rowhouse.use_key(text);

grant usage on schema rowhouse to rowhouse_gateway, rowhouse_data, rowhouse_identity;
grant select on rowhouse.service_migrations, rowhouse.versions to rowhouse_gateway, rowhouse_data, rowhouse_identity;
grant select on rowhouse.apps, rowhouse.targets to rowhouse_gateway, rowhouse_identity;
grant usage on schema api to rowhouse_data;
grant select on rowhouse.tables, rowhouse.registrations, rowhouse.migrations, rowhouse.deferred_steps to rowhouse_data;
do $$
begin
  if to_regclass('rowhouse.users') is null then
    return; -- a house without people
  end if;
  grant select (id, email, display_name, avatar_url, console_role, disabled_at) on rowhouse.users to rowhouse_identity;
  grant select on rowhouse.grants, rowhouse.password_links to rowhouse_identity;
  grant select, delete, update (last_seen_at) on rowhouse.sessions to rowhouse_identity;
  grant insert on rowhouse.audit to rowhouse_identity;
  grant execute on function rowhouse.begin_sign_in(text, text, text, integer, integer, integer, integer),
    rowhouse.finish_sign_in(uuid, text, text, text, text, text, text, integer, text, text),
    rowhouse.use_password_link(text, text) to rowhouse_identity;
end
$$;
reset role;
-- What push made before; what it makes from now on it grants itself.
do $$
declare
  made record;
begin
  for made in
    select format('%I.%I(%s)', nspname, proname, pg_get_function_identity_arguments(pg_proc.oid)) as signature
    from pg_catalog.pg_proc join pg_catalog.pg_namespace on pg_namespace.oid = pronamespace
    where nspname = 'api'
  loop
    execute 'grant execute on function ' || made.signature || ' to rowhouse_data';
  end loop;
end
$$;
`;
