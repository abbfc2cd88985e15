-- Passkeys: managed by their owner, used for sign-in without a password or as a second factor.
--
-- A stored passkey has a digest of its proof and of the person's id, like sessions and passwords:
-- the proof covers the credential's id, its public key and the person, and depends on a secret
-- that is not stored in a database. A row that is inserted by hand, or copied to another person,
-- cannot be used. Authenticator responses are verified before these functions are called.

-- Before the verification: how long to wait, and the stored passkey, if it exists.
create function rowhouse.begin_passkey(wanted bytea, client_networks text[],
  client_bounds integer[], window_s integer)
returns table (wait_s integer, user_id uuid, public_key bytea, secret_id text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  wait integer := rowhouse.count_attempt(
    rowhouse.client_keys('passkey client', client_networks), client_bounds, null, window_s);
begin
  return query select coalesce(wait, 0), passkeys.user_id, passkeys.public_key, passkeys.secret_id
  from (values (1)) as always left join rowhouse.passkeys on credential_id = wanted
    and wait is null;
end
$$;
comment on function rowhouse.begin_passkey is 'null user_id, public_key, secret_id';
grant execute on function rowhouse.begin_passkey to rowhouse_service, rowhouse_identity;

-- Returns whether this is the first use of a challenge. Used challenges are stored as long as
-- attempts are counted, which is longer than they are valid.
create function rowhouse.use_challenge(challenge_key text, window_s integer) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  insert into rowhouse.throttle (key, attempts, ends_at)
  values (challenge_key, 1,
    clock_timestamp() + make_interval(secs => least(window_s, ${MAX_COUNT_S})))
    on conflict (key) do nothing;
  return found;
end
$$;

-- After the verification: records the use, or returns why it is rejected. "presented_proof" proves
-- the stored passkey. The caller has locked the person's row.
create function rowhouse.use_passkey(
  wanted bytea, who uuid, presented_proof bytea, new_count bigint, fresh_digest bytea,
  fresh_secret_id text
) returns text language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  used rowhouse.passkeys;
  rejection text;
begin
  select * into used from rowhouse.passkeys where credential_id = wanted and user_id = who;
  if used.credential_id is null then
    return 'unknown';
  end if;
  rejection := case
    when used.digest is distinct from sha256(presented_proof || uuid_send(who)) then 'planted'
    -- A counter that does not increase means that the key was copied. The counter of a synchronized
    -- passkey stays 0.
    when greatest(used.sign_count, new_count) > 0 and new_count <= used.sign_count then 'counter'
  end;
  if rejection is not null then
    perform rowhouse.log('sign-in', 'sign_in_rejected', person => who,
      details => jsonb_build_object('method', 'passkey', 'reason', rejection));
    return rejection;
  end if;
  update rowhouse.passkeys set sign_count = new_count, last_used_at = now(), digest = fresh_digest,
    secret_id = fresh_secret_id
  where credential_id = wanted;
  return 'done';
end
$$;

-- After a correct response to a sign-in with only a passkey, which identifies its owner: replaces
-- the presented sessions with a new one.
create function rowhouse.finish_passkey_sign_in(
  wanted bytea, who uuid, presented_proof bytea, new_count bigint, fresh_digest bytea,
  fresh_secret_id text, challenge_key text, window_s integer, client_networks text[],
  presented text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer, client_address text, device_name text, is_known_device boolean
) returns text language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  outcome text;
begin
  -- The audit log reads this setting until this statement ends.
  perform set_config('rowhouse.client', client_address, true);
  perform from rowhouse.users where id = who and rowhouse.is_active(disabled_at) for no key update;
  if not found then
    return 'unknown';
  end if;
  if not rowhouse.use_challenge(challenge_key, window_s) then
    return 'replayed';
  end if;
  outcome := rowhouse.use_passkey(
    wanted, who, presented_proof, new_count, fresh_digest, fresh_secret_id);
  if outcome <> 'done' then
    return outcome;
  end if;
  perform rowhouse.start_session(who, presented, new_id, new_session_digest, new_identity_digest,
    new_secret_id, max_s, now(), now(), client_address, device_name, is_known_device);
  perform rowhouse.give_back_attempts(rowhouse.client_keys('passkey client', client_networks));
  perform rowhouse.log(who::text, 'sign_in', person => who,
    details => jsonb_build_object('method', 'passkey'));
  return outcome;
end
$$;
grant execute on function rowhouse.finish_passkey_sign_in to rowhouse_service, rowhouse_identity;

-- proves: owner; idempotent
create function rowhouse.read_own_passkeys() returns jsonb as $$
begin
  return jsonb_build_object('isFresh', rowhouse.is_fresh(own), 'sessionId', own,
    'list', (select coalesce(jsonb_agg(jsonb_build_object('ref', encode(sha256(credential_id),
      'hex'), 'label', label, 'createdAt', created_at,
      'lastUsedAt', last_used_at, 'isBackedUp', backed_up, 'transports', transports,
      'credentialId', translate(encode(credential_id, 'base64'), E'+/=\n', '-_'))
      order by created_at, label), '[]')
    from rowhouse.passkeys where user_id = who));
end
$$;

-- Adds a passkey after a recent sign-in; returns the outcome. "expected" is the person
-- and session that began it, for whom the digests were created. The first
-- second factor comes with recovery codes, and ends the sessions that began without a second
-- factor.
-- proves: owner
create function rowhouse.add_own_passkey(expected uuid, expected_session text, challenge_key text,
  window_s integer, new_credential bytea, new_key bytea, new_count bigint, new_transports text,
  new_label text, is_backed_up boolean, new_digest bytea, new_secret_id text, code_digests text)
  returns text as $$
declare
  is_first boolean := not rowhouse.has_second_factor(who);
begin
  if who <> expected or own <> expected_session then
    return 'other_session';
  end if;
  perform rowhouse.check_fresh(own);
  if not rowhouse.use_challenge(challenge_key, window_s) then
    return 'replayed';
  end if;
  if (select count(*) from rowhouse.passkeys where user_id = who) >= ${MAX_PASSKEYS} then
    return 'full';
  end if;
  insert into rowhouse.passkeys (
    credential_id, user_id, public_key, sign_count, transports, label, backed_up, digest, secret_id)
  values (new_credential, who, new_key, new_count, string_to_array(new_transports, ','), new_label,
    is_backed_up, new_digest,
    new_secret_id) on conflict do nothing;
  if not found then
    return 'in_use';
  end if;
  update rowhouse.sessions set second_factor_at = now() where id = own;
  delete from rowhouse.sessions where user_id = who and id <> own and is_first;
  if is_first then
    perform rowhouse.put_recovery_codes(who, code_digests, new_secret_id);
  end if;
  perform rowhouse.log(who::text, 'add_passkey', person => who);
  perform rowhouse.queue_mail(who, 'passkey_added', null,
    jsonb_build_object('label', new_label, 'from', visitor.client_address));
  return case when is_first then 'first' else 'done' end;
end
$$;

-- proves: owner
create function rowhouse.rename_own_passkey(wanted text, new_label text) returns text as $$
begin
  update rowhouse.passkeys set label = new_label where user_id = who
    and encode(sha256(credential_id), 'hex') = wanted;
  return case when found then 'done' else 'unknown' end;
end
$$;

-- proves: owner
create function rowhouse.remove_own_passkey(wanted text) returns text as $$
declare
  old_label text;
begin
  perform rowhouse.check_fresh(own);
  delete from rowhouse.passkeys where user_id = who
    and encode(sha256(credential_id), 'hex') = wanted returning label into old_label;
  if not found then
    return 'unknown';
  end if;
  perform rowhouse.clear_without_factor(who);
  perform rowhouse.log(who::text, 'remove_passkey', person => who);
  perform rowhouse.queue_mail(who, 'passkey_removed', null,
    jsonb_build_object('label', old_label, 'from', visitor.client_address));
  return 'done';
end
$$;
