-- Request counts, latencies and reasons of rejections, for the Console: each process adds its
-- counts once a minute, in one call, with samples of failed, slow and rejected requests and the
-- last result of its guard. Contains no row, value or target of a request. Serving logins add, but
-- cannot read; only the Console reads.

-- Processes supply these texts, and administrators copy them: a stolen login must not store a
-- command or a control character.
create function rowhouse.is_counted(table_name text, code text) returns boolean
  language sql immutable set search_path = pg_catalog, pg_temp as $$
  select (table_name = '' or table_name ~ '${TABLE_PATTERN}') is not false
    and code ~ '^[a-z0-9_]{1,60}$' is not false
$$;
create function rowhouse.is_request(method text, route text, paths text[]) returns boolean
  language sql immutable set search_path = pg_catalog, pg_temp as $$
  select method ~ '^[A-Z]{1,20}$' and route ~ '^(none|/[A-Za-z0-9:/._-]{0,199})$'
    and not exists (select from unnest(paths) as path
      where path ~ '^(/[0-9]{1,3})?/[A-Za-z_][A-Za-z0-9_]{0,62}$' is not true)
$$;

-- What was found at each path: only known classes, so that nobody can store a value.
create function rowhouse.is_found(found text[], paths text[]) returns boolean
  language sql immutable set search_path = pg_catalog, pg_temp as $$
  select (found <@ array[${FOUND_CLASSES}]) is true
    and cardinality(found) in (0, cardinality(paths))
$$;

-- The app of a rejected request: of the proven key, or of the presented key. Null for an app that
-- was deleted since then.
create function rowhouse.rejected_app(proven uuid, presented_key text) returns uuid
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when proven is not null then (select id from rowhouse.apps where id = proven)
    else coalesce((select app_id from rowhouse.api_keys where key_id = presented_key),
      '${ALL_APPS}') end
$$;

-- The counts of a process, by app, table and code.
create function rowhouse.read_rejections(rejected jsonb)
  returns table (app_id uuid, table_name text, code text, requests bigint)
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select rowhouse.rejected_app(app, key), coalesce("table", ''), left(item.code, 60),
    sum(greatest(item.requests, 0))::bigint
  from jsonb_to_recordset(rejected) as item (app uuid, key text, "table" text, code text,
    requests bigint)
  where rowhouse.rejected_app(app, key) is not null and item.code is not null
    and rowhouse.is_counted("table", left(item.code, 60))
  group by 1, 2, 3
$$;

create function rowhouse.add_rejections(added_minute timestamptz, rejected jsonb) returns void
  language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  -- Two concurrent processes could otherwise exceed the limit.
  lock table rowhouse.rejection_kinds in share row exclusive mode;
  insert into rowhouse.rejection_kinds (app_id, table_name, code, used_at)
  select app_id, table_name, code, added_minute from (
    select sent.*, row_number() over (partition by app_id
      order by requests desc, table_name, code)
      + (select count(*) from rowhouse.rejection_kinds where app_id = sent.app_id) as ordinal
    from rowhouse.read_rejections(rejected) as sent
    where code <> 'other' and not exists (select from rowhouse.rejection_kinds as kinds
      where kinds.app_id = sent.app_id and kinds.table_name = sent.table_name
        and kinds.code = sent.code)) as added
  where ordinal <= ${MAX_REJECTED_KINDS};
  update rowhouse.rejection_kinds as kinds set used_at = added_minute
  from rowhouse.read_rejections(rejected) as sent
  where kinds.app_id = sent.app_id and kinds.table_name = sent.table_name
    and kinds.code = sent.code and used_at < added_minute - interval '1 hour';
  insert into rowhouse.rejections as known (app_id, span, at, table_name, code, requests)
  select sent.app_id, span, case span when 'minute' then added_minute
    else date_bin('1 hour', added_minute, 'epoch') end,
    coalesce(kinds.table_name, ''), coalesce(kinds.code, 'other'), sum(requests)
  from rowhouse.read_rejections(rejected) as sent
  left join rowhouse.rejection_kinds as kinds using (app_id, table_name, code)
  cross join unnest(array['hour', 'minute']) as span
  group by 1, 2, 3, 4, 5
  order by 1, 2, 3, 4, 5
  on conflict (app_id, span, at, table_name, code)
    do update set requests = known.requests + excluded.requests;
end
$$;

-- Keeps the latest rejected requests of each of these apps: the newest of each code and key, so
-- that a key with many errors does not evict the requests of other keys.
create function rowhouse.trim_rejected(apps uuid[]) returns void
  language sql volatile set search_path = pg_catalog, pg_temp as $$
  delete from rowhouse.stored_requests where id in (
    select id from (
      select id,
        row_number() over (partition by app_id order by ordinal, at desc, id) as app_ordinal
      from (
        select id, app_id, at, row_number() over (partition by app_id, code, key_id
          order by at desc, id) as ordinal
        from rowhouse.stored_requests
        where (app_id = any (apps) or app_id is null and array_position(apps, null) is not null)
          and is_rejected) as placed) as ranked
    where app_ordinal > ${MAX_REJECTED_OF_APP})
$$;

-- Adds one minute of a process, once, even if it is sent again: minutes come in order. Rows are
-- locked in order, so that concurrent processes never deadlock.
create function rowhouse.add_minute(
  process uuid, process_role text, started timestamptz, added_minute timestamptz, has_ended boolean,
  checked_s double precision, issues jsonb, counted jsonb, rejected jsonb, stored jsonb,
  process_version text
) returns boolean language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  -- Times in the future would stay first in lists, and never expire.
  latest timestamptz := date_trunc('minute', clock_timestamp()) + interval '1 hour';
begin
  added_minute := least(added_minute, latest);
  insert into rowhouse.processes as known (id, role, version, started_at, minute, ended_at,
    isolation_at, isolation_issues)
  values (process, process_role, process_version, started, added_minute,
    case when has_ended then now() end,
    now() - make_interval(secs => checked_s),
    array(select left(regexp_replace(issue, E'[\\u0001-\\u001f\\u007f-\\u009f]', ' ', 'g'), 300)
    from jsonb_array_elements_text(issues) as listed (issue) limit 20))
  on conflict (id) do update set minute = excluded.minute, seen_at = now(),
    ended_at = excluded.ended_at,
    isolation_at = excluded.isolation_at, isolation_issues = excluded.isolation_issues
  where known.minute < excluded.minute;
  if not found then
    return false;
  end if;
  insert into rowhouse.statistics as known (app_id, span, at, requests, errors, rejections,
    latencies)
  select app, span, case span when 'minute' then added_minute
    else date_bin('1 hour', added_minute, 'epoch') end,
    requests, errors, rejections, latencies
  from jsonb_to_recordset(counted) as item (app uuid, requests bigint, errors bigint,
    rejections bigint, latencies bigint[]),
    unnest(array['hour', 'minute']) as span
  -- Skips apps that were deleted since then.
  where app in ('${ALL_APPS}', '${NO_APP}',
      '${CONSOLE_APP}')
    or exists (select from rowhouse.apps where id = app)
  order by app, span
  on conflict (app_id, span, at) do update set requests = known.requests + excluded.requests,
    errors = known.errors + excluded.errors, rejections = known.rejections + excluded.rejections,
    latencies = array(select before + added
      from unnest(known.latencies, excluded.latencies) with ordinality as pair (before, added, at)
      order by pair.at);
  if jsonb_array_length(rejected) > 0 then
    perform rowhouse.add_rejections(added_minute, rejected);
  end if;
  -- Most minutes: planning the rest is most of the work of a new connection.
  if jsonb_array_length(stored) = 0 then
    return true;
  end if;
  insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms, key_id,
    table_name, paths, found, requests, of_console)
  select id, nullif(app, '${ALL_APPS}'),
    least(to_timestamp(at_ms / 1000), latest), method, route, status, code, ms, key_id, "table",
    paths, sent.found, greatest(requests, 1), coalesce(of_console, false)
  from (
    select item.*, rowhouse.rejected_app(item.app, item.key) as accepted_app,
      (select key_id from rowhouse.api_keys where key_id = item.key),
      array(select left(path, 80) from jsonb_array_elements_text(item.fields) as path
        limit ${MAX_REJECTED_PATHS}) as paths,
      array(select left(class, 80) from jsonb_array_elements_text(item.found) as class
        limit ${MAX_REJECTED_PATHS}) as found
    from jsonb_to_recordset(stored) as item (
      id uuid, app uuid, at_ms double precision, method text, route text, status integer,
        code text, ms integer, key text, "table" text, fields jsonb, requests integer,
        "isOfConsole" boolean, found jsonb)
    limit ${MAX_FAILED_A_MINUTE} + ${MAX_REJECTED_A_MINUTE}) as sent (id, proven, at_ms,
      method, route, status, code, ms, key, "table", fields, requests, of_console, found_classes,
      app, key_id, paths, found)
  where app is not null and rowhouse.is_request(method, route, paths)
    and rowhouse.is_found(sent.found, paths) and rowhouse.is_counted("table", code)
  on conflict do nothing;
  insert into rowhouse.merged_requests (id, stored_id)
  select merged.id::uuid, entries.id
  from jsonb_array_elements(stored) as item
  join rowhouse.stored_requests as entries on entries.id = (item ->> 'id')::uuid
  cross join jsonb_array_elements_text(item -> 'merged') with ordinality as merged (id, ordinal)
  where merged.ordinal <= ${MAX_MERGED}
  limit ${MAX_MERGED_A_MINUTE}
  on conflict do nothing;
  perform rowhouse.trim_rejected(array(select distinct app_id from rowhouse.stored_requests
    where id in (select (item ->> 'id')::uuid from jsonb_array_elements(stored) as item)
      and is_rejected));
  return true;
end
$$;
comment on function rowhouse.add_minute is 'idempotent';

-- The versions of the running processes: more than one during a rolling upgrade.
create function rowhouse.running_versions()
  returns table (version text, processes integer, since timestamptz)
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select version, count(*)::integer, min(started_at) from rowhouse.processes
  where ended_at is null and version is not null
    and seen_at > now() - interval '${PROCESS_SILENT_S} seconds'
  group by version order by min(started_at)
$$;
grant execute on function rowhouse.running_versions
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- What a process serves, after its first minute.
create function rowhouse.serve_previews(process uuid, served text[]) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  update rowhouse.processes set previews = served where id = process
$$;
comment on function rowhouse.serve_previews is 'idempotent';

-- Switches of apps that no running process serves, though they record and offer something. None
-- while a process does not say what it serves.
create function rowhouse.unserved_switches() returns table (app text, name text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with serving as (
    select previews from rowhouse.processes
    where ended_at is null and role in ('all', 'data')
      and seen_at > now() - interval '${PROCESS_SILENT_S} seconds')
  select slug, switch from rowhouse.apps cross join unnest(switches) as switch
  where switch in (${PREVIEW_SWITCHES}) and exists (select from serving)
    and not exists (select from serving where previews is null or switch = any (previews))
  order by slug, switch limit 20
$$;

-- Whether a version is before the first that works without what `rowhouse migrate --contract`
-- removes.
create function rowhouse.is_earlier(version text) returns boolean language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select coalesce((regexp_match(version, '^([0-9]+)[.]([0-9]+)[.]([0-9]+)'))::integer[]
    < string_to_array('${CONTRACTED_FROM}', '.')::integer[], false)
$$;

-- The processes of such versions in the last hour.
create function rowhouse.earlier_processes()
  returns table (version text, processes integer, seen_at timestamptz, is_running boolean)
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select version, count(*)::integer, max(seen_at), bool_or(ended_at is null
    and seen_at > now() - interval '${PROCESS_SILENT_S} seconds')
  from rowhouse.processes
  where seen_at > now() - interval '1 hour' and rowhouse.is_earlier(version)
  group by version order by version
$$;
grant execute on function rowhouse.unserved_switches
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- Deletes at most max_rows expired rows of each kind; returns the largest number of deleted rows of
-- a kind.
create function rowhouse.sweep_statistics(max_rows integer) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  swept integer := 0;
  swept_here integer;
  swept_span text;
  retention interval;
begin
  for swept_span, retention in
    values ('minute', interval '${MINUTES_LIFE_S} seconds'),
      ('hour', interval '${HOURS_LIFE_S} seconds')
  loop
    delete from rowhouse.statistics where (app_id, span, at) in (
      select app_id, span, at from rowhouse.statistics
      where span = swept_span and at < now() - retention
      order by at limit max_rows for update skip locked);
    get diagnostics swept_here = row_count;
    swept := greatest(swept, swept_here);
    delete from rowhouse.rejections where (app_id, span, at, table_name, code) in (
      select app_id, span, at, table_name, code from rowhouse.rejections
      where span = swept_span and at < now() - retention
      order by at limit max_rows for update skip locked);
    get diagnostics swept_here = row_count;
    swept := greatest(swept, swept_here);
  end loop;
  delete from rowhouse.stored_requests where id in (
    select id from rowhouse.stored_requests
    where not is_rejected
      and at < now() - interval '${FAILED_LIFE_S} seconds'
    order by at limit max_rows for update skip locked);
  get diagnostics swept_here = row_count;
  swept := greatest(swept, swept_here);
  delete from rowhouse.stored_requests where id in (
    select id from rowhouse.stored_requests
      where at < now() - interval '${REJECTED_LIFE_S} seconds'
      order by at limit max_rows for update skip locked);
  get diagnostics swept_here = row_count;
  swept := greatest(swept, swept_here);
  delete from rowhouse.rejection_kinds where (app_id, table_name, code) in (
    select app_id, table_name, code from rowhouse.rejection_kinds
    where used_at < now() - interval '${HOURS_LIFE_S} seconds'
    limit max_rows for update skip locked);
  get diagnostics swept_here = row_count;
  delete from rowhouse.processes where id in (
    select id from rowhouse.processes where seen_at < now() - interval '7 days' limit max_rows
      for update skip locked);
  return greatest(swept, swept_here);
end
$$;
comment on function rowhouse.sweep_statistics is 'idempotent';
grant execute on function rowhouse.sweep_statistics, rowhouse.add_minute, rowhouse.serve_previews
  to rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;
