-- People: users, their grants on apps, invitations, sessions, password links, and the audit log.
--
-- A serving login reads users without their password hashes, and updates or ends sessions. A hash
-- is read, and a rule across rows is enforced, only by functions that lock first. The audit log is
-- append-only for every writer; only its retention deletes entries.
--
-- The proof of a session, a link or a password depends on a secret that is not stored in a
-- database. The tables store a digest of the proof and of the person's id, and the id of the
-- secret: a row that is inserted by hand, or copied to another person, proves nothing.

create table rowhouse.users (
  id uuid primary key,
  email text not null unique
    check (email = lower(email) and length(email) between 3 and ${EMAIL_MAX_CHARS}),
  -- Covers the address and the person, like the digest of a session. Without it, the address gets
  -- no links and cannot link a provider account.
  email_digest bytea check (length(email_digest) = 32),
  email_secret_id text,
  display_name text check (length(display_name) between 1 and 200),
  avatar_url text check (length(avatar_url) <= 2048),
  console_role text check (console_role in ('admin', 'super_admin')),
  password_hash text,
  password_digest bytea,
  password_secret_id text,
  disabled_at timestamptz,
  -- Since when the person has been asked to add a second factor.
  factor_asked_at timestamptz,
  created_at timestamptz not null default now(),
  check (num_nulls(password_hash, password_digest, password_secret_id) in (0, 3)),
  check (num_nulls(email_digest, email_secret_id) in (0, 2))
);
grant select (id, email, email_digest, email_secret_id, display_name, avatar_url, console_role,
  disabled_at, password_secret_id) on rowhouse.users
  to rowhouse_service, rowhouse_identity;

-- For rowhouse.dev_leftovers(), which every visit of the Console's Home calls.
create index users__email__localhost__idx on rowhouse.users (email) where email ~ '[@.]localhost$';

-- A role from a provider's claim has the provider's name, and a digest like a session: the login
-- that applies claims cannot grant a role without the secret. A role that a person granted has
-- neither.
create table rowhouse.grants (
  user_id uuid not null references rowhouse.users (id) on delete cascade,
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  role text not null check (role ~ '${ROLE_PATTERN}' and role <> 'super_admin'),
  granted_at timestamptz not null default now(),
  provider text check (length(provider) between 1 and 40),
  digest bytea check (length(digest) = 32),
  secret_id text,
  primary key (user_id, app_id),
  check (num_nulls(provider, digest, secret_id) in (0, 3))
);
create index grants__app_id__user_id__idx on rowhouse.grants (app_id, user_id);
grant select on rowhouse.grants to rowhouse_service, rowhouse_identity;

-- session_digest is for the cookie that all hosts of the domain receive, identity_digest for the
-- cookie of the pages. Both are sha256(proof || uuid_send(user_id)): a row with another person's
-- id matches no session. Device and address are recorded at the sign-in, so that the person can
-- recognize the session.
create table rowhouse.sessions (
  id text primary key check (id ~ '${ID_PATTERN}'),
  session_digest bytea not null check (length(session_digest) = 32),
  identity_digest bytea not null check (length(identity_digest) = 32),
  secret_id text not null,
  user_id uuid not null references rowhouse.users (id) on delete cascade,
  device text check (length(device) <= 80),
  address text check (length(address) <= 64),
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  -- When the person last authenticated: now, for a password; for a provider the time that it
  -- reports, which can be long ago.
  proven_at timestamptz not null default now(),
  -- When the person last authenticated with a second factor too.
  second_factor_at timestamptz,
  expires_at timestamptz not null
);
create index sessions__user_id__idx on rowhouse.sessions (user_id);
create index sessions__expires_at__idx on rowhouse.sessions (expires_at);
grant select on rowhouse.sessions to rowhouse_service, rowhouse_identity;

-- When two live sessions were last presented together: at most one audit log entry per hour. No
-- foreign keys, which a concurrent sign-out would violate.
create table rowhouse.session_conflicts (
  first_id text not null,
  second_id text not null,
  recorded_at timestamptz not null default now(),
  primary key (first_id, second_id)
);
create index session_conflicts__recorded_at__idx on rowhouse.session_conflicts (recorded_at);

-- One link per person: a new link replaces the previous link.
create table rowhouse.password_links (
  user_id uuid primary key references rowhouse.users (id) on delete cascade,
  id text not null unique check (id ~ '${ID_PATTERN}'),
  digest bytea not null check (length(digest) = 32),
  secret_id text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- The app, by slug, and the address where the person continues. Both are checked again when the
  -- link is used: the app can be deleted or move.
  return_app text,
  return_to text check (length(return_to) <= 2048),
  check (num_nulls(return_app, return_to) in (0, 2))
);
grant select on rowhouse.password_links to rowhouse_service, rowhouse_identity;

-- Invited people who cannot sign in yet. An invitation can be accepted while the person's link is
-- valid, and ends then.
create table rowhouse.invitations (
  user_id uuid primary key references rowhouse.users (id) on delete cascade,
  -- The actor in the audit log.
  invited_by text not null,
  invited_at timestamptz not null default now(),
  -- When the mail with the current link was sent.
  mailed_at timestamptz
);

-- Filled from audit_actions.ts. "is_change": the action can make requests fail that succeeded
-- before.
create table rowhouse.audit_actions (name text primary key, is_change boolean not null);

-- An entry outlives its subjects, so they have no foreign keys.
create table rowhouse.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null references rowhouse.audit_actions,
  is_change boolean not null default false,
  user_id uuid,
  app text,
  details jsonb not null default '{}',
  -- The address of the browser's user, set for the rest of the statement by the function that
  -- verifies the browser's cookies.
  client text default nullif(current_setting('rowhouse.client', true), '')
);
create index audit__user_id__id__idx on rowhouse.audit (user_id, id);
create index audit__at__idx on rowhouse.audit (at);
create index audit__changes__id__idx on rowhouse.audit (id) where is_change;
create index audit__changes__app__id__idx on rowhouse.audit (app, id) where is_change;
create function rowhouse.reject_change() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'DELETE' and current_setting('rowhouse.sweeps_audit', true) = 'on' then
    return null;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'RH012';
end
$$;

create trigger reject_change before update or delete or truncate on rowhouse.audit
  for each statement execute function rowhouse.reject_change();

-- Adds an entry to the audit log.
create function rowhouse.log(actor text, action text, person uuid default null,
  app text default null, details jsonb default '{}',
  client text default nullif(current_setting('rowhouse.client', true), '')) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into rowhouse.audit (actor, action, is_change, user_id, app, details, client)
  values (log.actor, log.action,
    coalesce((select is_change from rowhouse.audit_actions where name = log.action), false),
    person, log.app, log.details, log.client)
$$;

-- Deletes a batch of entries older than the retention; returns their number. Never deletes entries
-- younger than thirty days, regardless of the argument: a stolen login must not remove traces.
create function rowhouse.sweep_audit(keep_s integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  swept integer;
begin
  perform set_config('rowhouse.sweeps_audit', 'on', true);
  delete from rowhouse.audit where id in (
    select id from rowhouse.audit
      where at < now() - make_interval(secs => greatest(keep_s, ${MIN_AUDIT_RETENTION_S}))
    order by at limit ${SWEEP_STEP} for update skip locked);
  get diagnostics swept = row_count;
  perform set_config('rowhouse.sweeps_audit', 'off', true);
  return swept;
end
$$;
grant execute on function rowhouse.sweep_audit to rowhouse_service, rowhouse_identity;

-- Replaces the presented sessions with a new one. Queues a mail if the person has not signed in on
-- this device before.
create function rowhouse.start_session(
  who uuid, presented text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer, proven timestamptz, second_factor timestamptz,
  client_address text, device_name text, is_known_device boolean
) returns void language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
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
  if not is_known_device and exists (select from rowhouse.audit where user_id = who
    and action = 'sign_in') then
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
  if person.id is null or person.disabled_at is not null
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
  from rowhouse.users where id = who and disabled_at is null for no key update;
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

-- Sets the password with the link and signs the person in: "done", "asked" or "pending", as for
-- any sign-in; "wrong" if the link is invalid. The changed password has its own mail, so that no
-- second mail reports the device.
create function rowhouse.sign_in_by_link(
  link_id text, presented_proof bytea, fresh_hash text, fresh_digest bytea, fresh_secret_id text,
  presented text, new_id text, new_session_digest bytea, new_identity_digest bytea,
  new_secret_id text, max_s integer, client_address text, device_name text,
  pending_id text, pending_digest bytea, factor_rule text
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
  return rowhouse.admit(who, presented, new_id, new_session_digest, new_identity_digest,
    new_secret_id, max_s, now(), client_address, device_name, true, null, pending_id,
    pending_digest, factor_rule);
end
$$;
grant execute on function rowhouse.use_password_link, rowhouse.sign_in_by_link
  to rowhouse_service, rowhouse_identity;

-- For operators: the progress of an app's setup; without a slug, of the newest app without a key.
create function rowhouse.read_setup(app_slug text) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object(
    'app', (select jsonb_build_object('slug', slug, 'hasTargets', has_targets, 'hasKeys', has_keys)
      from (
        select slug, created_at,
          exists (select from rowhouse.targets where app_id = apps.id) as has_targets,
          exists (select from rowhouse.api_keys where app_id = apps.id and revoked_at is null)
            as has_keys
        from rowhouse.apps where slug = app_slug or app_slug is null) as listed
      where slug = app_slug or not has_keys order by created_at desc limit 1),
    'hasApps', exists (select from rowhouse.apps),
    'hasAdministrator', exists (
      select from rowhouse.users where console_role = 'super_admin' and disabled_at is null))
$$;

-- Returns whether anyone can use the Console.
create function rowhouse.has_administrator() returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.users where console_role is not null and disabled_at is null)
$$;
grant execute on function rowhouse.has_administrator to rowhouse_service, rowhouse_identity;
comment on function rowhouse.sweep_audit is 'idempotent';
