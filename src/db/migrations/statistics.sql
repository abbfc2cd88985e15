-- How many requests apps get and how fast they are answered, for the Console: each process adds its
-- counts once a minute, in one call, with what it keeps of failed and slow requests and what its
-- guard last judged. Holds no row, no value and no target of a request. Serving logins add, and
-- read nothing; only the Console reads.

-- Minutes are kept for a day, hours for a week. An app of zeros is all requests together, those of
-- no app too.
create table rowhouse.statistics (
  app_id uuid not null,
  span text not null check (span in ('minute', 'hour')),
  at timestamptz not null,
  requests bigint not null check (requests >= 0),
  errors bigint not null check (errors >= 0),
  refusals bigint not null check (refusals >= 0),
  latencies bigint[] not null check (cardinality(latencies) = 12),
  primary key (app_id, span, at)
);
create index statistics__span__at__idx on rowhouse.statistics (span, at);

-- Processes, with the last minute that each has added and what its guard said then of the isolation
-- of apps.
create table rowhouse.processes (
  id uuid primary key,
  role text not null check (length(role) <= 20),
  started_at timestamptz not null,
  minute timestamptz not null,
  seen_at timestamptz not null default now(),
  ended_at timestamptz,
  isolation_at timestamptz,
  isolation_faults text[] not null default '{}'
);

-- Failed and slow requests, by the id that the caller was given.
create table rowhouse.kept_requests (
  id uuid primary key,
  app_id uuid,
  at timestamptz not null,
  method text not null check (length(method) <= 20),
  route text not null check (length(route) <= 200),
  status integer not null,
  code text check (length(code) <= 60),
  ms integer not null
);
create index kept_requests__app_id__at__idx on rowhouse.kept_requests (app_id, at);
-- By the reference that a page shows: the end of the id.
create index kept_requests__reference__idx on rowhouse.kept_requests (right(id::text, 12));
create index kept_requests__at__idx on rowhouse.kept_requests (at);

-- Adds one minute of a process. A minute that it has added is not added again, however often it is
-- sent: minutes come in order. The rows are taken in order, so that processes that add at the same
-- time wait for each other and never in a circle.
create function rowhouse.add_statistics(
  process uuid, process_role text, started timestamptz, added_minute timestamptz, has_ended boolean,
  judged_s double precision, faults jsonb, counted jsonb, kept jsonb
) returns boolean language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  -- What is later would stay first in lists, and be kept for ever.
  latest timestamptz := date_trunc('minute', clock_timestamp()) + interval '1 hour';
begin
  added_minute := least(added_minute, latest);
  insert into rowhouse.processes as known (id, role, started_at, minute, ended_at, isolation_at,
    isolation_faults)
  values (process, process_role, started, added_minute, case when has_ended then now() end,
    now() - make_interval(secs => judged_s),
    array(select left(fault, 300)
    from jsonb_array_elements_text(faults) as listed (fault) limit 20))
  on conflict (id) do update set minute = excluded.minute, seen_at = now(),
    ended_at = excluded.ended_at,
    isolation_at = excluded.isolation_at, isolation_faults = excluded.isolation_faults
  where known.minute < excluded.minute;
  if not found then
    return false;
  end if;
  insert into rowhouse.statistics as known (app_id, span, at, requests, errors, refusals, latencies)
  select app, span, case span when 'minute' then added_minute
    else date_bin('1 hour', added_minute, 'epoch') end,
    requests, errors, refusals, latencies
  from jsonb_to_recordset(counted) as one (app uuid, requests bigint, errors bigint,
    refusals bigint, latencies bigint[]),
    unnest(array['hour', 'minute']) as span
  -- Not of an app that was deleted meanwhile.
  where app = '00000000-0000-0000-0000-000000000000'
    or exists (select from rowhouse.apps where id = app)
  order by app, span
  on conflict (app_id, span, at) do update set requests = known.requests + excluded.requests,
    errors = known.errors + excluded.errors, refusals = known.refusals + excluded.refusals,
    latencies = array[known.latencies[1] + excluded.latencies[1],
    known.latencies[2] + excluded.latencies[2], known.latencies[3] + excluded.latencies[3],
    known.latencies[4] + excluded.latencies[4], known.latencies[5] + excluded.latencies[5],
    known.latencies[6] + excluded.latencies[6], known.latencies[7] + excluded.latencies[7],
    known.latencies[8] + excluded.latencies[8], known.latencies[9] + excluded.latencies[9],
    known.latencies[10] + excluded.latencies[10], known.latencies[11] + excluded.latencies[11],
    known.latencies[12] + excluded.latencies[12]];
  insert into rowhouse.kept_requests (id, app_id, at, method, route, status, code, ms)
  select id, app, least(to_timestamp(at_ms / 1000), latest), method, route, status, code, ms
  from jsonb_to_recordset(kept) as one (
    id uuid, app uuid, at_ms double precision, method text, route text, status integer,
      code text, ms integer)
  limit 100
  on conflict do nothing;
  return true;
end
$$;
comment on function rowhouse.add_statistics is 'idempotent';

-- Deletes at most so many rows of each kind whose time is over: the most that went of one kind.
create function rowhouse.sweep_statistics(most integer) returns integer
  language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
declare
  swept integer := 0;
  swept_here integer;
  swept_span text;
  kept interval;
begin
  for swept_span, kept in values ('minute', interval '1 day'), ('hour', interval '7 days') loop
    delete from rowhouse.statistics where (app_id, span, at) in (
      select app_id, span, at from rowhouse.statistics where span = swept_span and at < now() - kept
      order by at limit most for update skip locked);
    get diagnostics swept_here = row_count;
    swept := greatest(swept, swept_here);
  end loop;
  delete from rowhouse.kept_requests where id in (
    select id from rowhouse.kept_requests where at < now() - interval '1 day'
      order by at limit most for update skip locked);
  get diagnostics swept_here = row_count;
  delete from rowhouse.processes where id in (
    select id from rowhouse.processes where seen_at < now() - interval '7 days' limit most
      for update skip locked);
  return greatest(swept, swept_here);
end
$$;
comment on function rowhouse.sweep_statistics is 'idempotent';
grant execute on function rowhouse.sweep_statistics(integer), rowhouse.add_statistics(
  uuid, text, timestamptz, timestamptz, boolean, double precision, jsonb, jsonb, jsonb)
  to rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;
