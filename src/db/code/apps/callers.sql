-- The keys that callers present at the gateway: API keys, and those of people and of the Console.

-- The key with this id, if the proof is correct, the key is not revoked and its app is enabled;
-- records its use at most once a minute. The use of a person's key is not recorded. The key of a
-- page has the person and the role.
create function rowhouse.use_caller_key(wanted text, presented_proof bytea)
returns table (
  key_id text, app_id uuid, scopes text[], expires_at timestamptz, is_of_console boolean,
  person_id uuid, role text
)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  found_key rowhouse.api_keys;
begin
  select * into found_key from rowhouse.api_keys where api_keys.key_id = wanted
    and digest = sha256(presented_proof) and revoked_at is null
    and exists (select from rowhouse.apps where apps.id = api_keys.app_id and disabled_at is null);
  if found_key.key_id is null then
    return query select key_id, app_id, scopes, expires_at, role is null,
      case when role is not null then person_id end, role
    from rowhouse.person_keys as keys where key_id = wanted and digest = sha256(presented_proof)
      and exists (select from rowhouse.apps where id = keys.app_id and disabled_at is null);
    return;
  end if;
  if (found_key.expires_at is null or found_key.expires_at > clock_timestamp())
     and (found_key.last_used_at is null or found_key.last_used_at < now() - interval '1 minute')
       then
    update rowhouse.api_keys set last_used_at = now() where api_keys.key_id = wanted;
  end if;
  return query select found_key.key_id, found_key.app_id, found_key.scopes, found_key.expires_at,
    false, null::uuid, null::text;
end
$$;
grant execute on function rowhouse.use_caller_key to rowhouse_service, rowhouse_gateway;

-- The keys with a correct proof, each with its position, and the version of keys at the read. In
-- the given order: processes that record the same keys in the same order wait for each other and
-- never deadlock.
create function rowhouse.use_caller_keys(wanted text[], presented_proof bytea[])
returns table (
  ordinal integer, key_id text, app_id uuid, scopes text[], expires_at timestamptz,
  is_of_console boolean, person_id uuid, role text, version bigint
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return query select use.at::integer, used.*,
    (select versions.version from rowhouse.versions where name = 'keys')
  from rows from (unnest(wanted), unnest(presented_proof)) with ordinality as use (key, proof, at)
  cross join lateral rowhouse.use_caller_key(use.key, use.proof) as used;
end
$$;
comment on function rowhouse.use_caller_keys is 'idempotent; null expires_at, person_id, role';
grant execute on function rowhouse.use_caller_keys to rowhouse_service, rowhouse_gateway;
