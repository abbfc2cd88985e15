-- Failed, slow and rejected requests in the Console: filtered lists, and one request with its key
-- and app.

-- The stored requests that an id, or its last 12 characters, leads to: those with the id, and those
-- in whose entry it is counted. Ids that differ from the reference are excluded by its length.
create function rowhouse.requests_of(reference text) returns uuid[] language sql stable
set search_path = pg_catalog, pg_temp as $$
  select array(
    select id from rowhouse.stored_requests where right(id::text, 12) = right(reference, 12)
      and (length(reference) < 36 or id::text = reference)
    union
    select stored_id from rowhouse.merged_requests where right(id::text, 12) = right(reference, 12)
      and (length(reference) < 36 or id::text = reference))
$$;

-- An entry as the pages show it.
create function rowhouse.request_of(stored rowhouse.stored_requests) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('id', stored.id,
    'app', (select slug from rowhouse.apps where id = stored.app_id), 'at', stored.at,
    'method', stored.method, 'route', stored.route, 'status', stored.status, 'code', stored.code,
    'ms', stored.ms, 'keyId', stored.key_id, 'table', stored.table_name, 'paths', stored.paths,
    'found', stored.found, 'requests', stored.requests, 'isOfConsole', stored.of_console)
$$;

-- proves: admin; idempotent
create function rowhouse.console_list_requests(of_reference text, app_slug text, of_kind text,
  of_code text, of_table text, of_key text, of_field text, from_at timestamptz,
  before_at timestamptz, max_rows integer) returns jsonb as $$
declare
  app uuid := (select id from rowhouse.apps where slug = app_slug);
  ids uuid[] := rowhouse.requests_of(of_reference);
begin
  -- A plan cached for other filters would read all requests.
  perform set_config('plan_cache_mode', 'force_custom_plan', true);
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'requests', (select coalesce(
      jsonb_agg(rowhouse.request_of(listed.entry) order by listed.at desc, listed.id), '[]')
      from (
      select stored_requests as entry, at, id from rowhouse.stored_requests
      where (of_reference = '' or stored_requests.id = any (ids))
        and (app_slug = '' or app_id = app)
        and (of_kind not like '% of apps' or not of_console)
        and (of_kind not like 'failed%' or status >= 400 and not is_rejected)
        and (of_kind not like 'rejected%' or is_rejected)
        and (of_kind not like 'slow%' or ms > ${SLOW_MS})
        and (of_code = '' or code = of_code)
        and (of_table = '' or table_name = of_table)
        and (of_key = '' or key_id = of_key)
        and (of_field = '' or exists (select from unnest(paths) as path
          where regexp_replace(path, '^/([0-9]+/)?', '') = of_field))
        and (from_at is null or at >= from_at) and (before_at is null or at < before_at)
      order by at desc limit max_rows) as listed));
end
$$;

-- A request with its details: the state of its key, and the pushes before it. Without an entry for
-- the id, what is stored of the span of time in which the id was created.
-- proves: admin; idempotent
create function rowhouse.console_show_request(wanted uuid, from_at timestamptz,
  until_at timestamptz) returns jsonb as $$
declare
  entry uuid := (rowhouse.requests_of(wanted::text))[1];
begin
  perform set_config('plan_cache_mode', 'force_custom_plan', true);
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'request', (select rowhouse.request_of(stored) || jsonb_build_object(
        'key', (select jsonb_build_object('name', name, 'app', owners.slug,
            'scopes', scopes, 'expiresAt', expires_at, 'revokedAt', revoked_at)
          from rowhouse.api_keys join rowhouse.apps as owners on owners.id = api_keys.app_id
          where api_keys.key_id = stored.key_id),
        'pushes', (select coalesce(jsonb_agg(to_jsonb(push) order by push.seq desc), '[]') from (
          select (select slug from rowhouse.apps where id = stored.app_id) as app, seq,
            applied_at as at, rowhouse.definition_in(text) as definition,
            (select rowhouse.definition_in(earlier.text) from rowhouse.migrations as earlier
              where earlier.app_id = migrations.app_id
                and earlier.seq = migrations.seq - 1) as before
          from rowhouse.migrations
          where migrations.app_id = stored.app_id and applied_at <= stored.at
          order by seq desc limit case when stored.paths = '{}' then 1 else 5 end) as push))
      from rowhouse.stored_requests as stored where stored.id = entry),
    'counted', (select coalesce(sum(requests), 0) from rowhouse.statistics
      where app_id = '${ALL_APPS}' and span = 'minute'
        and entry is null and at >= from_at and at < until_at),
    'near', (select coalesce(jsonb_agg(rowhouse.request_of(listed.stored)
        order by listed.at desc, listed.id), '[]')
      from (select stored_requests as stored, at, id from rowhouse.stored_requests
        where entry is null and at >= from_at and at < until_at
        order by at desc limit 100) as listed));
end
$$;
