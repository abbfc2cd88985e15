-- Finds the session of a browser. A serving login gets results only for sessions that it can
-- prove, and cannot change sessions directly.

-- Writes the audit log at most once an hour for each pair of presented live sessions: a browser
-- should have only one.
create function rowhouse.record_session_conflict(live_ids text[]) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  with pairs as (
    select low as first_id, high as second_id from unnest(live_ids) as low
      join unnest(live_ids) as high on low < high
  ), conflicts as (
    insert into rowhouse.session_conflicts as seen (first_id, second_id)
    select first_id, second_id from pairs where not exists (
      select from rowhouse.session_conflicts as recent
        where recent.recorded_at > now() - interval '1 hour'
        and recent.first_id = pairs.first_id and recent.second_id = pairs.second_id)
    order by first_id, second_id
    on conflict (first_id, second_id) do update set recorded_at = now()
      where seen.recorded_at <= now() - interval '1 hour'
    returning first_id
  ), recorded as (
    insert into rowhouse.audit (actor, action, user_id, details)
    select 'browser', 'session_conflict', case when count(distinct user_id) = 1
      then min(user_id::text)::uuid end,
      jsonb_build_object('sessions', count(*))
    from rowhouse.sessions where id = any (live_ids)
      and exists (select from conflicts) having count(*) > 1
  )
  delete from rowhouse.session_conflicts where (first_id, second_id) in (
    select first_id, second_id from rowhouse.session_conflicts as old
    where exists (select from conflicts) and recorded_at <= now() - interval '1 hour'
      and not exists (select from pairs where pairs.first_id = old.first_id
        and pairs.second_id = old.second_id)
    order by recorded_at limit 200 for update skip locked)
$$;

-- Ends every session that is presented with either of its secrets; only the audit log entry
-- remains. A serving login that could delete rows directly could also lock the whole table.
create function rowhouse.sign_out(presented text, client_address text) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  with ended as (
    delete from rowhouse.sessions using unnest(string_to_array(presented, ',')) as pair
    where sessions.id = split_part(pair, '.', 1)
      and sha256(decode(split_part(pair, '.', 2), 'hex') || uuid_send(sessions.user_id))
        in (sessions.session_digest, sessions.identity_digest)
    returning sessions.user_id
  )
  select rowhouse.log(user_id::text, 'sign_out', person => user_id,
    client => nullif(client_address, ''))
  from ended
$$;
grant execute on function rowhouse.sign_out to rowhouse_service, rowhouse_identity;

-- The live session that a browser presents in a list of <id>.<proof>. If the list has two live
-- sessions, returns none, because the intended session is unknown. Ignores rows without a valid
-- proof.
create function rowhouse.find_session(
  presented text, idle_s integer,
  out live integer, out session_id text, out person_id uuid, out identity_digest bytea
) language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  pair text;
  found_session record;
  live_ids text[] := '{}';
  seen_at timestamptz;
  -- A short idle limit must not end a session in use.
  renewed_before timestamptz := now() - make_interval(secs => least(60, idle_s / 2));
begin
  foreach pair in array string_to_array(presented, ',') loop
    select sessions.id, sessions.user_id, sessions.identity_digest, sessions.last_seen_at
    into found_session
    from rowhouse.sessions join rowhouse.users on users.id = sessions.user_id
    where sessions.id = split_part(pair, '.', 1)
      and sessions.session_digest = sha256(decode(split_part(pair, '.', 2), 'hex')
        || uuid_send(sessions.user_id))
      and rowhouse.is_active(users.disabled_at) and sessions.expires_at > clock_timestamp()
      and sessions.last_seen_at > clock_timestamp() - make_interval(secs => idle_s);
    if found and found_session.id <> all (live_ids) then
      live_ids := live_ids || found_session.id;
      session_id := found_session.id;
      person_id := found_session.user_id;
      identity_digest := found_session.identity_digest;
      seen_at := found_session.last_seen_at;
    end if;
  end loop;
  live := cardinality(live_ids);
  if live > 1 then
    session_id := null;
    person_id := null;
    identity_digest := null;
    perform rowhouse.record_session_conflict(live_ids);
  elsif seen_at < renewed_before then
    -- Records its use, usually at most once a minute, without waiting for locks.
    update rowhouse.sessions set last_seen_at = now() where sessions.id in (
      select id from rowhouse.sessions where sessions.id = find_session.session_id
        and last_seen_at < renewed_before
      for update skip locked);
  end if;
end
$$;
grant execute on function rowhouse.find_session to rowhouse_service, rowhouse_identity;

-- Parses a list of <id>.<proof>: each id with its proof.
create function rowhouse.split_presented(presented text) returns table (id text, proof bytea)
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select distinct split_part(text, '.', 1), decode(split_part(text, '.', 2), 'hex')
  from unnest(string_to_array(presented, ',')) as text
$$;

-- A person's role on an app as the service needs it: the role, the provider whose claim granted
-- it, and its proof.
create function rowhouse.stored_grant(person uuid, app uuid) returns json language sql stable
set search_path = pg_catalog, pg_temp as $$
  select json_build_array(role, provider, encode(digest, 'hex'), secret_id)
  from rowhouse.grants where user_id = person and app_id = app
$$;

-- The visitor of the pages, which require both cookies of one session; the app with this slug, if
-- given, and the first apps of the visitor whose slugs contain a text; no apps if the text is
-- null.
create function rowhouse.read_page_session(
  presented text, presented_identity text, idle_s integer, app_slug text, app_search text,
  max_rows integer, out live integer, out visitor jsonb, out app jsonb, out apps jsonb
) language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  found_session record;
  person uuid;
begin
  select * into found_session from rowhouse.find_session(presented, idle_s);
  live := found_session.live;
  if exists (select from rowhouse.split_presented(presented_identity) as pair
    where pair.id = found_session.session_id and found_session.identity_digest
      = sha256(pair.proof || uuid_send(found_session.person_id))) then
    person := found_session.person_id;
  end if;
  visitor := (select jsonb_build_object('id', id, 'email', email, 'displayName', display_name,
      'isAdministrator', console_role is not null, 'factorDueAt', rowhouse.factor_due_at(id),
      'isFactorOverdue', rowhouse.is_factor_overdue(id),
      'isFresh', rowhouse.is_fresh(found_session.session_id))
    from rowhouse.users where id = person);
  app := rowhouse.find_return_app(app_slug);
  apps := (select coalesce(jsonb_agg(jsonb_build_object('slug', listed.slug, 'appId', listed.id,
      'isAdministrator', users.console_role is not null,
      'grant', rowhouse.stored_grant(users.id, listed.id),
      'url', (select min(origin) from rowhouse.targets where app_id = listed.id))
      order by listed.slug), '[]')
    from (select id, console_role from rowhouse.users where id = person) as users
    cross join lateral (select known.id, slug from rowhouse.apps as known
      where strpos(slug, app_search) > 0 and disabled_at is null
        and (users.console_role is not null or exists (select from rowhouse.grants
          where grants.user_id = users.id and grants.app_id = known.id))
      order by slug limit max_rows) as listed);
end
$$;
comment on function rowhouse.read_page_session is 'idempotent; null visitor, app';

grant execute on function rowhouse.split_presented, rowhouse.stored_grant,
  rowhouse.read_page_session to rowhouse_service, rowhouse_identity;
