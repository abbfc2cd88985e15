-- People and their access: mostly lists for operators. Shows neither passwords nor proofs of
-- sessions.

create function rowhouse.describe_user(person rowhouse.users) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('id', person.id, 'email', person.email,
    'displayName', person.display_name, 'consoleRole', person.console_role,
    'hasPassword', person.password_hash is not null,
    'hasProvider', exists (select from rowhouse.provider_links where user_id = person.id),
    'invitationState', rowhouse.invitation_state(person.id),
    'createdAt', rowhouse.utc_text(person.created_at),
    'lastSignInAt', rowhouse.utc_text(person.last_sign_in_at),
    'disabledAt', rowhouse.utc_text(person.disabled_at))
$$;

-- People by address, and the number of invitations. Counts cover only the listed people. Here and
-- below, `search` is a regular expression that lists the cases of each letter: `lower()` depends on
-- the locale of the database.
-- read: admin
create function rowhouse.list_people(search text, after_email text, max_rows integer) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('invited', (select count(*) from rowhouse.invitations),
    'users', coalesce(jsonb_agg(rowhouse.describe_user(users) || jsonb_build_object(
      'apps', (select count(*) from rowhouse.grants where user_id = users.id),
      'lastSeenAt', rowhouse.utc_text(greatest(last_sign_in_at, (select max(last_seen_at)
        from rowhouse.sessions where user_id = users.id)))) order by email), '[]'))
  from (select * from rowhouse.users
    where email > after_email and (email ~ search or display_name collate "C" ~ search)
    order by email limit max_rows) as users
$$;

-- The sessions of a person that are neither expired nor idle for longer, latest first.
create function rowhouse.sessions_of(person uuid, max_idle_s integer, max_rows integer)
returns jsonb language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', id, 'device', device, 'address', address,
    'createdAt', rowhouse.utc_text(created_at), 'lastSeenAt', rowhouse.utc_text(last_seen_at),
    'expiresAt', rowhouse.utc_text(expires_at)) order by last_seen_at desc, id), '[]')
  from (select * from rowhouse.sessions
    where user_id = person and expires_at > now()
      and (max_idle_s is null or last_seen_at > now() - make_interval(secs => max_idle_s))
    order by last_seen_at desc, id limit max_rows) as live
$$;

-- The live sessions of a person, who is named by an id or an address.
-- read: admin
create function rowhouse.list_sessions(email text, person uuid, max_idle_s integer) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('sessions', rowhouse.sessions_of(rowhouse.find_user(
    coalesce(list_sessions.email, rowhouse.email_of(person))), max_idle_s, null))
$$;

-- The roles of a person on apps after a slug, or on one app.
create function rowhouse.grants_of(person uuid, app_slug text, after_slug text, max_rows integer)
returns jsonb language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_agg(to_jsonb(given) order by app), '[]') from (
    select slug as app, role, rowhouse.utc_text(granted_at) as "grantedAt", provider,
      apps.disabled_at is not null as "isDisabled"
    from rowhouse.grants join rowhouse.apps on apps.id = app_id
    where user_id = person and slug > after_slug and (app_slug is null or slug = app_slug)
    order by slug limit max_rows) as given
$$;

-- The number of wrong passwords since the last correct one; null for none.
create function rowhouse.failed_sign_ins_of(person uuid) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('attempts', attempts, 'lastAt', rowhouse.utc_text(last_at),
    'lastFrom', last_from)
  from rowhouse.failed_sign_ins where user_id = person
$$;

create function rowhouse.show_user(email text) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select rowhouse.describe_user(users) || jsonb_build_object(
    'grants', rowhouse.grants_of(id, null, '', null),
    'sessions', rowhouse.sessions_of(id, null, null),
    'failedSignIns', rowhouse.failed_sign_ins_of(id))
  from rowhouse.users where id = rowhouse.find_user(show_user.email)
$$;

-- The roles of people on an app, and those that its rules name.
-- read: admin
create function rowhouse.list_app_roles(app_slug text) returns jsonb language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  app uuid := rowhouse.find_app(app_slug);
begin
  return jsonb_build_object('roles', array(
    select role from rowhouse.grants where app_id = app
    union select jsonb_object_keys(definition -> 'rules' -> 'allow') from rowhouse.registrations
      where app_id = app and not is_ending and definition ? 'rules'
    order by role));
end
$$;

-- The people with a role on an app, by address, and those with a Console role, which is admin on
-- every app.
-- read: admin
create function rowhouse.list_app_people(app_slug text, search text, after_email text,
  max_rows integer) returns jsonb language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  return jsonb_build_object('isDisabled', app.disabled_at is not null,
    'grants', (select coalesce(jsonb_agg(listed.person order by email), '[]') from (
      select email, rowhouse.describe_user(users) || jsonb_build_object('role', role,
        'grantedAt', rowhouse.utc_text(granted_at), 'provider', provider) as person
      from rowhouse.grants join rowhouse.users on id = user_id
      where app_id = app.id and email > after_email
        and (email ~ search or display_name collate "C" ~ search)
      order by email limit max_rows) as listed),
    'administrators', (select coalesce(jsonb_agg(jsonb_build_object('id', users.id,
        'email', email, 'consoleRole', console_role,
        'disabledAt', rowhouse.utc_text(users.disabled_at)) order by email), '[]')
      from rowhouse.users where console_role is not null));
end
$$;

-- The people with these addresses, with the digests of the addresses.
-- action: admin
create function rowhouse.find_addresses(mails text[])
returns table (id uuid, email text, digest bytea, secret_id text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select id, email, email_digest, email_secret_id from rowhouse.users where email = any (mails)
$$;
comment on function rowhouse.find_addresses is 'null digest, secret_id';

-- Every address, in pages, with its digest.
create function rowhouse.list_addresses(after_email text, max_rows integer)
returns table (user_id uuid, email text, digest bytea, secret_id text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select id, email, email_digest, email_secret_id from rowhouse.users
  where email > after_email order by email limit max_rows
$$;
comment on function rowhouse.list_addresses is 'null digest, secret_id';
grant execute on function rowhouse.list_addresses to rowhouse_service, rowhouse_identity;

-- The roles from a provider's claims, by app and address.
create function rowhouse.list_claimed_grants(by_provider text)
returns table (email text, app text, role text) language sql stable
set search_path = pg_catalog, pg_temp as $$
  select users.email, slug, grants.role from rowhouse.grants
  join rowhouse.apps on apps.id = app_id join rowhouse.users on users.id = user_id
  where provider = by_provider order by slug, users.email
$$;

-- The number of current roles from each provider's claims, and of people from whom the provider
-- withheld claims in the last seven days, with a reason. The callers cannot read the audit log.
create function rowhouse.count_claimed_roles()
returns table (provider text, roles bigint, withheld bigint, reason text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select provider, coalesce(granted.roles, 0), coalesce(lacking.people, 0), lacking.reason
  from (select grants.provider, count(*) as roles from rowhouse.grants
    where grants.provider is not null group by grants.provider) as granted
  full join (select details ->> 'provider' as provider, count(distinct user_id) as people,
      min(details ->> 'reason') as reason
    from rowhouse.audit where action = 'claims_withheld' and at > now() - interval '7 days'
    group by details ->> 'provider') as lacking using (provider)
  order by provider
$$;
comment on function rowhouse.count_claimed_roles is 'null reason';

-- The apps with these slugs.
create function rowhouse.find_apps(slugs text[])
returns table (id uuid, slug text, is_disabled boolean) language sql stable
set search_path = pg_catalog, pg_temp as $$
  select id, slug, disabled_at is not null from rowhouse.apps where slug = any (slugs)
$$;
grant execute on function rowhouse.count_claimed_roles, rowhouse.find_apps
  to rowhouse_service, rowhouse_identity;

-- A row of any table without the columns that are never shown.
create function rowhouse.without_secrets(stored jsonb) returns jsonb language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select stored - array['password_hash', 'password_digest', 'password_secret_id', 'email_digest',
    'email_secret_id', 'session_digest', 'identity_digest', 'digest', 'secret_id', 'sealed_secret',
    'last_step', 'user_id', 'credential_id', 'public_key', 'sign_count']
$$;

-- All stored data about a person, for that person. Never the proof of a session, a link or a
-- password: a reader of the file must not be able to use it.
create function rowhouse.export_user(email text) returns json language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  who uuid := rowhouse.find_user(email);
begin
  return json_build_object(
    'user', (select rowhouse.without_secrets(to_jsonb(users))
      || jsonb_build_object('has_password', password_hash is not null)
      from rowhouse.users where id = who),
    'grants', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
        || jsonb_build_object('app', slug) order by slug), '[]')
      from rowhouse.grants as stored join rowhouse.apps on apps.id = app_id where user_id = who),
    'sessions', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
      order by created_at), '[]') from rowhouse.sessions as stored where user_id = who),
    'invitations', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
      order by invited_at), '[]') from rowhouse.invitations as stored where user_id = who),
    'passwordLinks', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
      order by created_at), '[]') from rowhouse.password_links as stored where user_id = who),
    'providerLinks', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
      order by issuer, subject), '[]') from rowhouse.provider_links as stored where user_id = who),
    'totpFactors', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
      order by confirmed_at), '[]') from rowhouse.totp_factors as stored where user_id = who),
    'recoveryCodes', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
      order by created_at), '[]') from rowhouse.recovery_codes as stored where user_id = who),
    'passkeys', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
      order by created_at), '[]') from rowhouse.passkeys as stored where user_id = who),
    'pendingSignIns', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
      order by expires_at), '[]') from rowhouse.pending_sign_ins as stored where user_id = who),
    'failedSignIns', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
      order by last_at), '[]') from rowhouse.failed_sign_ins as stored where user_id = who),
    'personKeys', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
        || jsonb_build_object('app', slug) order by stored.created_at), '[]')
      from rowhouse.person_keys as stored join rowhouse.apps on apps.id = app_id
      where person_id = who),
    'openedApps', (select coalesce(json_agg(to_jsonb(stored) || jsonb_build_object('app', slug)
      order by opened_on, slug), '[]')
      from rowhouse.session_apps as stored join rowhouse.apps on apps.id = app_id
      join rowhouse.sessions on sessions.id = session_id where sessions.user_id = who),
    'mails', (select coalesce(json_agg(rowhouse.without_secrets(to_jsonb(stored))
      order by id), '[]') from rowhouse.mails as stored where user_id = who),
    'audit', (select coalesce(json_agg(to_jsonb(audit) order by audit.id), '[]')
      from rowhouse.audit where audit.user_id = who or actor = who::text));
end
$$;

-- A valid link and its person; reading a link does not consume it.
create function rowhouse.find_password_link(link_id text) returns table (
  user_id uuid, digest bytea, secret_id text, expires_at timestamptz, email text,
  display_name text, app_slugs text[], is_invitation boolean, return_app jsonb, return_to text
) language sql stable set search_path = pg_catalog, pg_temp as $$
  select links.user_id, links.digest, links.secret_id, links.expires_at, users.email,
    users.display_name, array(select slug from rowhouse.apps
      join rowhouse.grants on grants.app_id = apps.id
      where grants.user_id = users.id and apps.disabled_at is null order by slug),
    users.password_secret_id is null
      and not exists (select from rowhouse.provider_links where provider_links.user_id = users.id),
    rowhouse.find_return_app(links.return_app), links.return_to
  from rowhouse.password_links as links join rowhouse.users on users.id = links.user_id
  where links.id = link_id and links.expires_at > now() and rowhouse.is_active(users.disabled_at)
$$;
comment on function rowhouse.find_password_link
  is 'null display_name, return_app, return_to';
grant execute on function rowhouse.find_password_link to rowhouse_service, rowhouse_identity;

create function rowhouse.count_users() returns bigint language sql stable
set search_path = pg_catalog, pg_temp as $$
  select count(*) from rowhouse.users
$$;
grant execute on function rowhouse.count_users to rowhouse_service, rowhouse_identity;

-- How many values of each kind depend on each secret of the service.
create function rowhouse.count_identity_values() returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  with created (secret_id, kind) as (
    select password_secret_id, 'passwords' from rowhouse.users
    where password_secret_id is not null
    union all select secret_id, 'sessions' from rowhouse.sessions where expires_at > now()
    union all select secret_id, 'links' from rowhouse.password_links where expires_at > now()
    union all select secret_id, 'providerLinks' from rowhouse.provider_links
    union all select secret_id, 'claimedRoles' from rowhouse.grants where secret_id is not null
    union all select secret_id, 'secondFactors' from rowhouse.secrets_of_factors() as secret_id
    union all select email_secret_id, 'addresses' from rowhouse.users
    where email_secret_id is not null
  )
  select coalesce(jsonb_agg(jsonb_build_object('secretId', secret_id) || counts
    order by secret_id), '[]')
  from (select secret_id, jsonb_object_agg(kind, values) as counts from (
    select secret_id, kind, count(*) as values from created group by secret_id, kind) as counted
    group by secret_id) as found
$$;
grant execute on function rowhouse.count_identity_values to rowhouse_service, rowhouse_identity;

-- Returns whether anyone can use the Console.
create function rowhouse.has_administrator() returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.users
    where console_role is not null and rowhouse.is_active(disabled_at))
$$;
grant execute on function rowhouse.has_administrator to rowhouse_service, rowhouse_identity;
