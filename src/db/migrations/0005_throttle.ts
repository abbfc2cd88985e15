/**
 * The throttle of sign-ins counts the pair of a typed address and a client too. Only that has the small bound, so that
 * who knows an address cannot keep its owner out from elsewhere; all clients together have ten times as many attempts
 * for an address. A password that was set by a link frees the address.
 *
 * @module
 */
export const THROTTLE = `
set local role rowhouse_owner;
drop function rowhouse.begin_sign_in(text, text, text, integer, integer, integer, integer);
drop function rowhouse.finish_sign_in(uuid, text, text, text, text, text, text, integer, text, text);
drop function rowhouse.use_password_link(text, text);

create function rowhouse.pair_key(address_key text, client_key text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select address_key || ' from ' || client_key
$$;

-- Before a password is hashed: counts the attempt, or says how long to wait. Past the bound of all together the others
-- shrink to a quarter: it slows, it never shuts.
create function rowhouse.begin_sign_in(
  typed text, address_key text, client_key text,
  most_pair integer, most_client integer, most_global integer, window_s integer
) returns table (wait_s integer, user_id uuid, password_hash text, is_disabled boolean)
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
    return query select greatest(1, ceil(extract(epoch from ends - moment))::integer), null::uuid, null::text, false;
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
  return query select 0, found_user.id, found_user.password_hash, found_user.disabled_at is not null
  from (values (typed)) as asked (email) left join rowhouse.users as found_user on found_user.email = asked.email;
end
$$;

-- After the password was right: a new session in place of those presented. False where the person was disabled, or
-- has got another password, in between.
create function rowhouse.finish_sign_in(
  who uuid, seen_hash text, fresh_hash text, presented text,
  new_id text, new_secret_hash text, new_identity_hash text, most_s integer,
  address_key text, client_key text
) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users;
begin
  select * into person from rowhouse.users where id = who for no key update;
  if person.id is null or person.disabled_at is not null or person.password_hash is distinct from seen_hash then
    return false;
  end if;
  if fresh_hash is not null then
    update rowhouse.users set password_hash = fresh_hash where id = who;
  end if;
  delete from rowhouse.sessions as old using unnest(string_to_array(presented, ',')) as pair
  where old.id = split_part(pair, '.', 1) and decode(split_part(pair, '.', 2), 'hex') in (old.secret_hash, old.identity_hash);
  delete from rowhouse.sessions where id in (
    select id from rowhouse.sessions where expires_at < now() order by expires_at limit 20 for update skip locked);
  insert into rowhouse.sessions (id, secret_hash, identity_hash, user_id, expires_at)
  values (new_id, decode(new_secret_hash, 'hex'), decode(new_identity_hash, 'hex'), who,
    now() + make_interval(secs => most_s));
  delete from rowhouse.throttle where key = rowhouse.pair_key(address_key, client_key);
  delete from rowhouse.throttle where key = address_key;
  update rowhouse.throttle set attempts = greatest(attempts - 1, 0) where key = client_key;
  update rowhouse.throttle set attempts = greatest(attempts - 1, 0) where key = 'all';
  insert into rowhouse.audit (actor, action, user_id) values (who::text, 'sign_in', who);
  return true;
end
$$;

-- A link sets a password once: of two at the same time the second finds no row. Sessions of before end, and so does
-- the wait of who could not sign in: attempts at the old password say nothing of the new one.
create function rowhouse.use_password_link(link_hash text, new_hash text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  who uuid;
  address_key text;
begin
  delete from rowhouse.password_links where secret_hash = decode(link_hash, 'hex') and expires_at > now()
  returning user_id into who;
  if who is null then
    return false;
  end if;
  update rowhouse.users set password_hash = new_hash where id = who and disabled_at is null
  returning 'address ' || encode(sha256(convert_to(email, 'UTF8')), 'hex') into address_key;
  if address_key is null then
    return false;
  end if;
  delete from rowhouse.sessions where user_id = who;
  delete from rowhouse.throttle where starts_with(key, rowhouse.pair_key(address_key, ''));
  delete from rowhouse.throttle where key = address_key;
  insert into rowhouse.audit (actor, action, user_id) values (who::text, 'set_password', who);
  return true;
end
$$;

revoke all on function rowhouse.pair_key(text, text) from public;
revoke all on function rowhouse.begin_sign_in(text, text, text, integer, integer, integer, integer),
  rowhouse.finish_sign_in(uuid, text, text, text, text, text, text, integer, text, text),
  rowhouse.use_password_link(text, text) from public;
grant execute on function rowhouse.begin_sign_in(text, text, text, integer, integer, integer, integer),
  rowhouse.finish_sign_in(uuid, text, text, text, text, text, text, integer, text, text),
  rowhouse.use_password_link(text, text) to rowhouse_service, rowhouse_identity;
`;
