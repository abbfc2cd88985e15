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
