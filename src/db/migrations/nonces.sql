-- Nonces of signed requests that write: each is used once, whichever process of a service it
-- reaches. Not logged by PostgreSQL, so that using one waits for no disk.

create unlogged table rowhouse.nonces (
  nonce uuid primary key,
  used_at timestamptz not null default now()
);
create index nonces__used_at__idx on rowhouse.nonces (used_at);

-- Those that were not used before. In order, so that processes that use the same ones wait for each
-- other and never in a circle.
create function rowhouse.use_nonces(shown uuid[]) returns setof uuid
  language sql volatile security definer
set search_path = pg_catalog, pg_temp as $$
  insert into rowhouse.nonces (nonce) select nonce from unnest(shown) as listed (nonce)
    order by nonce
  on conflict do nothing
  returning nonce
$$;

-- Deletes at most so many whose time is over; how many. Their time is longer than a request counts
-- anywhere: the clocks of two processes can each be a minute off, in different directions.
create function rowhouse.sweep_nonces(max_rows integer) returns integer
  language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  swept integer;
begin
  delete from rowhouse.nonces where nonce = any (array(
    select nonce from rowhouse.nonces where used_at < now() - interval '5 minutes'
      order by used_at limit max_rows for update skip locked));
  get diagnostics swept = row_count;
  return swept;
end
$$;
comment on function rowhouse.sweep_nonces is 'idempotent';
grant execute on function rowhouse.use_nonces(uuid[]), rowhouse.sweep_nonces(integer)
  to rowhouse_data, rowhouse_identity;
