-- The throttle for sign-ins: counts attempts by pair of address and client, by address, by client,
-- and in total. Only the pair has the small limit, so that someone who knows an address cannot
-- lock out its owner elsewhere; all clients together have ten times as many attempts at an
-- address. A client is counted by its own address and by its networks, each with its own limit.
--
-- A person who signed in on this device before is counted only by that device: other people's
-- attempts cannot lock them out.

-- The key of a counter. The counting functions compute the keys: a login that could choose a key
-- could lower any counter.
create function rowhouse.throttle_key(kind text, name text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select kind || ' ' || encode(sha256(convert_to(name, 'UTF8')), 'hex')
$$;

-- The counters of a client: its address and its networks.
create function rowhouse.client_keys(kind text, networks text[]) returns text[]
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(rowhouse.throttle_key(kind, network) order by ordinal), '{}')
  from unnest(networks) with ordinality as client (network, ordinal)
$$;

-- The counter of a device on which the person with this address signed in before.
create function rowhouse.device_key(device_id text, email text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select rowhouse.throttle_key('device', device_id || ' ' || email)
$$;

create function rowhouse.pair_key(address_key text, client_key text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select address_key || ' from ' || client_key
$$;

-- How long an attempt must wait if its counters have reached their limits; null: no wait. If all
-- attempts together exceed the limit per minute, the other limits shrink to a quarter: sign-in
-- slows down. At five times that limit, which is more than the service can check, the attempt
-- waits for the next minute: this bounds the counters, and so the table. "pending" is the number
-- of attempts that are not in the counters yet.
create function rowhouse.sign_in_wait(keys text[], bounds integer[], max_global integer,
  pending integer) returns integer language sql volatile set search_path = pg_catalog, pg_temp as $$
  with counter as (
    select throttle.key, attempts + pending as attempts, ends_at, bound,
      pending + max(attempts) filter (where throttle.key = 'all') over () as all_attempts
    from unnest(keys, bounds) as wanted (key, bound)
    join rowhouse.throttle on throttle.key = wanted.key and ends_at > clock_timestamp()
  )
  select greatest(1, ceil(extract(epoch from max(ends_at) - clock_timestamp())))::integer
    from counter
  where attempts > case
    when key = 'all' then max_global * ${MAX_SIGN_INS_A_MINUTE} / ${SIGN_INS_A_MINUTE}
    when all_attempts > max_global then greatest(1, bound / 4)
    else bound
  end
  having count(*) > 0
$$;

-- Deletes a batch of expired counters; returns their number. Also called by each counted
-- sign-in attempt.
create function rowhouse.sweep_throttle(max_rows integer) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  swept integer;
begin
  delete from rowhouse.throttle where key in (
    select key from rowhouse.throttle where ends_at < clock_timestamp()
      order by ends_at limit max_rows for update skip locked);
  get diagnostics swept = row_count;
  perform rowhouse.sweep_pending_sign_ins(max_rows);
  return swept;
end
$$;
comment on function rowhouse.sweep_throttle is 'idempotent';
grant execute on function rowhouse.sweep_throttle to rowhouse_service, rowhouse_identity;

-- Counts an attempt by all its counters and returns null; or returns how long to wait and writes
-- nothing. No count lasts longer than thirty days: a stolen login cannot lock out users for
-- longer.
create function rowhouse.count_attempt(
  keys text[], bounds integer[], max_global integer, window_s integer
) returns integer language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  wait integer := rowhouse.sign_in_wait(keys, bounds, max_global, 1);
begin
  if wait is null then
    begin
      -- One order of counters for all attempts, so that they never deadlock.
      insert into rowhouse.throttle as counter (key, attempts, ends_at)
      select key, 1, case when key = 'all' then clock_timestamp() + interval '1 minute'
        else clock_timestamp() + make_interval(secs => least(window_s, ${MAX_COUNT_S})) end
      from unnest(keys) with ordinality as wanted (key, ordinal) order by ordinal
      on conflict (key) do update set
        attempts = case when counter.ends_at <= clock_timestamp() then 1
          else counter.attempts + 1 end,
        ends_at = case when counter.ends_at <= clock_timestamp() then excluded.ends_at
          else counter.ends_at end;
      -- Others can have counted since then; from here on they wait for this attempt.
      wait := rowhouse.sign_in_wait(keys, bounds, max_global, 0);
      if wait is not null then
        raise exception 'counted by another attempt' using errcode = 'RH013';
      end if;
    exception when sqlstate 'RH013' then
      null; -- the count is reverted
    end;
  end if;
  return wait;
end
$$;

-- Removes attempts from the counters.
create function rowhouse.give_back_attempts(keys text[]) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  counted text;
begin
  -- In the order of counting.
  foreach counted in array keys loop
    update rowhouse.throttle set attempts = greatest(attempts - 1, 0) where key = counted;
  end loop;
end
$$;
create function rowhouse.record_password_attempt(person uuid, client_address text) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into rowhouse.failed_sign_ins as failed (user_id, attempts, last_at, last_from)
  select id, 1, now(), left(client_address, 64) from rowhouse.users
  where id = person and rowhouse.is_active(disabled_at) for key share
  on conflict (user_id) do update set attempts = least(failed.attempts, 1000000) + 1,
    last_at = excluded.last_at, last_from = excluded.last_from
$$;

-- Before a password is hashed: counts the attempt, or returns how long to wait and writes nothing.
create function rowhouse.begin_sign_in(
  email text, client_networks text[], device_id text, device_users uuid[], client_address text,
  max_pair integer, max_clients integer[], max_global integer, window_s integer
) returns table (
  wait_s integer, user_id uuid, password_hash text, password_secret_id text, is_disabled boolean,
    is_known_device boolean
)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  person rowhouse.users;
  is_known boolean;
  address_key text := rowhouse.throttle_key('address', begin_sign_in.email);
  client_keys text[] := rowhouse.client_keys('client', client_networks);
  -- The pair and the address come first: reaching their limit is recorded in the audit log.
  keys text[] := array[rowhouse.pair_key(address_key, client_keys[1]), address_key] || client_keys
    || array['all'];
  bounds integer[] := array[max_pair, max_pair * ${SIGN_INS_OF_ADDRESS} / ${SIGN_INS_OF_PAIR}]
    || max_clients || max_global;
  wait integer;
begin
  select * into person from rowhouse.users where users.email = begin_sign_in.email;
  is_known := coalesce(person.id = any(device_users), false);
  if is_known then
    keys := array[rowhouse.device_key(device_id, begin_sign_in.email)];
    bounds := array[max_pair];
  end if;
  wait := rowhouse.count_attempt(keys, bounds, max_global, window_s);
  if wait is not null then
    return query select wait, null::uuid, null::text, null::text, false, is_known;
    return;
  end if;
  -- Written once per window, by the attempt that reaches the limit: a flood of the form does not
  -- flood the log.
  perform rowhouse.log('sign-in', 'sign_in_throttled', person => person.id)
  from unnest(keys[1:2], bounds[1:2]) as wanted (key, bound)
  join rowhouse.throttle on throttle.key = wanted.key and attempts = bound;
  perform rowhouse.record_password_attempt(person.id, client_address);
  perform rowhouse.sweep_throttle(20);
  return query select 0, person.id, person.password_hash, person.password_secret_id,
    not rowhouse.is_active(person.disabled_at), is_known;
end
$$;
comment on function rowhouse.begin_sign_in is 'null user_id, password_hash, password_secret_id';
grant execute on function rowhouse.begin_sign_in to rowhouse_service, rowhouse_identity;
