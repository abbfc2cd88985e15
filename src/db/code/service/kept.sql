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
