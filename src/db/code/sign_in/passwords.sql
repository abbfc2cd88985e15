-- Signing in by a password, and links that set one.
--
-- The proof of a session, a link or a password depends on a secret that is not stored in a
-- database. The tables store a digest of the proof and of the person's id, and the id of the
-- secret: a row that is inserted by hand, or copied to another person, proves nothing.

-- Replaces the presented sessions with a new one. Queues a mail if the person has not signed in on
-- this device before.
create function rowhouse.start_session(
  who uuid, presented text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer, proven timestamptz, second_factor timestamptz,
  client_address text, device_name text, is_known_device boolean
) returns void language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  is_first boolean;
begin
  -- The audit log: 0009_known_sign_ins can still be running.
  select last_sign_in_at is null and not exists (
    select from rowhouse.audit where user_id = who and action = 'sign_in')
  into is_first from rowhouse.users where id = who for no key update;
  update rowhouse.users set last_sign_in_at = now() where id = who;
  delete from rowhouse.sessions as old using unnest(string_to_array(presented, ',')) as pair
  where old.id = split_part(pair, '.', 1)
    and sha256(decode(split_part(pair, '.', 2), 'hex') || uuid_send(old.user_id))
      in (old.session_digest, old.identity_digest);
  delete from rowhouse.sessions where id in (
    select id from rowhouse.sessions where expires_at < now()
      order by expires_at limit 20 for update skip locked);
  insert into rowhouse.sessions (id, session_digest, identity_digest, secret_id, user_id, device,
    address, proven_at, second_factor_at, expires_at)
  values (new_id, new_session_digest, new_identity_digest, new_secret_id, who,
    left(device_name, 80), left(client_address, 64),
    proven, second_factor, now() + make_interval(secs => max_s));
  -- The audit log reads this setting until this statement ends.
  perform set_config('rowhouse.client', client_address, true);
  -- No mail for the first sign-in, which follows an invitation.
  if not is_known_device and not is_first then
    perform rowhouse.queue_mail(who, 'new_device', null, jsonb_build_object('device', device_name,
      'from', client_address));
  end if;
end
$$;

-- Returns whether the password was correct. False if the person was disabled or got another
-- password in between, or if the proof from the hash and the service's secret is wrong: a serving
-- login cannot create a session, or replace a hash, without the secret. Restores the counted
-- attempt.
create function rowhouse.prove_password(
  who uuid, presented_proof bytea, fresh_hash text, fresh_digest bytea, fresh_secret_id text,
  client_networks text[], known_device text
) returns boolean language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users;
  client_keys text[] := rowhouse.client_keys('client', client_networks);
  address_key text;
  failures integer;
begin
  select * into person from rowhouse.users where id = who for no key update;
  if person.id is null or not rowhouse.is_active(person.disabled_at)
     or person.password_digest is distinct from sha256(presented_proof || uuid_send(who)) then
    return false;
  end if;
  if fresh_hash is not null then
    update rowhouse.users
    set password_hash = fresh_hash, password_digest = fresh_digest,
      password_secret_id = fresh_secret_id where id = who;
  end if;
  -- In the order of counting. A known device has a separate counter.
  if known_device is not null then
    delete from rowhouse.throttle where key = rowhouse.device_key(known_device, person.email);
  else
    address_key := rowhouse.throttle_key('address', person.email);
    delete from rowhouse.throttle where key = rowhouse.pair_key(address_key, client_keys[1]);
    delete from rowhouse.throttle where key = address_key;
    perform rowhouse.give_back_attempts(client_keys || array['all']);
  end if;
  -- This attempt is included.
  delete from rowhouse.failed_sign_ins where user_id = who returning attempts - 1 into failures;
  if failures > 0 then
    perform rowhouse.log('sign-in', 'sign_in_failed', person => who,
      details => jsonb_build_object('attempts', failures));
  end if;
  return true;
end
$$;

-- After a correct password: replaces the presented sessions with a new one, or creates a pending
-- sign-in. Returns the outcome; "wrong" without a proof of the password.
create function rowhouse.finish_sign_in(
  who uuid, presented_proof bytea, fresh_hash text, fresh_digest bytea, fresh_secret_id text,
  presented text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer, client_networks text[], known_device text, client_address text,
  device_name text, pending_id text, pending_digest bytea, factor_rule text
) returns text language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
begin
  if not rowhouse.prove_password(
    who, presented_proof, fresh_hash, fresh_digest, fresh_secret_id, client_networks, known_device)
      then
    return 'wrong';
  end if;
  return rowhouse.admit(who, presented, new_id, new_session_digest, new_identity_digest,
    new_secret_id, max_s, now(), client_address, device_name, known_device is not null, null,
    pending_id, pending_digest, factor_rule);
end
$$;
grant execute on function rowhouse.finish_sign_in to rowhouse_service, rowhouse_identity;

-- A link sets a password once: of two concurrent uses the second finds no row. Accepts an
-- invitation. Ends earlier sessions, and the wait after failed attempts: attempts at the old
-- password do not count for the new one.
create function rowhouse.use_password_link(
  link_id text, presented_proof bytea, new_hash text, new_digest bytea, new_secret_id text
) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  who uuid := (select user_id from rowhouse.password_links where id = link_id);
  address_key text;
  had_password boolean;
begin
  -- Locks the person before the link, like every function that changes both.
  select password_hash is not null into had_password
  from rowhouse.users where id = who and rowhouse.is_active(disabled_at) for no key update;
  if not found then
    return false;
  end if;
  delete from rowhouse.password_links
  where id = link_id and user_id = who and digest = sha256(presented_proof || uuid_send(who))
    and expires_at > now();
  if not found then
    return false;
  end if;
  update rowhouse.users
  set password_hash = new_hash, password_digest = new_digest, password_secret_id = new_secret_id
  where id = who
  returning rowhouse.throttle_key('address', email) into address_key;
  delete from rowhouse.invitations where user_id = who;
  delete from rowhouse.sessions where user_id = who;
  perform rowhouse.end_pending_sign_ins(who);
  delete from rowhouse.throttle where starts_with(key, rowhouse.pair_key(address_key, ''));
  delete from rowhouse.throttle where key = address_key;
  perform rowhouse.log(who::text, 'set_password', person => who);
  if had_password then
    perform rowhouse.queue_mail(who, 'password_changed', null, '{}');
  end if;
  return true;
end
$$;

-- Stores the name that a person gave when accepting an invitation, unless the person has a name.
create function rowhouse.name_new_person(person uuid, new_name text) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  update rowhouse.users set display_name = new_name
  where id = person and display_name is null and new_name is not null
$$;

-- Sets the password with the link and signs the person in: "done", "asked" or "pending", as for
-- any sign-in; "wrong" if the link is invalid. The changed password has its own mail, so that no
-- second mail reports the device. An invited person can give a name.
create function rowhouse.accept_by_link(
  link_id text, presented_proof bytea, fresh_hash text, fresh_digest bytea, fresh_secret_id text,
  presented text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer, client_address text, device_name text,
  pending_id text, pending_digest bytea, factor_rule text, new_name text
) returns text language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  who uuid := (select user_id from rowhouse.password_links where id = link_id);
begin
  -- The audit log reads this setting until this statement ends.
  perform set_config('rowhouse.client', client_address, true);
  if not rowhouse.use_password_link(
    link_id, presented_proof, fresh_hash, fresh_digest, fresh_secret_id) then
    return 'wrong';
  end if;
  perform rowhouse.name_new_person(who, new_name);
  return rowhouse.admit(who, presented, new_id, new_session_digest, new_identity_digest,
    new_secret_id, max_s, now(), client_address, device_name, true, null, pending_id,
    pending_digest, factor_rule);
end
$$;
grant execute on function rowhouse.use_password_link, rowhouse.accept_by_link
  to rowhouse_service, rowhouse_identity;
