-- Actions of users on their account settings in a browser. Each function verifies the user in the
-- same call, by both cookies of one live session: the serving login that executes them can do
-- nothing without a user.

-- The id of the live session that both cookies prove; null if there is none, or more than one.
create function rowhouse.find_visitor_session(visitor rowhouse.visitor) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  found_session record;
  own text;
begin
  select * into found_session from rowhouse.find_session(visitor.session_cookie,
    visitor.idle_s);
  if found_session.session_id is null then
    return null;
  end if;
  select found_session.session_id into own
    where exists (select from unnest(string_to_array(visitor.identity_cookie, ',')) as text
    where split_part(text, '.', 1) = found_session.session_id
      and found_session.identity_digest = sha256(decode(split_part(text, '.', 2), 'hex')
        || uuid_send(found_session.person_id)));
  -- The audit log reads this setting until this statement ends.
  perform set_config('rowhouse.client', visitor.client_address, true);
  return own;
end
$$;

-- The user of the session; raises an error if there is none. Serializes the actions of a user on
-- their account.
create function rowhouse.hold_visitor(own text) returns uuid
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  who uuid;
begin
  select id into who from rowhouse.users
  where id = (select user_id from rowhouse.sessions where sessions.id = own)
    and rowhouse.is_active(disabled_at)
  for no key update;
  if who is null then
    raise exception 'no live session' using errcode = 'RH400';
  end if;
  return who;
end
$$;

-- proves: owner; idempotent
create function rowhouse.read_account_settings() returns jsonb as $$
begin
  return (select jsonb_build_object('id', users.id, 'email', email, 'displayName', display_name,
    'avatarUrl', avatar_url,
      'isAdministrator', console_role is not null, 'hasPassword', password_hash is not null,
        'isFactorOverdue', rowhouse.is_factor_overdue(who),
      'appSlugs', (select coalesce(jsonb_agg(slug), '[]') from rowhouse.grants
        join rowhouse.apps on apps.id = app_id
        where grants.user_id = who and apps.disabled_at is null),
      'sessions', (select coalesce(jsonb_agg(to_jsonb(listed)
        order by listed."isOwn" desc, listed."lastSeenAt" desc), '[]') from (
        select id, id = own as "isOwn", device, address, created_at as "signedInAt",
          last_seen_at as "lastSeenAt"
        from rowhouse.sessions where user_id = who and expires_at > clock_timestamp()
          and last_seen_at > clock_timestamp() - make_interval(secs => visitor.idle_s)
        order by id = own desc, last_seen_at desc limit 100) as listed))
    from rowhouse.users where id = who);
end
$$;

-- The audit log records which fields changed, not their values: it outlives the person.
-- proves: owner
create function rowhouse.change_own_profile(new_name text, new_picture text) returns void as $$
declare
  changed jsonb;
begin
  select to_jsonb(array_remove(array[
    case when display_name is distinct from new_name then 'displayName' end,
    case when avatar_url is distinct from new_picture then 'avatarUrl' end], null)) into changed
  from rowhouse.users where id = who;
  if changed <> '[]' then
    update rowhouse.users set display_name = new_name, avatar_url = new_picture where id = who;
    perform rowhouse.log(who::text, 'change_profile', person => who,
      details => jsonb_build_object('changed', changed));
  end if;
end
$$;

-- Ends another session of this user, or all others if the id is null; returns their number.
-- proves: owner
create function rowhouse.end_own_sessions(wanted text) returns integer as $$
declare
  ended integer;
begin
  delete from rowhouse.sessions where user_id = who and id <> own
    and (wanted is null or id = wanted);
  get diagnostics ended = row_count;
  delete from rowhouse.pending_sign_ins where user_id = who and wanted is null;
  if ended > 0 then
    perform rowhouse.log(who::text, 'end_sessions', person => who,
      details => jsonb_build_object('sessions', ended));
  end if;
  return ended;
end
$$;

-- Ends all sessions and pending sign-ins of a user who proves a session by both cookies. Unlike
-- the other actions here, it accepts more than one live session: cookies planted by another host
-- must not keep a user signed in.
create function rowhouse.sign_out_everywhere(visitor rowhouse.visitor) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  who uuid;
  ended integer;
begin
  -- Locks the person before the sessions, like sign-ins: a concurrent sign-in has finished, or
  -- waits.
  select id into who from rowhouse.users where id = (
    select sessions.user_id from rowhouse.sessions
    join unnest(string_to_array(visitor.session_cookie, ',')) as shared
      on split_part(shared, '.', 1) = sessions.id
      and sessions.session_digest = sha256(decode(split_part(shared, '.', 2), 'hex')
        || uuid_send(sessions.user_id))
    join unnest(string_to_array(visitor.identity_cookie, ',')) as own
      on split_part(own, '.', 1) = sessions.id
      and sessions.identity_digest = sha256(decode(split_part(own, '.', 2), 'hex')
        || uuid_send(sessions.user_id))
    limit 1)
  for no key update;
  delete from rowhouse.pending_sign_ins where user_id = who;
  delete from rowhouse.sessions where user_id = who;
  get diagnostics ended = row_count;
  if ended > 0 then
    perform rowhouse.log(who::text, 'sign_out_everywhere', person => who,
      details => jsonb_build_object('sessions', ended),
      client => nullif(visitor.client_address, ''));
  end if;
end
$$;
grant execute on function rowhouse.sign_out_everywhere to rowhouse_service, rowhouse_identity;
-- Sets a new password after the current one was verified, and replaces all sessions with a new
-- one. Password links end too. The proof of the current password and the new session are handled
-- as in a sign-in.
-- proves: owner
create function rowhouse.change_own_password(presented_proof bytea, new_hash text, new_digest bytea,
  new_hash_secret_id text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer, client_networks text[], known_device text,
  device_name text) returns boolean as $$
declare
  ended integer;
begin
  if not rowhouse.prove_password(
    who, presented_proof, new_hash, new_digest, new_hash_secret_id, client_networks,
    known_device) then
    return false;
  end if;
  perform rowhouse.start_session(who, '', new_id, new_session_digest, new_identity_digest,
    new_secret_id, max_s, now(),
    (select second_factor_at from rowhouse.sessions where id = own), visitor.client_address,
    device_name, known_device is not null);
  perform rowhouse.end_pending_sign_ins(who);
  delete from rowhouse.password_links where user_id = who;
  delete from rowhouse.sessions where user_id = who and id not in (own, new_id);
  get diagnostics ended = row_count;
  delete from rowhouse.sessions where id = own;
  perform rowhouse.log(who::text, 'sign_in', person => who);
  perform rowhouse.log(who::text, 'change_password', person => who,
    details => jsonb_build_object('sessions', ended));
  perform rowhouse.queue_mail(who, 'password_changed', null,
    jsonb_build_object('device', device_name, 'from', visitor.client_address));
  return true;
end
$$;
