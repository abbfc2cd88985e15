-- Administrators' actions on people: accounts, password links, roles, sessions. None of these
-- functions is granted: only administrators run them, by a command or through a function that
-- verifies the user. Each writes the audit log with the name of "actor".
--
-- A serving login reads users without their password hashes, and updates or ends sessions. A hash
-- is read, and a rule across rows is enforced, only by functions that lock first.

grant select (id, email, email_digest, email_secret_id, display_name, avatar_url, console_role,
  disabled_at, password_secret_id) on rowhouse.users
  to rowhouse_service, rowhouse_identity;
grant select on rowhouse.grants to rowhouse_service, rowhouse_identity;
grant select on rowhouse.sessions to rowhouse_service, rowhouse_identity;
grant select on rowhouse.password_links to rowhouse_service, rowhouse_identity;

-- Whether a person can sign in and use a session, a key or a link. Every check is a call of this
-- function, which PostgreSQL puts into the query of the caller.
create function rowhouse.is_active(disabled_at timestamptz) returns boolean
language sql immutable
return disabled_at is null;
grant execute on function rowhouse.is_active to rowhouse_service, rowhouse_identity;

create function rowhouse.find_user(email text) returns uuid language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  person uuid := (select id from rowhouse.users where users.email = find_user.email);
begin
  if person is null then
    raise exception 'unknown user' using errcode = 'RH011';
  end if;
  return person;
end
$$;

create function rowhouse.email_of(person uuid) returns text language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  mail text := (select email from rowhouse.users where id = person);
begin
  if mail is null then
    raise exception 'unknown user' using errcode = 'RH011';
  end if;
  return mail;
end
$$;

-- Creates a link that sets a person's password, and ends an older link. The digest covers the
-- person.
create function rowhouse.put_password_link(
  person uuid, new_id text, proof bytea, new_secret_id text, ends_at timestamptz
) returns void language sql set search_path = pg_catalog, pg_temp as $$
  insert into rowhouse.password_links (user_id, id, digest, secret_id, expires_at)
  values (person, new_id, sha256(proof || uuid_send(person)), new_secret_id, ends_at)
  on conflict (user_id) do update set id = excluded.id, digest = excluded.digest,
    secret_id = excluded.secret_id, created_at = now(), expires_at = excluded.expires_at
$$;

-- Creates an invited person without a password, and the link that sets it. Returns whether it is
-- mailed.
create function rowhouse.create_user(
  new_id uuid, email text, mail_digest bytea, new_name text, new_role text,
  link_id text, proof bytea, link_secret_id text, ends_at timestamptz, actor text
) returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into rowhouse.users (id, email, email_digest, email_secret_id, display_name, console_role)
  values (new_id, email, mail_digest, link_secret_id, new_name, new_role);
  insert into rowhouse.invitations (user_id, invited_by) values (new_id, actor);
  perform rowhouse.put_password_link(new_id, link_id, proof, link_secret_id, ends_at);
  perform rowhouse.log(actor, 'create_user', person => new_id,
    details => jsonb_build_object('consoleRole', new_role));
  return rowhouse.queue_mail(new_id, 'invitation', link_id, '{}');
end
$$;

-- Creates several invited people: all, or with an error none. Returns for each whether the link is
-- mailed.
create function rowhouse.create_users(
  people jsonb, link_secret_id text, ends_at timestamptz, actor text
) returns boolean[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  person jsonb;
  mailed boolean[] := '{}';
begin
  for person in select jsonb_array_elements(people) loop
    mailed := mailed || rowhouse.create_user((person ->> 'id')::uuid, person ->> 'email',
      decode(person ->> 'digest', 'hex'), person ->> 'name', null, person ->> 'linkId',
      decode(person ->> 'proof', 'hex'), link_secret_id, ends_at, actor);
  end loop;
  return mailed;
end
$$;

-- For an invited person it is the link of the invitation. Returns whether it is mailed.
-- action: admin, recent sign-in; logs "created a password link"
--   email = rowhouse.hold_account(who, person uuid)
create function rowhouse.make_password_link(
  email text, link_id text, proof bytea, link_secret_id text, ends_at timestamptz, actor text
) returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  person uuid := rowhouse.find_user(email);
  outcome text := rowhouse.resend_invitation(email, link_id, proof, link_secret_id, ends_at, actor);
begin
  if outcome is not null then
    return outcome = 'mailed';
  end if;
  perform rowhouse.put_password_link(person, link_id, proof, link_secret_id, ends_at);
  perform rowhouse.log(actor, 'make_password_link', person => person);
  return rowhouse.queue_mail(person, 'password_link', link_id, '{}');
end
$$;

-- Grants a role on an app, and replaces the previous role: claims no longer change it.
-- action: admin, recent sign-in; logs grant = "granted a role", a change
create function rowhouse.grant_role(email text, app_slug text, new_role text, actor text)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  person uuid;
  app uuid := (select id from rowhouse.apps where slug = app_slug);
  old_role text;
begin
  -- Waits for a concurrent deletion of the person.
  select id into person from rowhouse.users where users.email = grant_role.email for key share;
  if person is null then
    raise exception 'unknown user' using errcode = 'RH011',
      detail = case when app is null then 'unknown app' else '' end;
  end if;
  app := rowhouse.find_app(app_slug);
  select role into old_role from rowhouse.grants where user_id = person and app_id = app
    for update;
  insert into rowhouse.grants (user_id, app_id, role) values (person, app, new_role)
  on conflict (user_id, app_id) do update
  set role = excluded.role, granted_at = now(), provider = null, digest = null, secret_id = null;
  perform rowhouse.log(actor, 'grant', person => person, app => app_slug,
    details => jsonb_strip_nulls(jsonb_build_object('role', new_role, 'before', old_role)));
end
$$;

-- Revokes a role; returns whether there was one.
-- action: admin, recent sign-in; logs revoke = "revoked a role", a change
--   email = rowhouse.email_of(person uuid)
create function rowhouse.revoke_role(email text, app_slug text, actor text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  person uuid := rowhouse.find_user(email);
  app uuid := rowhouse.find_app(app_slug);
  old_role text;
begin
  delete from rowhouse.grants where user_id = person and app_id = app returning role into old_role;
  if old_role is null then
    return false;
  end if;
  perform rowhouse.log(actor, 'revoke', person => person, app => app_slug,
    details => jsonb_build_object('role', old_role));
  return true;
end
$$;

-- Grants a role on several apps: on all, or with an error on none. A slug can have a role of its
-- own after a space.
-- action: admin, recent sign-in
create function rowhouse.grant_app_roles(
  email text, app_slugs text[], new_role text, actor text
) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app_slug text;
begin
  foreach app_slug in array app_slugs loop
    perform rowhouse.grant_role(email, split_part(app_slug, ' ', 1),
      coalesce(nullif(split_part(app_slug, ' ', 2), ''), new_role), actor);
  end loop;
end
$$;

-- Grants a role to several people: to all, or with an error to none.
create function rowhouse.grant_roles(emails text[], app_slug text, new_role text, actor text)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  email text;
begin
  foreach email in array emails loop
    perform rowhouse.grant_role(email, app_slug, new_role, actor);
  end loop;
end
$$;

-- Revokes the roles of several people. If one of them has none, it revokes nothing. Returns the
-- addresses without a role.
create function rowhouse.revoke_roles(
  emails text[], app_slug text, is_dry_run boolean, actor text
) returns text[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app uuid := rowhouse.find_app(app_slug);
  lacking text[] := array(select wanted from unnest(emails) as wanted where not exists (
    select from rowhouse.grants join rowhouse.users on users.id = user_id
    where users.email = wanted and app_id = app));
  email text;
begin
  if is_dry_run or lacking <> '{}' then
    return lacking;
  end if;
  foreach email in array emails loop
    perform rowhouse.revoke_role(email, app_slug, actor);
  end loop;
  return lacking;
end
$$;

-- Revokes every role that a provider's claims granted; returns the person, the app and the role of
-- each.
create function rowhouse.revoke_claimed_roles(by_provider text, actor text)
returns table (email text, app text, role text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  revoked record;
begin
  for revoked in
    with deleted as (
      delete from rowhouse.grants using rowhouse.apps
      where provider = by_provider and apps.id = app_id returning user_id, slug, grants.role
    )
    select user_id, users.email, slug, deleted.role
    from deleted join rowhouse.users on users.id = user_id
    order by slug, users.email
  loop
    perform rowhouse.log(actor, 'revoke', person => revoked.user_id, app => revoked.slug,
      details => jsonb_build_object('role', revoked.role, 'provider', by_provider));
    email := revoked.email;
    app := revoked.slug;
    role := revoked.role;
    return next;
  end loop;
end
$$;

-- Ends all sessions of a person; returns their number.
-- action: admin, recent sign-in; logs "ended sessions"
--   email = rowhouse.hold_account(who, person uuid)
create function rowhouse.end_sessions(email text, actor text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  person uuid := rowhouse.find_user(email);
  ended integer;
begin
  delete from rowhouse.pending_sign_ins where user_id = person;
  delete from rowhouse.sessions where user_id = person;
  get diagnostics ended = row_count;
  perform rowhouse.log(actor, 'end_sessions', person => person,
    details => jsonb_build_object('sessions', ended));
  return ended;
end
$$;

-- Ends all sessions of the people with a role on an app; returns their number.
-- action: admin, recent sign-in
--   app_slug = rowhouse.hold_app_accounts(who, app_slug text)
create function rowhouse.end_app_sessions(app_slug text, actor text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app uuid := rowhouse.find_app(app_slug);
  people uuid[] := array(select user_id from rowhouse.grants where app_id = app);
  ended integer;
begin
  delete from rowhouse.pending_sign_ins where user_id = any (people);
  delete from rowhouse.sessions where user_id = any (people);
  get diagnostics ended = row_count;
  perform rowhouse.log(actor, 'end_sessions', app => app_slug,
    details => jsonb_build_object('sessions', ended));
  return ended;
end
$$;

-- Ends one session of a person; returns whether it existed.
-- action: admin, recent sign-in
--   email = rowhouse.hold_account(who, person uuid)
create function rowhouse.end_session(email text, session_id text, actor text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  person uuid := rowhouse.find_user(email);
begin
  delete from rowhouse.sessions where id = session_id and user_id = person;
  if not found then
    return false;
  end if;
  perform rowhouse.log(actor, 'end_sessions', person => person,
    details => jsonb_build_object('sessions', 1));
  return true;
end
$$;
create function rowhouse.lock_user(email text) returns rowhouse.users
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users;
begin
  perform from rowhouse.account_actions for update;
  select * into person from rowhouse.users where users.email = lock_user.email for no key update;
  if person.id is null then
    raise exception 'unknown user' using errcode = 'RH011';
  end if;
  return person;
end
$$;

-- Returns whether no one else is a super_admin. People with a pending invitation count only if all
-- others are invited too.
create function rowhouse.is_last_super_admin(person rowhouse.users) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(person.console_role = 'super_admin', false)
    and rowhouse.is_active(person.disabled_at) and not exists (
    select from rowhouse.users as other
    where other.console_role = 'super_admin' and rowhouse.is_active(other.disabled_at)
      and other.id <> person.id
      and (not exists (select from rowhouse.invitations where user_id = other.id)
        or exists (select from rowhouse.invitations where user_id = person.id)))
$$;

create function rowhouse.keep_super_admin(person rowhouse.users) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  if rowhouse.is_last_super_admin(person) then
    raise exception 'the last super_admin cannot be removed' using errcode = 'RH010';
  end if;
end
$$;

-- Returns whether the service has set the address of a person: a proof matches the stored digest.
-- There is one proof per identity secret, because an email can renew the digest at any time.
create function rowhouse.has_proved_address(person rowhouse.users, proofs bytea[]) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select exists (select from unnest(proofs) as proof
    where sha256(proof || uuid_send(person.id)) = person.email_digest)
$$;

-- A role is granted only to a person whose address the service has set. A serving login can create
-- a person with any address and a session of that person, but not a proof of the address.
-- action: admin, recent sign-in; logs "set the Console role", a change
--   email = rowhouse.find_by_super_admin(who, person uuid)
create function rowhouse.set_console_role(email text, new_role text, proofs bytea[], actor text)
returns void language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users := rowhouse.lock_user(email);
begin
  if new_role is not null and not rowhouse.has_proved_address(person, proofs) then
    raise exception 'address not confirmed' using errcode = 'RH018';
  end if;
  if new_role is distinct from 'super_admin' then
    perform rowhouse.keep_super_admin(person);
  end if;
  -- A holder of an earlier link, created for fewer rights, would get these rights.
  if new_role is not null and new_role is distinct from person.console_role then
    delete from rowhouse.password_links where user_id = person.id;
  end if;
  update rowhouse.users set console_role = new_role where id = person.id;
  perform rowhouse.log(actor, 'set_console_role', person => person.id,
    details => jsonb_build_object('before', person.console_role, 'after', new_role));
  if person.console_role is distinct from new_role then
    perform rowhouse.queue_mail(person.id, 'console_role', null,
      jsonb_build_object('role', new_role));
  end if;
end
$$;

-- action: admin, recent sign-in
--   email = rowhouse.hold_account(who, person uuid)
create function rowhouse.set_disabled(email text, disabled boolean, actor text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users := rowhouse.lock_user(email);
begin
  if disabled then
    perform rowhouse.keep_super_admin(person);
    delete from rowhouse.password_links where user_id = person.id;
  end if;
  update rowhouse.users set disabled_at = case when disabled
    then coalesce(disabled_at, now()) end where id = person.id;
  delete from rowhouse.sessions where user_id = person.id and disabled;
  delete from rowhouse.pending_sign_ins where user_id = person.id and disabled;
  perform rowhouse.log(actor, case when disabled then 'disable' else 'enable' end,
    person => person.id);
end
$$;

-- Disables or enables several people: all, or with an error none.
create function rowhouse.set_all_disabled(emails text[], disabled boolean, actor text)
returns void language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  email text;
begin
  foreach email in array emails loop
    perform rowhouse.set_disabled(email, disabled, actor);
  end loop;
end
$$;

-- Ends the access of a person who leaves, in one step: sessions, links, roles and the given keys of
-- those that the person issued. What has already ended stays as it is, without an entry.
-- action: admin, recent sign-in
--   email = rowhouse.hold_account(who, person uuid)
create function rowhouse.end_access(email text, old_key_ids text[], actor text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users := rowhouse.lock_user(email);
  ended text;
begin
  -- First: it keeps the last super_admin.
  if person.disabled_at is null then
    perform rowhouse.set_disabled(email, true, actor);
  end if;
  -- A person who was already disabled can have got another one since.
  delete from rowhouse.password_links where user_id = person.id;
  if person.console_role is not null then
    perform rowhouse.set_console_role(email, null, null, actor);
  end if;
  for ended in select slug from rowhouse.grants join rowhouse.apps on apps.id = app_id
    where user_id = person.id order by slug
  loop
    perform rowhouse.revoke_role(email, ended, actor);
  end loop;
  for ended in select key_id from rowhouse.issued_keys(person.id) as issued (key_id)
    where key_id = any (old_key_ids) order by key_id
  loop
    perform rowhouse.revoke_key(ended, actor);
  end loop;
end
$$;

-- Removes every second factor of a person who has lost it; false without a factor. Ends sessions
-- and pending sign-ins, and restarts the grace period for a required second factor.
-- action: admin, recent sign-in; logs "reset the second factor"
--   email = rowhouse.hold_account(who, person uuid)
create function rowhouse.reset_second_factor(email text, actor text) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users := rowhouse.lock_user(email);
begin
  if not rowhouse.has_second_factor(person.id) then
    return false;
  end if;
  delete from rowhouse.totp_factors where user_id = person.id;
  delete from rowhouse.recovery_codes where user_id = person.id;
  delete from rowhouse.passkeys where user_id = person.id;
  delete from rowhouse.sessions where user_id = person.id;
  perform rowhouse.end_pending_sign_ins(person.id);
  -- Resets the counters of attempts.
  delete from rowhouse.throttle where starts_with(key, person.id || ' ');
  update rowhouse.users set factor_asked_at = null where id = person.id;
  perform rowhouse.log(actor, 'reset_second_factor', person => person.id);
  perform rowhouse.queue_mail(person.id, 'second_factor_reset', null, '{}');
  return true;
end
$$;

-- Changes the sign-in address. Ends links, which went to the previous address: an invitation must
-- be sent again. A person with an account gets an email at both addresses. False if the address is
-- unchanged. The digest covers the person and the new address. Requires a proof of the previous
-- address: otherwise the new address would confirm an account that an attacker with a serving login
-- has inserted.
-- action: admin, recent sign-in; logs "changed the address"
--   person = rowhouse.find_user(rowhouse.hold_account(who, person uuid))
create function rowhouse.change_email(
  person uuid, proofs bytea[], new_email text, mail_digest bytea, mail_secret_id text, actor text
) returns boolean language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  before rowhouse.users := rowhouse.lock_user(rowhouse.email_of(person));
begin
  if not rowhouse.has_proved_address(before, proofs) then
    raise exception 'address not confirmed' using errcode = 'RH018';
  end if;
  if before.email = new_email then
    return false;
  end if;
  update rowhouse.users set email = new_email, email_digest = mail_digest,
    email_secret_id = mail_secret_id
  where id = before.id;
  delete from rowhouse.password_links where user_id = before.id;
  perform rowhouse.log(actor, 'change_email', person => person);
  if rowhouse.invitation_state(before.id) is null then
    perform rowhouse.queue_mail(before.id, 'address_changed', null, '{}');
    perform rowhouse.queue_mail(before.id, 'address_changed', null,
      jsonb_build_object('to', before.email));
  end if;
  return true;
end
$$;

-- Deletes the person with grants, sessions and link. The audit log keeps the id, but nothing that
-- identifies the person.
-- action: admin, recent sign-in; logs "deleted the person"
--   email = rowhouse.hold_account(who, person uuid)
create function rowhouse.delete_user(email text, actor text) returns uuid
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users := rowhouse.lock_user(email);
begin
  perform rowhouse.keep_super_admin(person);
  delete from rowhouse.throttle where starts_with(key, person.id || ' ');
  delete from rowhouse.users where id = person.id;
  perform rowhouse.log(actor, 'delete_user', person => person.id);
  return person.id;
end
$$;
