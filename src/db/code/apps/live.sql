-- Live updates: which rows of live apps changed, by id and without content. Functions that write
-- rows record changes if PREVIEW includes "live" and the app is live. Under the tenant's policy,
-- like rows.
--
-- A cursor is a snapshot: every change that the snapshot does not show is new. So neither the order
-- of commits nor a long transaction hides a change. Changes are stored for one to two periods of
-- CHANGE_LIFE_S.
--
-- A snapshot counts the writes of all apps. So processes encrypt the cursors that they send, each
-- app's with its own key.

create policy tenant on rowhouse.changes for all to public
  using (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)
  with check (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true),
    '')::pg_catalog.uuid);
grant select, insert on rowhouse.changes to rowhouse_tenant;
grant select (is_only, name, floor) on rowhouse.change_feed to rowhouse_tenant;

-- The start of every cursor: a restored database, a promoted standby and another cluster each have
-- their own transaction ids.
create function rowhouse.feed_name() returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select concat(name, '-', to_hex(system_identifier), '-',
    ltrim(left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), '0'))
  from rowhouse.change_feed, pg_control_system() where is_only
$$;
grant execute on function rowhouse.feed_name to rowhouse_tenant;

-- For a process with event streams: the feed and the secret of its cursors.
create function rowhouse.cursor_secret() returns jsonb language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('feed', rowhouse.feed_name(), 'secret', encode(secret, 'hex'))
  from rowhouse.change_feed where is_only
$$;
grant execute on function rowhouse.cursor_secret to rowhouse_service, rowhouse_data;

-- The key for the cursors of one app.
create function rowhouse.cursor_key(app uuid) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select encode(sha256(secret || uuid_send(app)), 'hex') from rowhouse.change_feed where is_only
$$;

-- The snapshot of a cursor; null if changes since then have been deleted, or if the cursor is of
-- another set of columns. The Console's first cursor has no set.
create function rowhouse.read_cursor(cursor text, columns text default null)
returns pg_snapshot language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  since pg_snapshot;
begin
  if split_part(cursor, '.', 1) <> rowhouse.feed_name()
    or split_part(cursor, '.', 3) not in ('', columns) then
    return null;
  end if;
  since := split_part(cursor, '.', 2)::pg_snapshot;
  return (select since from rowhouse.change_feed where is_only
    and pg_snapshot_xmin(since) >= floor
    and pg_snapshot_xmax(since) <= pg_snapshot_xmax(pg_current_snapshot()));
exception when invalid_text_representation then
  return null;
end
$$;
grant execute on function rowhouse.read_cursor to rowhouse_tenant;

-- For a process with subscribers, by the app and the proof of each key, ordered by app: the
-- current state, the tables of these apps that changed since the last call, and the positions of
-- keys that can no longer read changes. Each app is read as that app, after the first valid proof.
create function rowhouse.poll_changes(since text, apps uuid[], presented_proofs bytea[])
returns table (state text, changed jsonb, ended integer[])
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  app uuid;
  read_app uuid;
  before constant pg_snapshot := rowhouse.read_cursor(since);
begin
  -- Before the changes are read: changes that commit now are found again by the next call.
  state := rowhouse.feed_name() || '.' || pg_current_snapshot()::text;
  changed := '[]';
  ended := '{}';
  for ordinal in 1 .. cardinality(apps) loop
    if app is distinct from apps[ordinal] then
      app := apps[ordinal];
      perform rowhouse.enter_app(app);
    end if;
    if not exists (select from rowhouse.proofs where app_id = app
        and digest = sha256(presented_proofs[ordinal])
        and scopes & ${LIVE_BIT}::smallint <> 0
        and scopes & (1 | ${PERSON_BIT})::smallint <> 0
        and expires_at > clock_timestamp()) then
      ended := ended || (ordinal - 1);
    elsif read_app is distinct from app then
      read_app := app;
      changed := changed || coalesce((select jsonb_agg(jsonb_build_array(app, found.table_name))
        from (select '' as table_name where since is not null and before is null
          union
          select table_name from rowhouse.changes
          where app_id = app and xid >= pg_snapshot_xmin(before)
            and not pg_visible_in_snapshot(xid, before)) as found), '[]');
    end if;
  end loop;
  return next;
end
$$;
comment on function rowhouse.poll_changes is 'idempotent';
grant execute on function rowhouse.poll_changes to rowhouse_service, rowhouse_data;

-- Moves the floor once a retention period has passed, and deletes at most max_rows changes below
-- it; returns their number. Continues with the app after the one where the last call ended, so that
-- a busy app does not keep the others unswept. A dump from another cluster contains changes of
-- transactions that are in the future here.
create function rowhouse.sweep_changes(max_rows integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
  last_app uuid;
  past xid8;
  swept integer := 0;
  swept_here integer;
begin
  if not exists (select from rowhouse.apps where 'live' = any (switches)) then
    return 0;
  end if;
  perform set_config('enable_seqscan', 'off', true);
  update rowhouse.change_feed set
    floor = case when greatest(floor, next_floor) > pg_snapshot_xmax(pg_current_snapshot())
      then pg_snapshot_xmin(pg_current_snapshot()) else next_floor end,
    next_floor = pg_snapshot_xmin(pg_current_snapshot()), floor_at = now()
  where floor_at < now() - interval '${CHANGE_LIFE_S} seconds'
    or greatest(floor, next_floor) > pg_snapshot_xmax(pg_current_snapshot());
  select floor, swept_app into past, last_app from rowhouse.change_feed;
  for app in select id from rowhouse.apps where 'live' = any (switches)
    order by coalesce(id <= last_app, false), id
  loop
    exit when swept >= max_rows;
    last_app := app;
    perform rowhouse.enter_app(app);
    delete from rowhouse.changes where app_id = app and ctid = any (array(
      select ctid from rowhouse.changes where app_id = app
        and (xid < past or xid >= pg_snapshot_xmax(pg_current_snapshot())) limit max_rows - swept));
    get diagnostics swept_here = row_count;
    swept := swept + swept_here;
  end loop;
  update rowhouse.change_feed set swept_app = last_app where swept_app is distinct from last_app;
  return swept;
end
$$;
comment on function rowhouse.sweep_changes is 'idempotent';
grant execute on function rowhouse.sweep_changes to rowhouse_service, rowhouse_data;

-- Makes the readers of an app's changes read everything again.
create function rowhouse.reset_changes(app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.enter_app(app);
  insert into rowhouse.changes (app_id, table_name) values (app, '');
end
$$;

-- After live updates were turned on or off.
create function rowhouse.start_live(app uuid, is_on boolean) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if is_on then
    perform rowhouse.reset_changes(app);
  else
    delete from rowhouse.changes where app_id = app;
  end if;
end
$$;
