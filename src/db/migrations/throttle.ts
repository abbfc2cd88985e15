/**
 * The throttle of sign-ins: counts attempts by the pair of a typed address and a client, by address, by client, and all
 * together. Only the pair has the small bound, so that someone who knows an address cannot keep its owner out from
 * elsewhere; all clients together have ten times as many attempts at an address.
 *
 * @module
 */
export const THROTTLE = `
-- Keys are digests: what was typed into a sign-in form is not kept.
create table rowhouse.throttle (
  key text primary key,
  attempts integer not null,
  ends_at timestamptz not null
);
create index throttle__ends_at__idx on rowhouse.throttle (ends_at);
create function rowhouse.pair_key(address_key text, client_key text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select address_key || ' from ' || client_key
$$;

-- Before a password is hashed: counts the attempt, or says how long to wait. Once all attempts together pass their
-- bound, the other bounds shrink to a quarter: sign-in slows down and never stops.
create function rowhouse.begin_sign_in(
  typed text, address_key text, client_key text,
  most_pair integer, most_client integer, most_global integer, window_s integer
) returns table (wait_s integer, user_id uuid, password_hash text, password_secret_id text, is_disabled boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  pair text := rowhouse.pair_key(address_key, client_key);
  most_address integer := most_pair * 10;
  moment timestamptz;
  share integer;
  ends timestamptz;
begin
  -- One order of classes for everybody, so that two attempts never wait for each other.
  insert into rowhouse.throttle as counter (key, attempts, ends_at) values
    (pair, 0, clock_timestamp() + make_interval(secs => window_s)),
    (address_key, 0, clock_timestamp() + make_interval(secs => window_s)),
    (client_key, 0, clock_timestamp() + make_interval(secs => window_s)),
    ('all', 0, clock_timestamp() + interval '1 minute')
  on conflict (key) do update set
    attempts = case when counter.ends_at <= clock_timestamp() then 0 else counter.attempts end,
    ends_at = case when counter.ends_at <= clock_timestamp() then excluded.ends_at else counter.ends_at end;
  moment := clock_timestamp();
  share := case when (select attempts from rowhouse.throttle where key = 'all') >= most_global then 4 else 1 end;
  select max(ends_at) into ends from rowhouse.throttle
  where (key = pair and attempts >= greatest(1, most_pair / share))
     or (key = address_key and attempts >= greatest(1, most_address / share))
     or (key = client_key and attempts >= greatest(1, most_client / share));
  if ends is not null then
    return query select greatest(1, ceil(extract(epoch from ends - moment))::integer), null::uuid, null::text, null::text, false;
    return;
  end if;
  update rowhouse.throttle set attempts = attempts + 1 where key in (pair, address_key, client_key, 'all');
  -- Written once a window, by the attempt that uses it up: whoever floods the form does not flood the log.
  insert into rowhouse.audit (actor, action, user_id)
  select 'sign-in', 'sign_in_throttled', (select id from rowhouse.users where email = typed)
  from rowhouse.throttle
  where (key = pair and attempts = most_pair) or (key = address_key and attempts = most_address);
  delete from rowhouse.throttle where key in (
    select key from rowhouse.throttle where ends_at < moment order by ends_at limit 20 for update skip locked);
  return query select 0, found_user.id, found_user.password_hash, found_user.password_secret_id,
    found_user.disabled_at is not null
  from (values (typed)) as asked (email) left join rowhouse.users as found_user on found_user.email = asked.email;
end
$$;
grant execute on function
  rowhouse.begin_sign_in(text, text, text, integer, integer, integer, integer)
  to rowhouse_service, rowhouse_identity;
`;
