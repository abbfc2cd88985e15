-- Keys of a person for one app: of pages, which act under the rules of the app, and of the Console.
-- A key ends with its session, and after minutes. Who writes what a key depends on also ends it, so
-- that a statement that reads or writes rows only looks up its proof, as for an API key.

create function rowhouse.delete_person_proof() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.delete_proof(old.app_id, old.digest);
  return null;
end
$$;

create trigger delete_person_proof after delete on rowhouse.person_keys
  for each row execute function rowhouse.delete_person_proof();

-- Ends the keys of a person, of an app, or of a person on an app; null: of any. In one order, so
-- that concurrent revocations never deadlock.
create function rowhouse.end_keys_of(person uuid, app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  ended text[];
begin
  ended := array(select key_id from rowhouse.person_keys
    where (person is null or person_id = person) and (app is null or app_id = app)
    order by key_id for update);
  delete from rowhouse.person_keys where key_id = any (ended);
end
$$;

-- The role of a person on an app is granted, changed or revoked.
create function rowhouse.end_keys_of_grant() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op <> 'INSERT' then
    perform rowhouse.end_keys_of(old.user_id, old.app_id);
  end if;
  if tg_op <> 'DELETE' then
    perform rowhouse.end_keys_of(new.user_id, new.app_id);
  end if;
  return null;
end
$$;
create trigger end_keys_of_grant after insert or delete on rowhouse.grants
  for each row execute function rowhouse.end_keys_of_grant();
create trigger end_keys_of_changed_grant after update on rowhouse.grants
  for each row when (old is distinct from new) execute function rowhouse.end_keys_of_grant();

-- A person is disabled, or the role in the Console changes.
create function rowhouse.end_keys_of_person() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.end_keys_of(new.id, null);
  return null;
end
$$;
create trigger end_keys_of_person after update of console_role, disabled_at on rowhouse.users
  for each row when (old.console_role is distinct from new.console_role
    or old.disabled_at is distinct from new.disabled_at)
  execute function rowhouse.end_keys_of_person();

-- An app is disabled, or its pages lose access.
create function rowhouse.end_keys_of_app() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if new.disabled_at is not null then
    perform rowhouse.end_keys_of(null, new.id);
  elsif not 'browser' = any (new.switches) then
    perform rowhouse.end_page_keys(new.id, null);
  end if;
  return null;
end
$$;
create trigger end_keys_of_app after update of disabled_at, switches on rowhouse.apps
  for each row when (old.disabled_at is distinct from new.disabled_at
    or old.switches is distinct from new.switches)
  execute function rowhouse.end_keys_of_app();

-- An origin of an app is removed.
create function rowhouse.end_keys_of_origin() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.end_page_keys(old.app_id, old.origin);
  return null;
end
$$;
create trigger end_keys_of_origin after update or delete on rowhouse.targets
  for each row when (old.kind = 'origin') execute function rowhouse.end_keys_of_origin();

-- Ends the keys of an app's pages, of one origin or of all.
create function rowhouse.end_page_keys(app uuid, page_origin text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  ended text[];
begin
  ended := array(select key_id from rowhouse.person_keys where app_id = app and role is not null
    and (page_origin is null or origin = page_origin) order by key_id for update);
  delete from rowhouse.person_keys where key_id = any (ended);
end
$$;

-- Deletes a batch of expired keys. Each new key does this.
create function rowhouse.sweep_person_keys() returns void language sql
set search_path = pg_catalog, pg_temp as $$
  delete from rowhouse.person_keys where key_id in (
    select key_id from rowhouse.person_keys where expires_at < now()
      order by expires_at limit 20 for update skip locked)
$$;

-- Exchanges both cookies of one live session for a key of the session's person on an app, for a
-- page of a registered origin. Locks everything that the key depends on, so that a concurrent
-- revocation either comes first, or waits and then ends the key. A role from a provider's claim
-- needs the service's proof of it, so that the login that writes such roles cannot use a forged
-- one. Without a key, "person" and "is_app_known" say why; "wait_s" is set at the limit.
create function rowhouse.open_person_key(
  session_cookie text, identity_cookie text, idle_s integer, client_address text, app_slug text,
  page_origin text, demands_factor boolean, role_proof bytea, new_key_id text, new_digest bytea,
  out live integer, out person json, out is_app_known boolean, out wait_s integer,
  out life_s integer
) language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  found_session record;
  app rowhouse.apps;
  who rowhouse.users;
  session_ends timestamptz;
  found_grant rowhouse.grants;
  proven_role text;
  ends timestamptz;
begin
  select * into found_session from rowhouse.find_session(session_cookie, idle_s);
  live := found_session.live;
  is_app_known := false;
  if not exists (select from rowhouse.split_presented(identity_cookie) as pair
    where pair.id = found_session.session_id and found_session.identity_digest
      = sha256(pair.proof || uuid_send(found_session.person_id)))
  then
    return;
  end if;
  select * into app from rowhouse.apps where slug = app_slug and disabled_at is null for share;
  is_app_known := app.id is not null;
  select sessions.expires_at into session_ends from rowhouse.sessions
    where id = found_session.session_id for no key update;
  select * into who from rowhouse.users where id = found_session.person_id
    and session_ends is not null and rowhouse.is_active(disabled_at)
    and not (demands_factor and rowhouse.is_factor_overdue(id)) for share;
  if who.id is null then
    return;
  end if;
  select * into found_grant from rowhouse.grants
    where user_id = who.id and app_id = app.id for share;
  person := json_build_object('id', who.id, 'email', who.email, 'displayName', who.display_name,
    'avatarUrl', who.avatar_url, 'on', case when app.id is not null then json_build_object(
      'appId', app.id, 'isAdministrator', who.console_role is not null,
      'grant', rowhouse.stored_grant(who.id, app.id)) end);
  proven_role := case when who.console_role is not null then 'admin'
    when found_grant.provider is null
      or found_grant.digest = sha256(role_proof || uuid_send(who.id)) then found_grant.role end;
  if proven_role is null or not 'browser' = any (app.switches) then
    return;
  end if;
  perform from rowhouse.targets where app_id = app.id and kind = 'origin' and url = page_origin
    for key share;
  if not found then
    return;
  end if;
  wait_s := rowhouse.count_attempt(array[rowhouse.throttle_key('person key',
    who.id || ' ' || app.id)], array[${PERSON_KEYS_A_MINUTE}], 0, 60);
  if wait_s is not null then
    return;
  end if;
  perform rowhouse.sweep_person_keys();
  delete from rowhouse.person_keys where key_id in (
    select key_id from rowhouse.person_keys
    where session_id = found_session.session_id and app_id = app.id and role is not null
    order by created_at desc, key_id offset ${LIVE_PERSON_KEYS} - 1);
  ends := least(session_ends,
    now() + make_interval(secs => least(idle_s, ${PERSON_KEY_LIFE_S})));
  insert into rowhouse.person_keys (key_id, app_id, session_id, person_id, role, origin, scopes,
    digest, expires_at)
  values (new_key_id, app.id, found_session.session_id, who.id, proven_role, page_origin,
    array['data:read', 'data:write'], new_digest, ends);
  perform rowhouse.enter_app(app.id);
  perform rowhouse.put_proof(app.id, new_digest, ${PERSON_BIT}::smallint, ends, who.id,
    proven_role);
  perform set_config('rowhouse.client', client_address, true);
  perform rowhouse.log_person_key(app, new_key_id);
  life_s := floor(extract(epoch from ends - clock_timestamp()));
end
$$;
comment on function rowhouse.open_person_key is 'null person, wait_s, life_s';
grant execute on function rowhouse.open_person_key to rowhouse_service, rowhouse_identity;

-- Writes the audit log for the first key of a session on an app in a day, in UTC.
create function rowhouse.log_person_key(app rowhouse.apps, new_key_id text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  key rowhouse.person_keys;
  today constant date := (now() at time zone 'UTC')::date;
begin
  select * into key from rowhouse.person_keys where key_id = new_key_id;
  insert into rowhouse.session_apps as opened (session_id, app_id, opened_on)
  values (key.session_id, app.id, today)
  on conflict (session_id, app_id) do update set opened_on = excluded.opened_on
    where opened.opened_on < excluded.opened_on;
  if found then
    perform rowhouse.log(key.person_id::text, 'open_app', person => key.person_id,
      app => app.slug, details => jsonb_build_object('keyId', key.key_id, 'role', key.role,
        'origin', key.origin));
  end if;
end
$$;

-- The person of a key of the app with this name, for the app's own server, which forwards the keys
-- of its pages. Null for a key of another app, and for an API key.
create function rowhouse.read_caller(app uuid, presented_proof bytea, app_slug text)
returns json language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.check_key_for(app, presented_proof,
    ${PERSON_BIT}::smallint | rowhouse.scope_bits(array['data:read']));
  return (select json_build_object('id', who.id, 'email', who.email,
      'displayName', who.display_name, 'avatarUrl', who.avatar_url, 'role', proof.role)
    from rowhouse.proofs as proof join rowhouse.users as who on who.id = proof.person_id
    where proof.app_id = app and proof.digest = sha256(presented_proof) and proof.role is not null
      and exists (select from rowhouse.apps where apps.id = app and slug = app_slug));
end
$$;
comment on function rowhouse.read_caller is 'idempotent; null result';
grant execute on function rowhouse.read_caller to rowhouse_service, rowhouse_identity;
