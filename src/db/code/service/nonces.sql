-- Nonces of signed write requests: each is used once, in any process of a service. Unlogged, so
-- that a request does not wait for a disk.

-- Returns the unused nonces. In order, so that processes that use the same nonces never deadlock.
create function rowhouse.use_nonces(presented uuid[]) returns setof uuid
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  insert into rowhouse.nonces (nonce) select nonce from unnest(presented) as listed (nonce)
    order by nonce
  on conflict do nothing
  returning nonce
$$;

-- Deletes at most max_rows expired nonces; returns their number. They expire later than any process
-- accepts their request: the clocks of two processes can each differ, in different
-- directions.
create function rowhouse.sweep_nonces(max_rows integer) returns integer
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  with swept as (
    delete from rowhouse.nonces where nonce = any (array(
      select nonce from rowhouse.nonces where used_at < now() - interval '${NONCE_LIFE_S} seconds'
        order by used_at limit max_rows for update skip locked))
    returning 1
  )
  select count(*)::integer from swept
$$;
comment on function rowhouse.sweep_nonces is 'idempotent';
grant execute on function rowhouse.use_nonces, rowhouse.sweep_nonces
  to rowhouse_data, rowhouse_identity;
