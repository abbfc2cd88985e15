-- Requests and changes on one time axis, and the changes that preceded an increase of errors.
-- Requests are counts by minute and hour; changes are pushes, audit log entries and expired keys.

-- The latest changes of an app, or of all apps without a slug, newest first.
create function rowhouse.changes_between(app_slug text, from_at timestamptz, until_at timestamptz,
  max_rows integer) returns jsonb language sql stable set search_path = pg_catalog, pg_temp as $$
  with bounds as materialized (
    select coalesce((select id from rowhouse.audit where at < from_at - interval '1 hour'
      order by at desc limit 1), 0) as first_id,
      (select id from rowhouse.apps where slug = app_slug) as app_id
  ), entries as (
    (select audit.* from bounds, rowhouse.audit
      where app_slug = '' and is_change and id > first_id
        and at >= from_at and at < until_at
      order by id desc limit max_rows)
    union all
    (select audit.* from bounds, rowhouse.audit
      where app_slug <> '' and app = app_slug and is_change and id > first_id
        and at >= from_at and at < until_at
      order by id desc limit max_rows)
  ), changes as (
    select entries.at, action, app, actor, actors.email as "actorEmail", people.email,
      left(details::text, 1000) as details, null::integer as seq, null::text as "keyId"
    from entries
    left join rowhouse.users as people on people.id = user_id
    left join rowhouse.users as actors
      on actors.id = case when actor ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      then actor::uuid end
    union all
    (select applied_at, 'push', slug, coalesce(migrations.key_id, 'operator'), null, null, name,
      seq, migrations.key_id
      from bounds, rowhouse.migrations join rowhouse.apps on apps.id = migrations.app_id
      where (app_slug = '' or migrations.app_id = bounds.app_id)
        and applied_at >= from_at and applied_at < until_at
      order by applied_at desc limit max_rows)
    union all
    (select expires_at, 'expire_key', slug, '', null, null, left(name, 200), null, key_id
      from bounds, rowhouse.api_keys join rowhouse.apps on apps.id = api_keys.app_id
      where (app_slug = '' or api_keys.app_id = bounds.app_id)
        -- Keys of the Console's own pages of rows expire after minutes.
        and expires_at - api_keys.created_at > interval '1 hour'
        and expires_at >= from_at and expires_at < least(until_at, now()) and revoked_at is null
      order by expires_at desc limit max_rows)
  )
  select coalesce(jsonb_agg(to_jsonb(listed) order by listed.at desc), '[]')
  from (select * from changes order by at desc limit max_rows) as listed
$$;

-- An app's counts in each step of a span and of the previous span, whose steps have negative
-- numbers, and the changes of the span. The rejections of an app include requests with a key that
-- it no longer accepts.
create function rowhouse.axis_of(app uuid, app_slug text, wanted_span text) returns jsonb
  language sql stable set search_path = pg_catalog, pg_temp as $$
  with bounds as materialized (
    select *, since - make_interval(secs => step_s * steps) as since_before
    from rowhouse.span_of(wanted_span)
  ), counted as (
    select floor(extract(epoch from at - since) / step_s)::integer as ordinal,
      sum(requests)::bigint as requests, sum(errors)::bigint as errors,
      sum(rejections)::bigint as rejections, jsonb_agg(latencies) as latencies
    from bounds, rowhouse.statistics where app_id = app and span = step and at >= since_before
    group by 1
  ), rejected as (
    select floor(extract(epoch from at - since) / step_s)::integer as ordinal,
      sum(requests)::bigint as all_rejections
    from bounds, rowhouse.rejections where app_id = app and span = step and at >= since_before
    group by 1
  )
  select jsonb_build_object('since', since, 'stepS', step_s, 'steps', steps,
    'counted', (select coalesce(jsonb_agg(jsonb_build_array(ordinal,
        coalesce(requests, 0) + unproven, coalesce(errors, 0), coalesce(rejections, 0) + unproven,
        coalesce(latencies, '[]')) order by ordinal), '[]')
      from counted full join rejected using (ordinal),
        greatest(coalesce(all_rejections, 0) - coalesce(rejections, 0), 0) as unproven),
    'changes', rowhouse.changes_between(app_slug, since, 'infinity', 200))
  from bounds
$$;

-- Error codes of a span by app and table, ordered by increase, with the count of the previous span
-- of equal length; for each, the keys and fields of the stored requests, and the first time of each
-- field in both spans.
create function rowhouse.risen_codes(app_slug text, unit text, from_at timestamptz,
  until_at timestamptz, max_rows integer) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  with bounds as materialized (
    select (select id from rowhouse.apps where slug = app_slug) as app,
      from_at - (until_at - from_at) as before_at
  ), risen as (
    select app_id, table_name, code, sum(requests) filter (where at >= from_at) as now,
      sum(requests) filter (where at < from_at) as before
    from bounds, rowhouse.rejections
    where span = unit and at >= before_at and at < until_at and (app_slug = '' or app_id = app)
    group by 1, 2, 3
    having sum(requests) filter (where at >= from_at) > 0
    order by coalesce(sum(requests) filter (where at < from_at), 0)
      - sum(requests) filter (where at >= from_at), 1, 2, 3
    limit max_rows
  ), sampled as materialized (
    select risen.app_id, risen.table_name, risen.code, id, key_id, paths, stored.at,
      case when stored.at >= from_at then stored.requests else 0 end as requests
    from bounds cross join risen join rowhouse.stored_requests as stored
      on (stored.app_id = risen.app_id
        or stored.app_id is null and risen.app_id = '${ALL_APPS}')
      and stored.at >= before_at and stored.at < until_at and is_rejected
      and coalesce(stored.code, status::text) = risen.code
      and coalesce(stored.table_name, '') = risen.table_name
  )
  select coalesce(jsonb_agg(jsonb_build_object('app', slug, 'table', nullif(table_name, ''),
    'code', code, 'now', now, 'before', coalesce(before, 0),
    'fields', (select coalesce(jsonb_agg(jsonb_build_object('field', field, 'requests', requests,
          'since', since) order by requests desc, field), '[]') from (
      select field, sum(requests) as requests, min(at) as since from (
        select distinct id, requests, at, regexp_replace(path, '^/([0-9]+/)?', '') as field
        from sampled, unnest(paths) as path
        where sampled.app_id = risen.app_id and sampled.table_name = risen.table_name
          and sampled.code = risen.code) as fields
      group by field having sum(requests) > 0 order by 2 desc, field limit 5) as by_field),
    'keys', (select coalesce(jsonb_agg(jsonb_build_object('keyId', key_id, 'name', name,
        'requests', requests) order by requests desc, key_id), '[]') from (
      select sampled.key_id, name, sum(requests) as requests
      from sampled left join rowhouse.api_keys on api_keys.key_id = sampled.key_id
      where sampled.app_id = risen.app_id and sampled.table_name = risen.table_name
        and sampled.code = risen.code and sampled.key_id is not null
      group by 1, 2 having sum(sampled.requests) > 0 order by 3 desc, 1 limit 5) as by_key))
    order by coalesce(before, 0) - now, slug, table_name, code), '[]')
  from risen left join rowhouse.apps on apps.id = risen.app_id
$$;

-- Compares a span with the previous span of equal length: requests and increased error codes. Also
-- returns the changes in the span and before it, for the length of the span but at least an hour.
-- From the definitions of the latest pushes, the page computes changed fields. "unit" is the span
-- of the counts.
-- proves: admin; idempotent
create function rowhouse.console_show_changes(app_slug text, unit text, from_at timestamptz,
  until_at timestamptz, max_rows integer) returns jsonb as $$
declare
  app uuid := case when app_slug = '' then '${ALL_APPS}'
    else (rowhouse.console_app(app_slug)).id end;
  changed_from timestamptz := from_at - greatest(until_at - from_at, interval '1 hour');
  before_at timestamptz := from_at - (until_at - from_at);
begin
  perform set_config('plan_cache_mode', 'force_custom_plan', true);
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'requests', (select coalesce(sum(requests), 0) from rowhouse.statistics
      where app_id = app and span = unit and at >= from_at and at < until_at),
    'requestsBefore', (select coalesce(sum(requests), 0) from rowhouse.statistics
      where app_id = app and span = unit and at >= before_at and at < from_at),
    'codes', rowhouse.risen_codes(app_slug, unit, from_at, until_at, max_rows),
    'changes', rowhouse.changes_between(app_slug, changed_from, until_at, max_rows),
    'pushes', (select coalesce(jsonb_agg(to_jsonb(push) order by push.at desc), '[]') from (
      select slug as app, seq, applied_at as at, rowhouse.definition_in(text) as definition,
        (select rowhouse.definition_in(earlier.text) from rowhouse.migrations as earlier
          where earlier.app_id = migrations.app_id and earlier.seq = migrations.seq - 1) as before
      from rowhouse.migrations join rowhouse.apps on apps.id = migrations.app_id
      where (app_slug = '' or migrations.app_id = app)
        and applied_at >= changed_from and applied_at < until_at
      order by applied_at desc limit 5) as push));
end
$$;
