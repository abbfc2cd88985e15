/**
 * People: users, grants, sessions, set-password links, the throttle of sign-ins and the audit log.
 *
 * The serving login reads people without their password hashes, and touches or ends sessions; everything that reads a
 * hash or holds a rule across rows is a function that locks first. The audit log only grows, whoever asks.
 *
 * @module
 */
export const IDENTITY = `
set local role rowhouse_owner;

create table rowhouse.users (
  id uuid primary key,
  email text not null unique check (email = lower(email) and length(email) between 3 and 254),
  display_name text check (length(display_name) between 1 and 200),
  avatar_url text check (length(avatar_url) <= 2048),
  console_role text check (console_role in ('admin', 'super_admin')),
  password_hash text,
  disabled_at timestamptz,
  created_at timestamptz not null default now()
);
create table rowhouse.grants (
  user_id uuid not null references rowhouse.users (id) on delete cascade,
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  role text not null check (role ~ '^[a-z][a-z0-9_-]{0,31}$' and role <> 'super_admin'),
  granted_at timestamptz not null default now(),
  primary key (user_id, app_id)
);
create index grants__app_id__idx on rowhouse.grants (app_id);

-- secret_hash belongs to the cookie that every sibling host sees, identity_hash to the one that only the pages get.
create table rowhouse.sessions (
  id text primary key check (id ~ '^[a-z0-9]{16}$'),
  secret_hash bytea not null,
  identity_hash bytea not null,
  user_id uuid not null references rowhouse.users (id) on delete cascade,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions__user_id__idx on rowhouse.sessions (user_id);
create index sessions__expires_at__idx on rowhouse.sessions (expires_at);

-- One link a person: a newer one ends the older.
create table rowhouse.password_links (
  user_id uuid primary key references rowhouse.users (id) on delete cascade,
  secret_hash bytea not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

-- Keys are digests: what was typed into a sign-in form is not kept.
create table rowhouse.throttle (
  key text primary key,
  attempts integer not null,
  ends_at timestamptz not null
);
create index throttle__ends_at__idx on rowhouse.throttle (ends_at);

-- No references: an entry outlives whom it speaks of.
create table rowhouse.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  user_id uuid,
  app text,
  details jsonb not null default '{}'
);
create index audit__user_id__idx on rowhouse.audit (user_id);
create function rowhouse.refuse_change() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'the audit log only grows' using errcode = 'RH012';
end
$$;
create trigger refuse_change before update or delete or truncate on rowhouse.audit
  for each statement execute function rowhouse.refuse_change();

-- Before a password is hashed: counts the attempt under the typed address, the client's address and all together, or
-- says how long to wait. Past the bound of all together the other two shrink to a quarter: it slows, it never shuts.
create function rowhouse.begin_sign_in(
  typed text, address_key text, client_key text,
  most_address integer, most_client integer, most_global integer, window_s integer
) returns table (wait_s integer, user_id uuid, password_hash text, is_disabled boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  moment timestamptz;
  share integer;
  ends timestamptz;
begin
  -- One order of classes for everybody, so that two attempts never wait for each other.
  insert into rowhouse.throttle as counter (key, attempts, ends_at) values
    (address_key, 0, clock_timestamp() + make_interval(secs => window_s)),
    (client_key, 0, clock_timestamp() + make_interval(secs => window_s)),
    ('all', 0, clock_timestamp() + interval '1 minute')
  on conflict (key) do update set
    attempts = case when counter.ends_at <= clock_timestamp() then 0 else counter.attempts end,
    ends_at = case when counter.ends_at <= clock_timestamp() then excluded.ends_at else counter.ends_at end;
  moment := clock_timestamp();
  share := case when (select attempts from rowhouse.throttle where key = 'all') >= most_global then 4 else 1 end;
  select max(ends_at) into ends from rowhouse.throttle
  where (key = address_key and attempts >= greatest(1, most_address / share))
     or (key = client_key and attempts >= greatest(1, most_client / share));
  if ends is not null then
    return query select greatest(1, ceil(extract(epoch from ends - moment))::integer), null::uuid, null::text, false;
    return;
  end if;
  update rowhouse.throttle set attempts = attempts + 1 where key in (address_key, client_key, 'all');
  -- Written once a window, by the attempt that uses it up: whoever floods the form does not flood the log.
  insert into rowhouse.audit (actor, action, user_id)
  select 'sign-in', 'sign_in_throttled', (select id from rowhouse.users where email = typed)
  from rowhouse.throttle where key = address_key and attempts = most_address;
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
  delete from rowhouse.throttle where key = address_key;
  update rowhouse.throttle set attempts = greatest(attempts - 1, 0) where key = client_key;
  update rowhouse.throttle set attempts = greatest(attempts - 1, 0) where key = 'all';
  insert into rowhouse.audit (actor, action, user_id) values (who::text, 'sign_in', who);
  return true;
end
$$;

-- A link sets a password once: of two at the same time the second finds no row. Sessions of before end.
create function rowhouse.use_password_link(link_hash text, new_hash text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  who uuid;
begin
  delete from rowhouse.password_links where secret_hash = decode(link_hash, 'hex') and expires_at > now()
  returning user_id into who;
  if who is null then
    return false;
  end if;
  update rowhouse.users set password_hash = new_hash where id = who and disabled_at is null;
  if not found then
    return false;
  end if;
  delete from rowhouse.sessions where user_id = who;
  insert into rowhouse.audit (actor, action, user_id) values (who::text, 'set_password', who);
  return true;
end
$$;

-- Who may still open every door, counted under a lock: two who remove one another would both see the other.
create function rowhouse.lock_user(mail text) returns rowhouse.users
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users;
begin
  perform pg_advisory_xact_lock(hashtextextended('rowhouse super_admin', 0));
  select * into person from rowhouse.users where email = mail for no key update;
  if person.id is null then
    raise exception 'unknown user' using errcode = 'RH011';
  end if;
  return person;
end
$$;
create function rowhouse.keep_super_admin(person rowhouse.users) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  if person.console_role is distinct from 'super_admin' or person.disabled_at is not null then
    return;
  end if;
  if not exists (select from rowhouse.users
    where console_role = 'super_admin' and disabled_at is null and id <> person.id) then
    raise exception 'the last super_admin stays' using errcode = 'RH010';
  end if;
end
$$;
create function rowhouse.set_console_role(mail text, new_role text, who text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users := rowhouse.lock_user(mail);
begin
  if new_role is distinct from 'super_admin' then
    perform rowhouse.keep_super_admin(person);
  end if;
  update rowhouse.users set console_role = new_role where id = person.id;
  insert into rowhouse.audit (actor, action, user_id, details)
  values (who, 'set_console_role', person.id, jsonb_build_object('before', person.console_role, 'after', new_role));
end
$$;
create function rowhouse.set_disabled(mail text, disabled boolean, who text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users := rowhouse.lock_user(mail);
begin
  if disabled then
    perform rowhouse.keep_super_admin(person);
    delete from rowhouse.password_links where user_id = person.id;
  end if;
  update rowhouse.users set disabled_at = case when disabled then coalesce(disabled_at, now()) end where id = person.id;
  delete from rowhouse.sessions where user_id = person.id and disabled;
  insert into rowhouse.audit (actor, action, user_id)
  values (who, case when disabled then 'disable' else 'enable' end, person.id);
end
$$;

grant select (id, email, display_name, avatar_url, console_role, disabled_at) on rowhouse.users to rowhouse_service;
grant select on rowhouse.grants, rowhouse.password_links to rowhouse_service;
grant select, delete, update (last_seen_at) on rowhouse.sessions to rowhouse_service;
grant insert on rowhouse.audit to rowhouse_service;
grant execute on function rowhouse.begin_sign_in(text, text, text, integer, integer, integer, integer),
  rowhouse.finish_sign_in(uuid, text, text, text, text, text, text, integer, text, text),
  rowhouse.use_password_link(text, text) to rowhouse_service;
`;
