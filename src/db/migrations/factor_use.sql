-- A second factor in a sign-in that waits for it: counted before it is looked at, used once it was
-- right.

-- The counters of attempts with a kind of factor: on a device on which this person has shown a
-- factor before, that device's; else those of the pair with the client, and of all clients.
create function rowhouse.factor_keys(who uuid, kind text, client_key text, device_key text)
  returns text[]
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when device_key is not null then array[format('%s %s on %s', who, kind, device_key)]
    else array[rowhouse.pair_key(format('%s %s', who, kind), client_key),
      format('%s %s', who, kind)] end
$$;

create function rowhouse.lasting_key(who uuid, kind text, device_key text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select format('%s lasting %s%s', who, kind, ' on ' || device_key)
$$;

-- Before a factor is looked at: counts the attempt, or says how long to wait. Six digits can be
-- guessed by whoever may try for years, so codes of an app have a lasting bound, too. Null: no
-- sign-in waits.
create function rowhouse.begin_second_factor(
  pending_shown text, kind text, client_key text, device_key text, device_users uuid[],
  max_pair integer, max_person integer, max_lasting integer, window_s integer, lasting_s integer
) returns jsonb language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  pending rowhouse.pending_sign_ins := rowhouse.find_pending_sign_in(pending_shown);
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
    -- Once, by the attempt that uses it up: someone knows the password, and not the rest.
    if exists (select from rowhouse.throttle where key = lasting and attempts = max_lasting)
      and wait is null then
      insert into rowhouse.audit (actor, action, user_id)
        values ('sign-in', 'second_factor_throttled', who);
      perform rowhouse.queue_mail(who, 'second_factor_refused', null, '{}');
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
grant execute on function rowhouse.begin_second_factor(
  text, text, text, text, uuid[], integer, integer, integer, integer, integer) to rowhouse_service,
    rowhouse_identity;

-- Uses a factor, if one of the proofs is its own. For a code of an app "factor_count" is its time
-- step, which only rises; for a passkey, whose id is "factor_key", what it counts itself. "fresh_…"
-- is what it is stored as again, where the secret has changed.
create function rowhouse.use_factor(
  who uuid, kind text, factor_key bytea, factor_shown bytea[], factor_count bigint,
  fresh_sealed bytea, fresh_digest bytea, fresh_secret_id text
) returns boolean language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  digests bytea[] := (select array_agg(sha256(shown || uuid_send(who)))
    from unnest(factor_shown) as shown);
begin
  if kind = 'totp' then
    update rowhouse.totp_factors
      set last_step = factor_count, sealed_secret = coalesce(fresh_sealed, sealed_secret),
      digest = coalesce(fresh_digest, digest), secret_id = coalesce(fresh_secret_id, secret_id)
    where user_id = who and digest = any(digests) and last_step < factor_count;
    return found;
  end if;
  if kind = 'passkey' then
    return rowhouse.use_passkey(factor_key, who, factor_shown[1], factor_count, fresh_digest,
      fresh_secret_id) = 'done';
  end if;
  if kind = 'recovery' then
    delete from rowhouse.recovery_codes where user_id = who and digest = any(digests);
    if found then
      insert into rowhouse.audit (actor, action, user_id, details)
      values (who::text, 'use_recovery_code', who,
        jsonb_build_object('left', (select count(*) from rowhouse.recovery_codes
          where user_id = who)));
      perform rowhouse.queue_mail(who, 'recovery_code_used', null, jsonb_build_object(
        'from', nullif(current_setting('rowhouse.client', true), ''),
        'left', (select count(*)::text from rowhouse.recovery_codes where user_id = who)));
      return true;
    end if;
  end if;
  return false;
end
$$;

-- After a factor was right: the session, in place of those presented. Says "done"; "wrong", for a
-- factor that was used before or whose proof is not shown; or "gone", where no sign-in waits.
create function rowhouse.finish_second_factor(
  pending_shown text, kind text, factor_key bytea, factor_shown bytea[], factor_count bigint,
  fresh_sealed bytea, fresh_digest bytea, fresh_secret_id text,
  presented text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer,
  client_key text, device_key text, shown_from text, device_name text
) returns text language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  pending rowhouse.pending_sign_ins := rowhouse.find_pending_sign_in(pending_shown);
  who uuid;
begin
  -- One at a time for each person.
  select id into who from rowhouse.users where id = pending.user_id
    and disabled_at is null for no key update;
  if who is null or not exists (select from rowhouse.pending_sign_ins where id = pending.id) then
    return 'gone';
  end if;
  perform set_config('rowhouse.client', shown_from, true);
  if not rowhouse.use_factor(
    who, kind, factor_key, factor_shown, factor_count, fresh_sealed, fresh_digest, fresh_secret_id)
      then
    return 'wrong';
  end if;
  delete from rowhouse.pending_sign_ins where id = pending.id;
  -- Whoever has just ended all the person's sessions waits for no one here.
  if not found then
    return 'gone';
  end if;
  perform rowhouse.start_session(who, presented, new_id, new_session_digest, new_identity_digest,
    new_secret_id, max_s,
    pending.proven_at, now(), shown_from, device_name, device_key is not null);
  -- What was counted is given back; of what lasts only this attempt, or others could go on
  -- guessing.
  delete from rowhouse.throttle
    where key = any(rowhouse.factor_keys(who, kind, client_key, device_key));
  update rowhouse.throttle set attempts = greatest(attempts - 1, 0)
    where key = rowhouse.lasting_key(who, kind, device_key);
  insert into rowhouse.audit (actor, action, user_id, details) values (who::text, 'sign_in', who,
    jsonb_strip_nulls(jsonb_build_object('provider', pending.provider, 'secondFactor', kind)));
  return 'done';
end
$$;
grant execute on function rowhouse.finish_second_factor(
  text, text, bytea, bytea[], bigint, bytea, bytea, text, text, text, bytea, bytea, text, integer,
    text, text, text, text)
  to rowhouse_service, rowhouse_identity;

-- That a second factor was wrong: someone knows the password.
create function rowhouse.note_wrong_factor(who uuid, kind text, shown_from text) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  insert into rowhouse.audit (actor, action, user_id, details, client)
  values ('sign-in', 'second_factor_refused', who, jsonb_build_object('kind', left(kind, 40)),
    nullif(left(shown_from, 64), ''))
$$;
grant execute on function rowhouse.note_wrong_factor(uuid, text, text)
  to rowhouse_service, rowhouse_identity;
