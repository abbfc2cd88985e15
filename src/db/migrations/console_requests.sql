-- Failed, slow and rejected requests in the Console: filtered lists, and one request with its key
-- and app.

-- proves: admin; idempotent
create function rowhouse.console_list_requests(of_reference text, of_app text, of_kind text,
  of_code text, of_table text, of_key text, of_field text, from_at timestamptz,
  before_at timestamptz, max_rows integer) returns jsonb as $$
declare
  app uuid := (select id from rowhouse.apps where slug = of_app);
begin
  -- A plan cached for other filters would read all requests.
  perform set_config('plan_cache_mode', 'force_custom_plan', true);
  return jsonb_build_object('me', rowhouse.console_visitor(who, session_cookie),
    'requests', (select coalesce(
      jsonb_agg(to_jsonb(stored) order by stored.at desc, stored.id), '[]')
      from (
      select stored_requests.id, slug as app, at, method, route, status, code, ms,
        key_id as "keyId", table_name as "table", paths, requests
      from rowhouse.stored_requests left join rowhouse.apps on apps.id = app_id
      where (of_reference = '' or right(stored_requests.id::text, 12) = right(of_reference, 12))
        and (length(of_reference) < 36 or stored_requests.id::text = of_reference)
        and (of_app = '' or app_id = app)
        and (of_kind <> 'failed' or status >= 500)
        and (of_kind <> 'rejected' or status between 400 and 499)
        and (of_kind <> 'slow' or ms > 1000)
        and (of_code = '' or code = of_code)
        and (of_table = '' or table_name = of_table)
        and (of_key = '' or key_id = of_key)
        and (of_field = '' or exists (select from unnest(paths) as path
          where regexp_replace(path, '^/([0-9]+/)?', '') = of_field))
        and (from_at is null or at >= from_at) and (before_at is null or at < before_at)
      order by at desc limit max_rows) as stored));
end
$$;

-- A request with its details: the state of its key, and the push before it.
-- proves: admin; idempotent
create function rowhouse.console_show_request(wanted uuid) returns jsonb as $$
begin
  return jsonb_build_object('me', rowhouse.console_visitor(who, session_cookie),
    'request', (select jsonb_build_object('id', stored.id, 'app', slug, 'at', at, 'method', method,
        'route', route, 'status', status, 'code', code, 'ms', ms, 'keyId', stored.key_id,
        'table', table_name, 'paths', paths, 'requests', requests,
        'key', (select jsonb_build_object('name', name, 'app', owners.slug,
            'scopes', scopes, 'expiresAt', expires_at, 'revokedAt', revoked_at)
          from rowhouse.api_keys join rowhouse.apps as owners on owners.id = api_keys.app_id
          where api_keys.key_id = stored.key_id),
        'lastPush', (select jsonb_build_object('seq', seq, 'at', applied_at)
          from rowhouse.migrations where migrations.app_id = stored.app_id and applied_at <= at
          order by seq desc limit 1))
      from rowhouse.stored_requests as stored left join rowhouse.apps on apps.id = stored.app_id
      where stored.id = wanted));
end
$$;
