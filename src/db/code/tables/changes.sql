-- Explicit changes of tables: renaming, dropping and retyping, which a push never does implicitly.

-- A process of 0.1.0 writes its horizon here, and reads it when it swaps the columns.
grant select, update (after, horizon) on rowhouse.retypes to rowhouse_tables;

-- Records that a copy of a column was added to a table of the app.
create function rowhouse.begin_retype(app uuid, wanted_table text, wanted jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.check_writes(app);
  if not exists (select from rowhouse.tables where name = wanted_table and owner_app_id = app) then
    raise exception 'not a table of this app' using errcode = 'RH007';
  end if;
  insert into rowhouse.retypes (table_name, app_id, change) values (wanted_table, app, wanted);
end
$$;

-- Records that the copy of a column was dropped, or replaced the column.
create function rowhouse.end_retype(app uuid, wanted_table text) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select rowhouse.check_writes(app);
  delete from rowhouse.retypes where table_name = wanted_table and app_id = app
$$;

-- Parses a time by the rules of a write: years 1 to 9999 in UTC, with an offset; null if it is
-- invalid.
create function rowhouse.read_time(value text) returns timestamptz language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz;
begin
  if value !~ ('^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3])(:[0-5][0-9]){2}([.][0-9]{1,9})?'
    || '(Z|[+-](0[0-9]|1[0-5]):[0-5][0-9])$')
  then
    return null;
  end if;
  -- PostgreSQL has no year 0. Its last hours can be year 1 in UTC.
  moment := case when left(value, 4) = '0000'
    then ('0001' || substr(value, 5))::timestamptz - interval '1 year' else value::timestamptz end;
  return case when moment >= '0001-01-01 00:00:00+00' and moment < '10000-01-01 00:00:00+00'
    then moment end;
exception when datetime_field_overflow or invalid_datetime_format or
  invalid_time_zone_displacement_value then
  return null;
end
$$;
grant execute on function rowhouse.begin_retype, rowhouse.end_retype, rowhouse.read_time
  to rowhouse_tables;

-- For the plan of an explicit change: the app's rows in a table, and how many of them fulfill the
-- condition on "$t", with the rights of the caller. No row if the key cannot read rows.
create function rowhouse.count_changed_rows(app uuid, presented_proof bytea, wanted_table text,
  condition text)
returns table (total bigint, affected bigint) language plpgsql
set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
begin
  if rowhouse.enter_to_count(app, presented_proof) then
    execute format('select count(*), count(*) filter (where %s) from data.%I as "$t"
      where "$t".app_id = $1', condition, wanted_table) into strict total, affected using app;
    return next;
  end if;
end
$$;
comment on function rowhouse.count_changed_rows is 'idempotent';
grant execute on function rowhouse.count_changed_rows to rowhouse_tables;

-- Runs before an explicit change of a table of the app: no build of the table may be in progress,
-- and no retype may have begun or ended since the plan. Deletes records of finished builds, because
-- the names that they built can change.
create function rowhouse.begin_change(app uuid, wanted_table text, is_retyped boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from rowhouse.tables where name = wanted_table and owner_app_id = app) then
    raise exception 'not a table of this app' using errcode = 'RH007';
  end if;
  if exists (select from rowhouse.retypes where table_name = wanted_table) <> is_retyped then
    raise exception 'a retype has begun or ended' using errcode = 'RH002';
  end if;
  if exists (select from rowhouse.deferred_steps where table_name = wanted_table
    and state in ('waiting', 'running'))
  then
    raise exception 'a build is in progress' using errcode = 'RH001';
  end if;
  delete from rowhouse.deferred_steps where table_name = wanted_table;
end
$$;

-- Last statement of a push with an explicit change of a table: removes column sets that no app
-- uses, whose functions the message has dropped. Removes a table that no longer exists, because it
-- was dropped or renamed, unless another app uses it.
create function rowhouse.record_change(app uuid, wanted_table text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  is_there boolean := exists (select from pg_class where relname = wanted_table
    and relkind in ('r', 'p') and relnamespace = 'data'::regnamespace);
begin
  if not exists (select from rowhouse.tables where name = wanted_table and owner_app_id = app) then
    raise exception 'not a table of this app' using errcode = 'RH007';
  end if;
  delete from rowhouse.column_sets
    where table_name = wanted_table and (unused_since is not null or not is_there);
  if is_there then
    return;
  end if;
  -- The message has dropped their functions.
  delete from rowhouse.views where table_name = wanted_table and app_id = app;
  delete from rowhouse.registrations where table_name = wanted_table and app_id = app;
  insert into rowhouse.ended_registrations (app_id, table_name, version)
  select app, wanted_table, version from rowhouse.versions where name = 'catalog'
  on conflict (app_id, table_name) do update set version = excluded.version;
  delete from rowhouse.tables where name = wanted_table;
end
$$;
grant execute on function rowhouse.begin_change, rowhouse.record_change to rowhouse_tables;
