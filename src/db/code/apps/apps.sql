-- Apps: origins and redirect targets, request limits, and the versions by which a process detects
-- that its cached data has changed. Triggers raise the rows of `versions`, so that no writer can
-- forget to raise them.

grant select on rowhouse.versions to rowhouse_service, rowhouse_gateway, rowhouse_data,
  rowhouse_identity;
create function rowhouse.raise_version() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update rowhouse.versions set version = version + 1 where name = tg_argv[0];
  return null;
end
$$;

-- A time in UTC, to the second: 2030-01-31T12:00:00Z.
create function rowhouse.utc_text(at timestamptz) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
$$;

create trigger raise_version after insert or update or delete on rowhouse.apps
  for each statement execute function rowhouse.raise_version('apps');
grant select on rowhouse.apps to rowhouse_service, rowhouse_gateway, rowhouse_identity;
grant select (id, slug) on rowhouse.apps to rowhouse_tables;
create trigger raise_version after insert or update or delete on rowhouse.targets
  for each statement execute function rowhouse.raise_version('apps');
grant select on rowhouse.targets to rowhouse_service, rowhouse_gateway, rowhouse_identity;

-- The app with this slug, locked until the transaction ends.
create function rowhouse.find_app(app_slug text) returns uuid language plpgsql volatile
set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
begin
  select id into app from rowhouse.apps where slug = app_slug for key share;
  if app is null then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  return app;
end
$$;

-- action: admin; logs "created the app"
create function rowhouse.create_app(new_id uuid, app_slug text, added jsonb, actor text)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into rowhouse.apps (id, slug) values (new_id, app_slug);
  insert into rowhouse.targets (app_id, kind, url, origin)
  select distinct new_id, item ->> 'kind', item ->> 'url', item ->> 'origin'
    from jsonb_array_elements(added) as listed (item);
  perform rowhouse.log(actor, 'create_app', app => app_slug,
    details => jsonb_build_object('id', new_id, 'targets', (
      select coalesce(jsonb_agg(item ->> 'url'), '[]')
      from jsonb_array_elements(added) as listed (item))));
end
$$;

-- Null resets a limit to the default.
-- action: admin; logs "set request limits", a change
create function rowhouse.set_limit(app_slug text, per_minute integer, key_per_minute integer,
  actor text) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  before rowhouse.apps;
begin
  select * into before from rowhouse.apps where slug = app_slug for no key update;
  if before.id is null then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  update rowhouse.apps set requests_per_minute = per_minute,
    key_requests_per_minute = key_per_minute where id = before.id;
  perform rowhouse.log(actor, 'set_limit', app => app_slug,
    details => jsonb_build_object(
      'before', jsonb_build_object('perMinute', before.requests_per_minute,
        'perMinuteOfKey', before.key_requests_per_minute),
      'after', jsonb_build_object('perMinute', per_minute, 'perMinuteOfKey', key_per_minute)));
end
$$;

create function rowhouse.targets_of(app uuid) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object(
    'origins', coalesce(jsonb_agg(url order by url) filter (where kind = 'origin'), '[]'),
    'redirects', coalesce(jsonb_agg(url order by url) filter (where kind = 'redirect'), '[]'))
  from rowhouse.targets where app_id = app
$$;

-- The app with this slug and its targets, for a redirect after sign-in; null if the app does not
-- exist or is disabled.
create function rowhouse.find_return_app(app_slug text) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('id', apps.id, 'slug', apps.slug, 'targets', (
    select coalesce(jsonb_agg(jsonb_build_object('kind', kind, 'url', url, 'origin', origin)
      order by kind, url), '[]') from rowhouse.targets where app_id = apps.id))
  from rowhouse.apps where slug = app_slug and disabled_at is null
$$;
comment on function rowhouse.find_return_app is 'null result';
grant execute on function rowhouse.find_return_app to rowhouse_service, rowhouse_identity;

-- Changes an app's origins and redirect targets: removes all targets of the kinds in
-- "replaced" and the targets in "removed", then adds the targets in "added". Returns the resulting
-- targets. If targets in "removed" do not exist, returns them as "missing" and changes nothing.
-- action: admin; logs "set origins and redirects", a change
create function rowhouse.set_targets(app_slug text, replaced text[], removed jsonb, added jsonb,
  actor text) returns jsonb language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
  missing jsonb;
  before jsonb;
  after jsonb;
begin
  select id into app from rowhouse.apps where slug = app_slug for no key update;
  if app is null then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  select jsonb_agg(item) into missing from jsonb_array_elements(removed) as listed (item)
    where not exists (
    select from rowhouse.targets where app_id = app and kind = item ->> 'kind'
      and url = item ->> 'url');
  if missing is not null then
    return jsonb_build_object('missing', missing);
  end if;
  before := rowhouse.targets_of(app);
  delete from rowhouse.targets where app_id = app and (kind = any (replaced)
    or exists (select from jsonb_array_elements(removed) as listed (item)
        where kind = item ->> 'kind'
      and url = item ->> 'url'));
  insert into rowhouse.targets (app_id, kind, url, origin)
  select app, item ->> 'kind', item ->> 'url', item ->> 'origin'
    from jsonb_array_elements(added) as listed (item)
  on conflict do nothing;
  after := rowhouse.targets_of(app);
  if after <> before then
    perform rowhouse.log(actor, 'set_targets', app => app_slug,
      details => jsonb_build_object('before', before, 'after', after));
  end if;
  return after;
end
$$;

-- The app with this slug, if it exists.
-- action: admin
create function rowhouse.find_app_id(app_slug text) returns uuid language sql stable
set search_path = pg_catalog, pg_temp as $$
  select id from rowhouse.apps where slug = app_slug
$$;
comment on function rowhouse.find_app_id is 'null result';

-- Every setting with whether it is on.
create function rowhouse.switches_of(app rowhouse.apps) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_object_agg(name, case name when 'disabled' then app.disabled_at is not null
    else name = any (app.switches) end) from rowhouse.app_switches
$$;

-- Whether a setting stops the app's writes.
create function rowhouse.is_stopped(app uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.apps
    join rowhouse.app_switches on app_switches.name = any (apps.switches)
    where apps.id = app and stops_writes)
$$;

-- Called by each transaction that writes rows or tables of an app without a key's proof. Volatile:
-- a later statement of the transaction sees a setting that was turned on since it began.
create function rowhouse.check_writes(app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if rowhouse.is_stopped(app) then
    raise exception 'a setting stops the writes of the app' using errcode = 'RH503';
  end if;
end
$$;
grant execute on function rowhouse.is_stopped, rowhouse.check_writes
  to rowhouse_tables, rowhouse_rows;

-- Registers another origin of an app; an existing origin stays unchanged.
create function rowhouse.add_origin(app_slug text, new_url text, new_origin text, actor text)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into rowhouse.targets (app_id, kind, url, origin)
  select id, 'origin', new_url, new_origin from rowhouse.apps where slug = app_slug
  on conflict do nothing;
  if found then
    perform rowhouse.log(actor, 'add_origin', app => app_slug,
      details => jsonb_build_object('origin', new_url));
  end if;
end
$$;

-- For serving processes: the limits of apps that have limits.
create function rowhouse.read_limits(default_per_minute integer)
returns table (app_id uuid, per_minute integer, per_minute_of_key integer) language sql stable
set search_path = pg_catalog, pg_temp as $$
  select id, coalesce(requests_per_minute, default_per_minute),
    coalesce(key_requests_per_minute, requests_per_minute, default_per_minute)
  from rowhouse.apps
  where requests_per_minute is not null or key_requests_per_minute is not null
$$;

-- For serving processes: every app, with each of its origins. Pages of a disabled app still read
-- errors and sign out.
create function rowhouse.list_origins()
returns table (slug text, app_id uuid, origin text, is_disabled boolean)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select distinct apps.slug, apps.id, targets.origin, apps.disabled_at is not null
  from rowhouse.apps left join rowhouse.targets on targets.app_id = apps.id
$$;
comment on function rowhouse.list_origins is 'null origin';
grant execute on function rowhouse.read_limits, rowhouse.list_origins
  to rowhouse_service, rowhouse_gateway, rowhouse_identity;

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
      select from rowhouse.users
      where console_role = 'super_admin' and rowhouse.is_active(disabled_at)))
$$;
