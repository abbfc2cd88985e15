-- People's second factors: authenticator codes, recovery codes, passkeys; and who has or needs a
-- second factor.
--
-- No login can read these tables. Like sessions and links, they store a digest of a proof and of
-- the person's id. The proof depends on a secret that is not stored in a database; the same secret
-- encrypts the secrets of authenticator apps.

create function rowhouse.has_second_factor(who uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.totp_factors where user_id = who)
    or exists (select from rowhouse.passkeys where user_id = who)
$$;
grant execute on function rowhouse.has_second_factor to rowhouse_service, rowhouse_identity;

-- For operators: the secret that each second factor and recovery code depends on.
create function rowhouse.secrets_of_factors() returns setof text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select secret_id from rowhouse.totp_factors union all select secret_id
    from rowhouse.recovery_codes
  union all select secret_id from rowhouse.passkeys
$$;
grant execute on function rowhouse.secrets_of_factors to rowhouse_service, rowhouse_identity;

-- Returns whether a session was authenticated recently, also by the second factor if its owner has
-- a second factor.
create function rowhouse.is_fresh(session_id text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.sessions where id = session_id
    and proven_at > clock_timestamp() - interval '${RECENT_SIGN_IN_S} seconds'
    and (second_factor_at > clock_timestamp() - interval '${RECENT_SIGN_IN_S} seconds'
      or not rowhouse.has_second_factor(user_id)))
$$;
grant execute on function rowhouse.is_fresh to rowhouse_service, rowhouse_identity;

-- The deadline for a required second factor of a person who has none; null: never.
create function rowhouse.factor_due_at(who uuid) returns timestamptz
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select factor_asked_at + interval '${FACTOR_GRACE_S} seconds' from rowhouse.users
  where id = who and factor_asked_at is not null and not rowhouse.has_second_factor(id)
$$;
grant execute on function rowhouse.factor_due_at to rowhouse_service, rowhouse_identity;
create function rowhouse.is_factor_overdue(who uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(rowhouse.factor_due_at(who) <= clock_timestamp(), false)
$$;
grant execute on function rowhouse.is_factor_overdue to rowhouse_service, rowhouse_identity;

-- Actions of users on their own second factor in a browser. Each action verifies the user by both
-- cookies, and needs a recent sign-in.

create function rowhouse.check_fresh(own text) returns void language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
  if not rowhouse.is_fresh(own) then
    raise exception 'sign-in too old' using errcode = 'RH403';
  end if;
end
$$;

-- Identifies the current authenticator app and recovery codes: a form contains this value, so that
-- a repeated submit changes nothing. Empty: none.
create function rowhouse.totp_version(who uuid) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce((select extract(epoch from confirmed_at)::text from rowhouse.totp_factors
    where user_id = who), '')
$$;

create function rowhouse.codes_version(who uuid) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce((select extract(epoch from max(created_at))::text from rowhouse.recovery_codes
    where user_id = who), '')
$$;

-- Replaces all recovery codes; the argument contains the digests of their proofs in hexadecimal.
create function rowhouse.put_recovery_codes(who uuid, digests text, new_secret_id text) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  delete from rowhouse.recovery_codes where user_id = who;
  insert into rowhouse.recovery_codes (user_id, digest, secret_id)
  select who, decode(text, 'hex'), new_secret_id from unnest(string_to_array(digests, ',')) as text
$$;

-- proves: owner; idempotent
create function rowhouse.read_own_second_factor() returns jsonb as $$
begin
  return jsonb_build_object('isFresh', rowhouse.is_fresh(own),
    'totpVersion', rowhouse.totp_version(who), 'codesVersion', rowhouse.codes_version(who),
    'totpSince', (select confirmed_at from rowhouse.totp_factors where user_id = who),
    'recoveryCodes', (select count(*) from rowhouse.recovery_codes where user_id = who),
    'passkeys', (select count(*) from rowhouse.passkeys where user_id = who));
end
$$;

-- After a correct code: stores the authenticator app, replaces a previous one, and adds recovery
-- codes. "expected" is the person for whom the digests were created. Returns "first" or "done";
-- "other_session" if another person is signed in; "repeated" if the app has changed since the form
-- was shown.
-- proves: owner
create function rowhouse.put_own_totp(expected uuid, new_sealed bytea, new_digest bytea,
  new_secret_id text, step bigint, code_digests text, replaced text) returns text as $$
declare
  is_first boolean := not rowhouse.has_second_factor(who);
begin
  if who <> expected then
    return 'other_session';
  end if;
  perform rowhouse.check_fresh(own);
  if rowhouse.totp_version(who) <> replaced then
    return 'repeated';
  end if;
  insert into rowhouse.totp_factors (user_id, sealed_secret, digest, secret_id, last_step)
  values (who, new_sealed, new_digest, new_secret_id, step)
  on conflict (user_id) do update set sealed_secret = excluded.sealed_secret,
    digest = excluded.digest,
    secret_id = excluded.secret_id, confirmed_at = now(), last_step = excluded.last_step;
  perform rowhouse.put_recovery_codes(who, code_digests, new_secret_id);
  update rowhouse.sessions set second_factor_at = now() where id = own;
  delete from rowhouse.sessions where user_id = who and id <> own and is_first;
  perform rowhouse.log(who::text, 'add_second_factor', person => who,
    details => '{"kind": "totp"}');
  perform rowhouse.queue_mail(who, 'second_factor_added', null,
    jsonb_build_object('from', visitor.client_address));
  return case when is_first then 'first' else 'done' end;
end
$$;

-- Returns "done"; "other_session" if there is no second factor that recovery codes could replace;
-- "repeated" if the codes have changed since the form was shown.
-- proves: owner
create function rowhouse.put_own_recovery_codes(expected uuid, code_digests text,
  new_secret_id text, replaced text) returns text as $$
begin
  if who <> expected or not rowhouse.has_second_factor(who) then
    return 'other_session';
  end if;
  perform rowhouse.check_fresh(own);
  if rowhouse.codes_version(who) <> replaced then
    return 'repeated';
  end if;
  perform rowhouse.put_recovery_codes(who, code_digests, new_secret_id);
  perform rowhouse.log(who::text, 'make_recovery_codes', person => who);
  perform rowhouse.queue_mail(who, 'recovery_codes_made', null,
    jsonb_build_object('from', visitor.client_address));
  return 'done';
end
$$;

-- After the last factor is removed: without a factor, recovery codes have no use, and no pending
-- sign-in can be finished.
create function rowhouse.clear_without_factor(who uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if not rowhouse.has_second_factor(who) then
    delete from rowhouse.recovery_codes where user_id = who;
    perform rowhouse.end_pending_sign_ins(who);
  end if;
end
$$;

-- False if there is no authenticator app.
-- proves: owner
create function rowhouse.remove_own_totp() returns boolean as $$
begin
  perform rowhouse.check_fresh(own);
  delete from rowhouse.totp_factors where user_id = who;
  if not found then
    return false;
  end if;
  perform rowhouse.clear_without_factor(who);
  perform rowhouse.log(who::text, 'remove_second_factor', person => who,
    details => '{"kind": "totp"}');
  perform rowhouse.queue_mail(who, 'second_factor_removed', null,
    jsonb_build_object('from', visitor.client_address));
  return true;
end
$$;
