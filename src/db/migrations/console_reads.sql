-- Reads of the Console: each page is one call, which verifies the user before it reads. Never
-- shows a secret, a digest or a proof of a session.

-- The user, the number of items, and whether the sign-in is recent enough for a sensitive action:
-- a hint for the page, which the action checks again.
create function rowhouse.console_visitor(who uuid, visitor rowhouse.visitor) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('id', id, 'email', email, 'displayName', display_name,
    'role', console_role,
    'factorDueAt', rowhouse.factor_due_at(id),
    'counts', jsonb_build_object('Apps', (select count(*) from rowhouse.apps),
      'People', (select count(*) from rowhouse.users),
      'Tables', (select count(*) from rowhouse.tables)),
    'isFresh', exists (select from rowhouse.sessions where user_id = who
      and id in (select split_part(text, '.', 1)
        from unnest(string_to_array(visitor.session_cookie, ',')) as text)
      and rowhouse.is_fresh(id)))
  from rowhouse.users where id = who
$$;

-- Apps by slug, for lists.
create function rowhouse.list_apps(search text, after_slug text, max_rows integer) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_agg(to_jsonb(listed) order by slug), '[]') from (
    select slug, created_at as "createdAt", disabled_at as "disabledAt",
      (select min(origin) from rowhouse.targets where app_id = apps.id) as origin,
      (select count(*) from rowhouse.api_keys where app_id = apps.id and revoked_at is null
        and (expires_at is null or expires_at > now())) as keys,
      (select count(*) from rowhouse.registrations where app_id = apps.id) as tables,
      (select max(applied_at) from rowhouse.migrations where app_id = apps.id) as "pushedAt"
    from rowhouse.apps where slug > after_slug and strpos(slug, search) > 0
    order by slug limit max_rows
  ) as listed
$$;

-- proves: admin; idempotent
create function rowhouse.console_list_apps(search text, after_slug text, max_rows integer)
  returns jsonb as $$
begin
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'apps', rowhouse.list_apps(search, after_slug, max_rows));
end
$$;

-- An app with its origins, tables and keys, newest first; with its requests over time if a span is
-- given.
-- proves: admin; idempotent
create function rowhouse.console_show_app(app_slug text, wanted_span text) returns jsonb as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'app', rowhouse.targets_of(app.id) || jsonb_build_object('slug', app.slug, 'id', app.id,
      'createdAt', app.created_at,
      'disabledAt', app.disabled_at, 'switches', rowhouse.switches_of(app),
      'previews', (select features from rowhouse.release),
      'perMinute', app.requests_per_minute, 'perMinuteOfKey', app.key_requests_per_minute,
      'tables', (select coalesce(jsonb_agg(table_name order by table_name), '[]')
        from rowhouse.registrations where app_id = app.id),
      'people', (select count(*) from rowhouse.grants where app_id = app.id),
      'pushedAt', (select max(applied_at) from rowhouse.migrations where app_id = app.id)),
    'axis', case when wanted_span <> '' then rowhouse.axis_of(app.id, app.slug, wanted_span) end,
    'keys', (select coalesce(jsonb_agg(to_jsonb(listed)
      order by listed."createdAt" desc, listed."keyId"), '[]') from (
      select key_id as "keyId", name, scopes, created_at as "createdAt", expires_at as "expiresAt",
        revoked_at as "revokedAt", last_used_at as "lastUsedAt", replaced_by as "replacedBy",
        case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired'
        else 'active' end as status
      from rowhouse.api_keys where app_id = app.id order by created_at desc limit 500) as listed));
end
$$;
