-- Functions that only processes of the previous release call. The next release drops them.

-- Without keys of pages, whose person the previous release does not know.
create function rowhouse.use_key(wanted text, presented_proof bytea)
returns table (
  key_id text, app_id uuid, scopes text[], expires_at timestamptz, is_of_console boolean
)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select key_id, app_id, scopes, expires_at, is_of_console
  from rowhouse.use_caller_key(wanted, presented_proof) where role is null
$$;
grant execute on function rowhouse.use_key to rowhouse_service, rowhouse_gateway;

create function rowhouse.use_keys(wanted text[], presented_proof bytea[])
returns table (
  ordinal integer, key_id text, app_id uuid, scopes text[], expires_at timestamptz,
  is_of_console boolean, version bigint
)
language sql set search_path = pg_catalog, pg_temp as $$
  select ordinal, key_id, app_id, scopes, expires_at, is_of_console, version
  from rowhouse.use_caller_keys(wanted, presented_proof) where role is null
$$;
comment on function rowhouse.use_keys is 'idempotent; null expires_at';
grant execute on function rowhouse.use_keys to rowhouse_service, rowhouse_gateway;

-- The login of a data service that is apart from identity does not read people: without address,
-- name and picture. A gateway of the previous release asks the data service.
create function rowhouse.read_key_person(app uuid, presented_proof bytea, app_slug text)
returns json language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  found_person json := rowhouse.read_caller(app, presented_proof, app_slug);
begin
  if found_person is null or pg_has_role(session_user, 'rowhouse_service', 'usage') then
    return found_person;
  end if;
  return json_build_object('id', found_person -> 'id', 'email', null, 'displayName', null,
    'avatarUrl', null, 'role', found_person -> 'role');
end
$$;
comment on function rowhouse.read_key_person is 'idempotent; null result';
grant execute on function rowhouse.read_key_person to rowhouse_service, rowhouse_data;
