-- Request limits across all processes: a token bucket per limited app, key and address, and the
-- leases of processes. Unlogged: after a crash all buckets are full again, as after a minute
-- without requests.

-- Subtracts the tokens that a process has used since its last report from each bucket, and leases
-- the tokens that it wants: at most its share of the total demand, from the tokens that no other
-- process holds. Replaces its previous lease. Uses the database's clock. Reports are limited, so
-- that no bucket is ever more than a minute in debt. A lease ends later than its process stops
-- using it: `LEASE_MS` of `db/leases.ts`.
create function rowhouse.lease_tokens(
  reporter uuid, names text[], limits double precision[], spent double precision[],
  wanted double precision[]
) returns table (bucket text, leased double precision, left_over double precision)
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  at constant timestamptz := clock_timestamp();
begin
  -- In order, so that processes never deadlock.
  insert into rowhouse.buckets as known (name, per_minute, tokens, counted_at)
  select report.name, report.per_minute, report.per_minute - least(greatest(report.spent, 0),
    report.per_minute), at
  from unnest(names, limits, spent) as report (name, per_minute, spent)
  where report.per_minute >= 1
  order by report.name limit 1000
  on conflict (name) do update set per_minute = excluded.per_minute,
    tokens = greatest(excluded.tokens - excluded.per_minute + least(excluded.per_minute,
      known.tokens
      + greatest(extract(epoch from at - known.counted_at)::float8, 0) * known.per_minute / 60),
        -excluded.per_minute),
    counted_at = greatest(at, known.counted_at);
  -- The rows are locked: other leases cannot change now.
  return query
  with asked as (
    select asked.name, least(greatest(asked.wanted, 1), known.per_minute) as wanted, known.tokens
    from unnest(names, wanted) as asked (name, wanted)
      join rowhouse.buckets as known on known.name = asked.name),
  free as (
    select asked.name, asked.wanted, asked.tokens,
      greatest(asked.tokens - others.held, 0) as tokens_free, others.wanted as others_want
    from asked cross join lateral (
      select coalesce(sum(lease.tokens), 0) as held, coalesce(sum(lease.wanted), 0) as wanted
        from rowhouse.leases as lease
      where lease.name = asked.name and lease.process <> reporter
        and lease.ends_at > at) as others),
  granted as (
    select free.name, free.tokens, free.wanted, floor(least(free.wanted, free.tokens_free,
      greatest(free.tokens_free * free.wanted / (free.wanted + free.others_want), 1)))
        as tokens_leased
    from free),
  stored as (
    insert into rowhouse.leases as lease (name, process, tokens, wanted, ends_at)
    select granted.name, reporter, granted.tokens_leased, granted.wanted, at + interval '3 seconds'
      from granted
    on conflict (name, process) do update set tokens = excluded.tokens, wanted = excluded.wanted,
      ends_at = excluded.ends_at)
  select granted.name, granted.tokens_leased, granted.tokens from granted;
end
$$;

-- Deletes buckets that have been full for a while.
create function rowhouse.sweep_leases() returns void language sql volatile security definer
set search_path = pg_catalog, pg_temp as $$
  delete from rowhouse.leases where (name, process) in (
    select name, process from rowhouse.leases
      where ends_at < now() - interval '1 minute' for update skip locked);
  delete from rowhouse.buckets where name in (
    select name from rowhouse.buckets where counted_at < now() - interval '3 minutes'
      for update skip locked)
$$;
comment on function rowhouse.sweep_leases is 'idempotent';
grant execute on function rowhouse.lease_tokens, rowhouse.sweep_leases
  to rowhouse_service, rowhouse_gateway;

-- The same for milliseconds of queries that no index serves, and for no other limit.
create function rowhouse.lease_unindexed(
  reporter uuid, names text[], limits double precision[], spent double precision[],
  wanted double precision[]
) returns table (bucket text, leased double precision, left_over double precision)
  language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select substr(granted.bucket, length('unindexed ') + 1), granted.leased, granted.left_over
  from rowhouse.lease_tokens(reporter,
    array(select 'unindexed ' || name from unnest(names) with ordinality as named (name, n)
      order by n), limits, spent, wanted) as granted
$$;

-- Whether the app may run another of these queries: UNINDEXED_AT_A_TIME in all processes. The turn
-- is a lock that ends with the statement, also if its process does. Owned by the owner, because
-- advisory locks can be revoked from all other roles.
create function rowhouse.take_unindexed_turn(app uuid, presented_proof bytea) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.check_caller(app, presented_proof, 'data:read');
  for turn in 1..${UNINDEXED_AT_A_TIME} loop
    if pg_try_advisory_xact_lock(hashtextextended('rowhouse unindexed ' || app || ' ' || turn, 0))
    then
      return true;
    end if;
  end loop;
  return false;
end
$$;
grant execute on function rowhouse.lease_unindexed, rowhouse.take_unindexed_turn
  to rowhouse_service, rowhouse_data;

-- The records of applied migrations and of the code.

grant select on rowhouse.service_migrations, rowhouse.code
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;
