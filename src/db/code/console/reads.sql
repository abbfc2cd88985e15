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

-- An app in a list.
create function rowhouse.listed_app(app rowhouse.apps) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('id', app.id, 'slug', app.slug,
    'createdAt', rowhouse.utc_text(app.created_at),
    'disabledAt', rowhouse.utc_text(app.disabled_at),
    'origin', (select min(origin) from rowhouse.targets where app_id = app.id),
    'targets', (select coalesce(jsonb_agg(url order by url), '[]') from rowhouse.targets
      where app_id = app.id),
    'keys', (select count(*) from rowhouse.api_keys where app_id = app.id and revoked_at is null
      and (expires_at is null or expires_at > now())),
    'tables', (select count(*) from rowhouse.registrations where app_id = app.id),
    'pushedAt', (select rowhouse.utc_text(max(applied_at)) from rowhouse.migrations
      where app_id = app.id))
$$;

-- Apps by slug.
-- read: admin
create function rowhouse.list_apps(search text, after_slug text, max_rows integer) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('apps',
    coalesce(jsonb_agg(rowhouse.listed_app(listed) order by slug), '[]'))
  from (select * from rowhouse.apps where slug > after_slug and strpos(slug, search) > 0
    order by slug limit max_rows) as listed
$$;

-- A page of a list in the order of a column; rows without a value come last. To bound the cost,
-- only the first ${MAX_SORTED_ROWS} rows are sorted. The result says whether these are all.
-- proves: admin; idempotent
create function rowhouse.console_sort_list(list text, app_slug text, search text, sorted_by text,
  is_descending boolean, skipped integer, max_rows integer) returns jsonb as $$
declare
  most constant integer := ${MAX_SORTED_ROWS};
  page jsonb := case list
    when 'apps' then rowhouse.list_apps(search, '', most + 1)
    when 'users' then rowhouse.list_people(search, '', most + 1)
    when 'keys' then rowhouse.list_keys(app_slug)
    when 'tables' then rowhouse.list_tables(app_slug, search, '', most + 1) end;
begin
  return page || jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'isWhole', jsonb_array_length(page -> list) <= most,
    list, (select coalesce(jsonb_agg(row order by place) filter (where place > skipped), '[]')
    from (
      select row, row_number() over (
        order by case when not is_descending then value end,
          case when is_descending then value end desc nulls last, ordinality) as place
      from jsonb_array_elements(page -> list) with ordinality as rows (row, ordinality),
        nullif(row -> sorted_by, 'null') as value
      where ordinality <= most) as sorted
      where place <= skipped + max_rows));
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
      -- For processes of 0.1.
      'previews', (select features from rowhouse.release),
      'perMinute', app.requests_per_minute, 'perMinuteOfKey', app.key_requests_per_minute,
      'tables', (select coalesce(jsonb_agg(table_name order by table_name), '[]')
        from rowhouse.registrations where app_id = app.id),
      'people', (select count(*) from rowhouse.grants where app_id = app.id),
      'pushedAt', (select max(applied_at) from rowhouse.migrations where app_id = app.id)),
    'axis', case when wanted_span <> '' then rowhouse.axis_of(app.id, app.slug, wanted_span) end,
    'keys', rowhouse.keys_of(app, 500));
end
$$;

-- Search in the Console: apps, people, tables and keys whose name or address contains a text, best
-- match first. Key ids match by prefix. `names` is the text as a regular expression that lists the
-- cases of each letter: `lower()` depends on the locale of the database.

-- proves: admin; idempotent
create function rowhouse.console_find(search text, names text, max_rows integer) returns jsonb as $$
begin
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'apps', (select coalesce(jsonb_agg(to_jsonb(hit) - 'at' order by at, slug), '[]') from (
      select slug, disabled_at as "disabledAt", strpos(slug, search) as at from rowhouse.apps
      where strpos(slug, search) > 0 order by at, slug limit max_rows) as hit),
    'people', (select coalesce(jsonb_agg(to_jsonb(hit) order by email), '[]') from (
      select id, email, display_name as "displayName" from rowhouse.users
      where strpos(email, search) > 0 or display_name collate "C" ~ names
      order by strpos(email, search) <> 1, email limit max_rows) as hit),
    'tables', (select coalesce(jsonb_agg(to_jsonb(hit) - 'at' order by at, name), '[]') from (
      select name, apps.slug as owner, strpos(name, search) as at
      from rowhouse.tables join rowhouse.apps on apps.id = owner_app_id
      where strpos(name, search) > 0 order by at, name limit max_rows) as hit),
    'keys', (select coalesce(jsonb_agg(to_jsonb(hit) order by app, "keyId"), '[]') from (
      select key_id as "keyId", api_keys.name, slug as app, revoked_at as "revokedAt",
        coalesce(expires_at <= now(), false) as "isExpired"
      from rowhouse.api_keys join rowhouse.apps on apps.id = app_id
      where search = '' or length(search) > 2 and (starts_with(key_id, search)
        or api_keys.name collate "C" ~ names)
      order by revoked_at is not null, coalesce(expires_at <= now(), false), slug, key_id
      limit max_rows) as hit));
end
$$;
