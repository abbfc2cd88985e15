-- The Console's Home: request counts, and issues that need attention. Reads sums of minutes and
-- hours, and per-app counts only for the listed apps, so that the cost barely depends on the
-- number of apps.

-- A displayed span: its start, its step and the number of steps. The step is a minute for an hour,
-- an hour for a day, and three hours for a week: a response contains all steps.
create function rowhouse.span_of(wanted_span text, out since timestamptz, out step text,
  out step_s integer, out steps integer)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select date_bin(make_interval(secs => size), now(),
    'epoch') - make_interval(secs => size * (count - past)), unit, size, count
  from (values ('hour', 'minute', 60, 60, 0), ('day', 'hour', 3600, 24, 1), ('week',
    'hour', 10800, 56, 1))
    as known (span, unit, size, count, past)
  where span = wanted_span
$$;

-- An app's requests within a span: sums, and the counts of each step by its number.
create function rowhouse.numbers_of(app uuid, wanted_span text) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  with within as materialized (
    select (extract(epoch from at)::bigint - extract(epoch from since)::bigint) / step_s as ordinal,
      requests, errors, rejections, latencies
    from rowhouse.span_of(wanted_span), rowhouse.statistics where app_id = app and span = step
      and at >= since)
  select jsonb_build_object('requests', coalesce(sum(requests), 0),
    'errors', coalesce(sum(errors), 0),
    'rejections', coalesce(sum(rejections), 0), 'latencies',
    jsonb_build_array(coalesce(sum(latencies[1]), 0), coalesce(sum(latencies[2]), 0),
    coalesce(sum(latencies[3]), 0), coalesce(sum(latencies[4]), 0), coalesce(sum(latencies[5]), 0),
    coalesce(sum(latencies[6]), 0), coalesce(sum(latencies[7]), 0), coalesce(sum(latencies[8]), 0),
    coalesce(sum(latencies[9]), 0), coalesce(sum(latencies[10]), 0),
    coalesce(sum(latencies[11]), 0), coalesce(sum(latencies[12]), 0)),
    'counted', (select coalesce(jsonb_agg(to_jsonb(counted) order by counted[1]), '[]') from (
      select array[ordinal, sum(requests)::bigint, sum(errors)::bigint,
        sum(rejections)::bigint] as counted from within group by ordinal)
      as steps))
  from within
$$;

-- The isolation results of running processes, and the last reports of silent processes. Ignores
-- processes that were replaced, or have been silent for a day.
create function rowhouse.list_processes() returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  with running as (
    select *, seen_at > now() - interval '${PROCESS_SILENT_S} seconds' as is_live
    from rowhouse.processes where ended_at is null)
  select jsonb_build_object('running', count(*) filter (where is_live),
    'isolationAt', min(isolation_at) filter (where is_live),
    'issues', (select coalesce(jsonb_agg(distinct issue), '[]')
      from running, unnest(isolation_issues) as issue where is_live),
    'versions', (select coalesce(jsonb_agg(to_jsonb(found) order by since), '[]')
      from rowhouse.running_versions() as found),
    'silent', coalesce(jsonb_agg(jsonb_build_object('role', role, 'seenAt', seen_at)
      order by seen_at)
      filter (where not is_live and seen_at > now() - interval '1 day'
        and not exists (select from rowhouse.processes as newer
          where newer.role = running.role
            and newer.started_at > running.seen_at - interval '1 minute')), '[]'))
  from running
$$;

-- Apps with their counts: apps with errors first, then by requests. Sorts by the counts of hours,
-- which are few rows. A separate function, without parallel workers: the planner overestimates the
-- number of rows, and starting workers lasts longer than the read.
create function rowhouse.busy_apps(wanted_span text, max_rows integer) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp set max_parallel_workers_per_gather = 0 as $$
  select coalesce(jsonb_agg(rowhouse.listed_app(app) || jsonb_build_object('numbers',
    rowhouse.numbers_of((app).id, wanted_span)) order by ordinal), '[]') from (
    select apps as app, row_number() over (order by coalesce(errors, 0) desc,
      coalesce(requests, 0) desc, slug) as ordinal
    from rowhouse.apps left join (
      select app_id, sum(errors) as errors, sum(requests) as requests from rowhouse.statistics
      where span = 'hour'
        and at >= date_bin('1 hour', now(), 'epoch') - case wanted_span when 'hour'
          then interval '1 hour' else interval '23 hours' end
      group by app_id) as recent on app_id = id
    order by ordinal limit max_rows
  ) as ranked
$$;

-- Leftovers of rowhouse dev in another database: enabled people with an address under localhost,
-- and live keys with the name that it uses. Null in a database of rowhouse dev.
create function rowhouse.dev_leftovers() returns jsonb language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object(
    'people', (select coalesce(jsonb_agg(to_jsonb(found) order by email), '[]') from (
      select id, email from rowhouse.users
      where email ~ '[@.]localhost$' and rowhouse.is_active(disabled_at)
      order by email limit 10) as found),
    'keys', (select coalesce(jsonb_agg(to_jsonb(found) order by app, "keyId"), '[]') from (
      select slug as app, key_id as "keyId"
      from rowhouse.api_keys join rowhouse.apps on apps.id = app_id
      where name = 'rowhouse dev' and revoked_at is null
        and (expires_at is null or expires_at > now())
      order by slug, key_id limit 10) as found))
  where not exists (select from pg_namespace where nspname = 'rowhouse_dev')
$$;
comment on function rowhouse.dev_leftovers is 'null result';
grant execute on function rowhouse.dev_leftovers to rowhouse_service, rowhouse_identity;

-- proves: admin; idempotent
create function rowhouse.console_home(wanted_span text, max_rows integer) returns jsonb as $$
begin
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'hasKeys', exists (select from rowhouse.api_keys where revoked_at is null),
    'hasTables', exists (select from rowhouse.registrations),
    'appCount', (select count(*) from rowhouse.apps),
    'apps', rowhouse.busy_apps(wanted_span, max_rows),
    'withoutApp', rowhouse.numbers_of('${NO_APP}', wanted_span),
    'ofConsole', rowhouse.numbers_of('${CONSOLE_APP}', wanted_span),
    'axis', rowhouse.axis_of('${ALL_APPS}', '', wanted_span),
    'processes', rowhouse.list_processes(),
    'unserved', (select coalesce(jsonb_agg(to_jsonb(listed)), '[]')
      from rowhouse.unserved_switches() as listed),
    'canContract', (exists (select from rowhouse.code where rowhouse.is_earlier(compatible_from))
        or exists (select from rowhouse.kept_bodies))
      and not exists (select from rowhouse.earlier_processes()),
    'devLeftovers', rowhouse.dev_leftovers(),
    'lastPush', (select jsonb_build_object('app', slug, 'at', applied_at) from rowhouse.migrations
      join rowhouse.apps on apps.id = app_id order by applied_at desc limit 1),
    -- Omits rotated keys: their end is intended, and the newer key has the same name.
    'endingKeys', (select coalesce(jsonb_agg(to_jsonb(ending) order by ending."expiresAt"), '[]')
      from (
      select slug as app, key_id as "keyId", name, expires_at as "expiresAt"
      from rowhouse.api_keys as old join rowhouse.apps on apps.id = app_id
      where revoked_at is null and disabled_at is null and expires_at between now()
        and now() + interval '14 days'
        and not exists (select from rowhouse.api_keys as newer where newer.app_id = old.app_id
          and newer.name = old.name
          and newer.created_at > old.created_at and newer.revoked_at is null)
      order by expires_at limit 10) as ending),
    'builds', (select coalesce(jsonb_agg(to_jsonb(step) order by step.name), '[]') from (
      select slug as app, table_name as "table", kind, name, state
      from rowhouse.deferred_steps join rowhouse.apps on apps.id = app_id
      where state <> 'done' order by name limit 10) as step));
end
$$;
