-- The view of people for administrators in a browser, and the accounts that they can change. Never
-- shows a password, or the proof of a session or a link.
--
-- Setting the password of an account with a Console role would be a way to acquire the role, and
-- deleting the account a way to remove it. So only a super_admin can change these accounts.
-- An admin can change only accounts without a Console role. So admins cannot change their own
-- account here: its settings page requires the current password.

create function rowhouse.check_super_admin(who uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from rowhouse.users where id = who and console_role = 'super_admin') then
    raise exception 'requires super_admin' using errcode = 'RH014';
  end if;
end
$$;

-- Returns the Console role if "who" can grant it. Everyone can pass null, which is no role.
create function rowhouse.check_new_role(who uuid, new_role text) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if new_role is not null then
    perform rowhouse.check_super_admin(who);
  end if;
  return new_role;
end
$$;

-- The address of a person whose Console role "who" can change.
create function rowhouse.find_by_super_admin(who uuid, person uuid) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.check_super_admin(who);
  return rowhouse.email_of(person);
end
$$;

-- The address of a person whose account "who" can change. Locks the Console role until the action
-- ends.
create function rowhouse.hold_account(who uuid, person uuid) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  held rowhouse.users := rowhouse.lock_user(rowhouse.email_of(person));
begin
  if held.console_role is not null then
    perform rowhouse.check_super_admin(who);
  end if;
  return held.email;
end
$$;

-- The slug of an app if "who" can change every account with a role on it.
create function rowhouse.hold_app_accounts(who uuid, app_slug text) returns text language sql
set search_path = pg_catalog, pg_temp as $$
  select rowhouse.hold_account(who, user_id) from rowhouse.grants
    join rowhouse.apps on apps.id = app_id where slug = app_slug;
  select app_slug
$$;

-- A person with roles on apps after a slug, or on one app, and the active sessions, latest first.
-- proves: admin; idempotent
create function rowhouse.console_show_person(person uuid, app_slug text, after_slug text,
  max_rows integer) returns jsonb as $$
declare
  mail text := rowhouse.email_of(person);
begin
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'person', (select rowhouse.describe_user(users) || jsonb_build_object(
        'linkEndsAt', (select rowhouse.utc_text(expires_at) from rowhouse.password_links
          where user_id = person and expires_at > now()),
        'hasTotp', exists (select from rowhouse.totp_factors where user_id = person),
        'passkeys', (select count(*) from rowhouse.passkeys where user_id = person),
        'recoveryCodes', (select count(*) from rowhouse.recovery_codes where user_id = person),
        'addressDigest', encode(email_digest, 'hex'), 'addressSecretId', email_secret_id,
        'failedSignIns', rowhouse.failed_sign_ins_of(person),
        'isLast', rowhouse.is_last_super_admin(users),
        'invitation', rowhouse.describe_invitation(person))
      from rowhouse.users where email = mail),
    'grants', rowhouse.grants_of(person, app_slug, after_slug, max_rows),
    'sessions', rowhouse.sessions_of(person, visitor.idle_s, 100));
end
$$;

-- The active keys that a person issued, last used first.
-- proves: admin; idempotent
create function rowhouse.console_list_issued_keys(person uuid, max_rows integer) returns jsonb as $$
begin
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'keys', (select coalesce(jsonb_agg(jsonb_build_object('keyId', key_id, 'name', name,
        'app', slug, 'lastUsedAt', rowhouse.utc_text(last_used_at))
        order by last_used_at desc nulls last, key_id), '[]')
      from (select key_id, api_keys.name, slug, last_used_at
        from rowhouse.issued_keys(person) as issued (key_id)
        join rowhouse.api_keys using (key_id) join rowhouse.apps on apps.id = app_id
        where revoked_at is null and (expires_at is null or expires_at > now())
        order by last_used_at desc nulls last, key_id limit max_rows) as listed));
end
$$;
