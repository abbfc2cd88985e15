-- The second factor of a pending sign-in: each attempt is counted before the check, and a correct
-- factor is used once.

-- The counters of attempts with a kind of factor. A device where this person has used a factor
-- before has its own counter. Otherwise there are two: the person with this client, and the person
-- with all clients.
create function rowhouse.factor_keys(who uuid, kind text, client_key text, device_key text)
returns text[] language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when device_key is not null then array[format('%s %s on %s', who, kind, device_key)]
    else array[rowhouse.pair_key(format('%s %s', who, kind), client_key),
      format('%s %s', who, kind)] end
$$;

create function rowhouse.lasting_key(who uuid, kind text, device_key text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select format('%s lasting %s%s', who, kind, ' on ' || device_key)
$$;

-- Before a factor is checked: counts the attempt, or returns how long to wait. Six digits can be
-- guessed over years, so codes of an authenticator app also have a lasting limit. Null: no pending
-- sign-in.
create function rowhouse.begin_second_factor(
  pending_cookie text, kind text, client_key text, device_key text, device_users uuid[],
  max_pair integer, max_person integer, max_lasting integer, window_s integer, lasting_s integer
) returns jsonb language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  pending rowhouse.pending_sign_ins := rowhouse.find_pending_sign_in(pending_cookie);
  who uuid := pending.user_id;
  known_key text := case when who = any(device_users) then device_key end;
  keys text[] := rowhouse.factor_keys(who, kind, client_key, known_key);
  lasting text := rowhouse.lasting_key(who, kind, known_key);
  wait integer;
begin
  if who is null then
    return null;
  end if;
  wait := rowhouse.count_attempt(keys, (array[max_pair, max_person])[:cardinality(keys)],
    null, window_s);
  if wait is null and kind = 'totp' then
    wait := rowhouse.count_attempt(array[lasting], array[max_lasting], null, lasting_s);
    -- Written once, by the attempt that reaches the limit: someone knows the password but not
    -- the factor.
    if exists (select from rowhouse.throttle where key = lasting and attempts = max_lasting)
      and wait is null then
      perform rowhouse.log('sign-in', 'second_factor_throttled', person => who);
      perform rowhouse.queue_mail(who, 'second_factor_rejected', null, '{}');
    end if;
  end if;
  if wait is not null then
    return jsonb_build_object('waitS', wait);
  end if;
  return jsonb_build_object('waitS', 0, 'userId', who, 'isKnownDevice', known_key is not null,
    'totp', (select jsonb_build_object('sealed', encode(sealed_secret, 'hex'),
      'secretId', secret_id, 'lastStep', last_step)
      from rowhouse.totp_factors where user_id = who and kind = 'totp'),
    'passkeys', (select jsonb_agg(jsonb_build_object('id', encode(credential_id, 'hex'),
        'publicKey', encode(public_key, 'hex'), 'secretId', secret_id))
      from rowhouse.passkeys where user_id = who and kind = 'passkey'));
end
$$;
comment on function rowhouse.begin_second_factor is 'null result';
grant execute on function rowhouse.begin_second_factor to rowhouse_service, rowhouse_identity;

-- Uses a factor, if one of the proofs matches. For an authenticator code "factor_count" is its
-- time step, which only increases; for a passkey, whose id is "factor_key", its own counter.
-- "fresh_…" are the values to store if the secret has changed.
create function rowhouse.use_factor(
  who uuid, kind text, factor_key bytea, factor_proofs bytea[], factor_count bigint,
  fresh_sealed bytea, fresh_digest bytea, fresh_secret_id text
) returns boolean language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  digests bytea[] := (select array_agg(sha256(code_proof || uuid_send(who)))
    from unnest(factor_proofs) as code_proof);
begin
  if kind = 'totp' then
    update rowhouse.totp_factors
      set last_step = factor_count, sealed_secret = coalesce(fresh_sealed, sealed_secret),
      digest = coalesce(fresh_digest, digest), secret_id = coalesce(fresh_secret_id, secret_id)
    where user_id = who and digest = any(digests) and last_step < factor_count;
    return found;
  end if;
  if kind = 'passkey' then
    return rowhouse.use_passkey(factor_key, who, factor_proofs[1], factor_count, fresh_digest,
      fresh_secret_id) = 'done';
  end if;
  if kind = 'recovery' then
    delete from rowhouse.recovery_codes where user_id = who and digest = any(digests);
    if found then
      perform rowhouse.log(who::text, 'use_recovery_code', person => who,
        details => jsonb_build_object(
          'left', (select count(*) from rowhouse.recovery_codes where user_id = who)));
      perform rowhouse.queue_mail(who, 'recovery_code_used', null, jsonb_build_object(
        'from', nullif(current_setting('rowhouse.client', true), ''),
        'left', (select count(*)::text from rowhouse.recovery_codes where user_id = who)));
      return true;
    end if;
  end if;
  return false;
end
$$;

-- After a correct factor: creates the session, which replaces the presented sessions. Returns
-- "done"; "wrong" for a used factor or a missing proof; or "no_sign_in" if no sign-in is pending.
create function rowhouse.finish_second_factor(
  pending_cookie text, kind text, factor_key bytea, factor_proofs bytea[], factor_count bigint,
  fresh_sealed bytea, fresh_digest bytea, fresh_secret_id text, presented text, new_id text,
  new_session_digest bytea, new_identity_digest bytea, new_secret_id text, max_s integer,
  client_key text, device_key text, client_address text, device_name text
) returns text language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  pending rowhouse.pending_sign_ins := rowhouse.find_pending_sign_in(pending_cookie);
  who uuid;
begin
  -- Serialized per person.
  select id into who from rowhouse.users where id = pending.user_id
    and rowhouse.is_active(disabled_at) for no key update;
  if who is null or not exists (select from rowhouse.pending_sign_ins where id = pending.id) then
    return 'no_sign_in';
  end if;
  perform set_config('rowhouse.client', client_address, true);
  if not rowhouse.use_factor(
    who, kind, factor_key, factor_proofs, factor_count, fresh_sealed, fresh_digest, fresh_secret_id)
      then
    return 'wrong';
  end if;
  delete from rowhouse.pending_sign_ins where id = pending.id;
  -- Does not wait for a statement that has just ended all sessions of the person.
  if not found then
    return 'no_sign_in';
  end if;
  perform rowhouse.start_session(who, presented, new_id, new_session_digest, new_identity_digest,
    new_secret_id, max_s,
    pending.proven_at, now(), client_address, device_name, device_key is not null);
  -- Restores the counted attempts. The lasting limit gets back only this attempt: otherwise
  -- others could continue to guess.
  delete from rowhouse.throttle
    where key = any(rowhouse.factor_keys(who, kind, client_key, device_key));
  update rowhouse.throttle set attempts = greatest(attempts - 1, 0)
    where key = rowhouse.lasting_key(who, kind, device_key);
  perform rowhouse.log(who::text, 'sign_in', person => who,
    details => jsonb_strip_nulls(jsonb_build_object('provider', pending.provider,
      'secondFactor', kind)));
  return 'done';
end
$$;
grant execute on function rowhouse.finish_second_factor to rowhouse_service, rowhouse_identity;

-- Records a wrong second factor: someone knows the password.
create function rowhouse.record_wrong_factor(who uuid, kind text, client_address text) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select rowhouse.log('sign-in', 'second_factor_rejected', person => who,
    details => jsonb_build_object('kind', left(kind, 40)),
    client => nullif(left(client_address, 64), ''))
$$;
grant execute on function rowhouse.record_wrong_factor to rowhouse_service, rowhouse_identity;
