-- The result of a correct password or a valid provider response: a session, or a pending sign-in
-- if the person has a second factor.

-- Returns whether to ask a person without a second factor to add a factor. Records the first time,
-- and clears it if the rule no longer applies. The rule is "none", "console" (people with a Console
-- role), "all", or "default": "console" once anyone has a second factor.
create function rowhouse.ask_for_factor(who uuid, factor_rule text) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  is_asked boolean;
begin
  select factor_rule = 'all' or console_role is not null and (factor_rule = 'console'
    or factor_rule = 'default'
      and (exists (select from rowhouse.totp_factors) or exists (select from rowhouse.passkeys)))
  into is_asked from rowhouse.users where id = who;
  update rowhouse.users set factor_asked_at = case when is_asked then now() end
  where id = who and (factor_asked_at is null) = is_asked;
  return is_asked;
end
$$;

-- Completes a verified password or provider sign-in. Returns "done"; "asked" if a second factor
-- should be added; or "pending": the sign-in waits for the second factor, and there is no session.
create function rowhouse.admit(
  who uuid, presented text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer, proven timestamptz, client_address text, device_name text,
  is_known_device boolean, provider text, pending_id text, pending_digest bytea, factor_rule text
) returns text language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  if rowhouse.has_second_factor(who) then
    perform rowhouse.sweep_pending_sign_ins(20);
    -- Limits the pending sign-ins of someone who knows a password.
    delete from rowhouse.pending_sign_ins where id in (
      select id from rowhouse.pending_sign_ins where user_id = who
        order by expires_at desc offset 19);
    insert into rowhouse.pending_sign_ins (id, digest, secret_id, user_id, provider,
      proven_at, expires_at)
    values (pending_id, pending_digest, new_secret_id, who, provider, proven,
      clock_timestamp() + interval '${PENDING_LIFE_S} seconds');
    return 'pending';
  end if;
  perform rowhouse.start_session(who, presented, new_id, new_session_digest, new_identity_digest,
    new_secret_id, max_s, proven, null, client_address, device_name, is_known_device);
  perform rowhouse.log(who::text, 'sign_in', person => who,
    details => jsonb_strip_nulls(jsonb_build_object('provider', provider)));
  return case when rowhouse.ask_for_factor(who, factor_rule) then 'asked' else 'done' end;
end
$$;

create function rowhouse.sweep_pending_sign_ins(max_rows integer) returns void language sql volatile
set search_path = pg_catalog, pg_temp as $$
  delete from rowhouse.pending_sign_ins where id in (
    select id from rowhouse.pending_sign_ins where expires_at < clock_timestamp()
    order by expires_at limit max_rows for update skip locked)
$$;

-- The pending sign-in that the browser proves, by <id>.<proof> for every secret that can have
-- created it.
create function rowhouse.find_pending_sign_in(pending_cookie text) returns rowhouse.pending_sign_ins
language sql stable set search_path = pg_catalog, pg_temp as $$
  select pending.*
  from (select split_part(text, '.', 1) as id, decode(split_part(text, '.', 2), 'hex') as proof
    from unnest(string_to_array(pending_cookie, ',')) as text) as sent
  join rowhouse.pending_sign_ins as pending on pending.id = sent.id
    and pending.digest = sha256(sent.proof || uuid_send(pending.user_id))
  join rowhouse.users on users.id = pending.user_id
  where rowhouse.is_active(users.disabled_at) and pending.expires_at > clock_timestamp()
  limit 1
$$;

-- For the page that asks for the second factor: the person of the pending sign-in, and the
-- available factors; null if there is none.
create function rowhouse.show_pending_sign_in(pending_cookie text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  pending rowhouse.pending_sign_ins := rowhouse.find_pending_sign_in(pending_cookie);
begin
  return (select jsonb_build_object('userId', id, 'email', email,
      'hasTotp', exists (select from rowhouse.totp_factors where user_id = id),
      'recoveryCodes', (select count(*) from rowhouse.recovery_codes where user_id = id),
      'passkeys', (select coalesce(jsonb_agg(jsonb_build_object('id', encode(credential_id, 'hex'),
      'transports', transports)),
        '[]') from rowhouse.passkeys where user_id = id))
    from rowhouse.users where id = pending.user_id);
end
$$;
comment on function rowhouse.show_pending_sign_in is 'null result';
grant execute on function rowhouse.show_pending_sign_in to rowhouse_service, rowhouse_identity;

-- Ends a person's pending sign-ins, and restores the attempts that others have used up: the old
-- password is no longer valid. Restores the lasting limit once per period: someone who reads the
-- person's mail could set one password after the other.
create function rowhouse.end_pending_sign_ins(who uuid) returns void language sql volatile
set search_path = pg_catalog, pg_temp as $$
  delete from rowhouse.pending_sign_ins where user_id = who;
  delete from rowhouse.throttle where starts_with(key, who || ' ')
    and not starts_with(key, who || ' lasting');
  with given_back as (
    insert into rowhouse.throttle as counter (key, attempts, ends_at)
    select who || ' lasting', 1, clock_timestamp() + interval '${MAX_COUNT_S} seconds'
    where exists (select from rowhouse.throttle where starts_with(key, who || ' lasting '))
      on conflict (key) do update
    set ends_at = excluded.ends_at where counter.ends_at <= clock_timestamp()
    returning 1
  )
  delete from rowhouse.throttle where starts_with(key, who || ' lasting ')
    and exists (select from given_back)
$$;
