-- Functions that only processes of an earlier release call, from 0.1.0 on. The release that no
-- longer upgrades from it drops them.

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

-- Both without a name of the person.
create function rowhouse.sign_in_by_link(
  link_id text, presented_proof bytea, fresh_hash text, fresh_digest bytea, fresh_secret_id text,
  presented text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer, client_address text, device_name text,
  pending_id text, pending_digest bytea, factor_rule text
) returns text language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select rowhouse.accept_by_link(link_id, presented_proof, fresh_hash, fresh_digest,
    fresh_secret_id, presented, new_id, new_session_digest, new_identity_digest, new_secret_id,
    max_s, client_address, device_name, pending_id, pending_digest, factor_rule, null)
$$;
create function rowhouse.link_invited_person(
  who uuid, email text, presented_proof bytea, link_issuer text, link_subject text,
  new_digest bytea, new_secret_id text, provider text
) returns boolean language sql volatile security definer
set search_path = pg_catalog, pg_temp as $$
  select rowhouse.accept_by_provider(who, email, presented_proof, link_issuer, link_subject,
    new_digest, new_secret_id, provider, null)
$$;
grant execute on function rowhouse.sign_in_by_link, rowhouse.link_invited_person
  to rowhouse_service, rowhouse_identity;
