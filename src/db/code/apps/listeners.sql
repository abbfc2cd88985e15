-- Listeners record which rows of an app changed, and what they were before. They are statement
-- triggers, so that cascades of references count too, and writers do not know them. Because their
-- transition tables cost each write a few microseconds, only tables that a listening app uses have
-- them: one whose live updates or history is on. `rowhouse.listened` has the form of all.
--
-- A write function sets rowhouse.listens for its transaction, in both directions, from the proof:
-- 'live', if its app has live updates; then who calls, if it has a history; then on a second line
-- the table and ids that a delete names. Nothing else sets it: the copies of a retyped column,
-- deferred builds and commands record nothing, and neither do functions of releases before
-- listeners, which record on their own.

grant usage on schema rowhouse to rowhouse_listener;
grant insert on rowhouse.changes, rowhouse.row_changes to rowhouse_listener;

-- Their functions cost each write of a listening app, so they set no search path, which takes ten
-- microseconds: every name has its schema, or a $, as no column of an app has. They compile once
-- for each table, and their plans, which PostgreSQL makes for one row, are right for many.

create function rowhouse.listen_to_insert() returns trigger language plpgsql security definer as $$
declare
  "$listens" constant pg_catalog.text := pg_catalog.current_setting('rowhouse.listens');
  "$is_live" constant pg_catalog.bool := pg_catalog.starts_with("$listens", 'live');
  "$actor" constant pg_catalog.text := pg_catalog.substr("$listens",
    case when "$is_live" then 6 else 1 end);
begin
  if "$is_live" then
    -- Above so many rows of a statement, live updates read their table again.
    insert into rowhouse."changes" ("app_id", "table_name", "row_id")
    select "$rows"."app_id", "listen_to_insert"."tg_table_name", "$rows"."$id"
    from (select pg_catalog.count(*) operator(pg_catalog.>) ${MAX_ROWS} as "$many"
      from (select from "$became" limit ${MAX_ROWS} operator(pg_catalog.+) 1) as "$few") as "$all"
    cross join lateral (
      select "$became"."app_id", case when not "$all"."$many" then "$became"."id" end as "$id"
      from "$became" limit case when "$all"."$many" then 1 else ${MAX_ROWS} end) as "$rows";
  end if;
  -- Not those of keys: an app that creates many rows would push out its changes.
  if pg_catalog.starts_with("$actor", 'console ')
    or pg_catalog.starts_with("$actor", 'person ') then
    insert into rowhouse."row_changes" ("app_id", "table_name", "row_id", "changed_by", "before",
      "after", "bytes", "is_created")
    select "$became"."app_id", "listen_to_insert"."tg_table_name", "$became"."id", "$actor", '{}',
      '{}', ${CHANGE_BYTES}, true
    from "$became";
  end if;
  return null;
end
$$;

create function rowhouse.listen_to_update() returns trigger language plpgsql security definer as $$
declare
  "$listens" constant pg_catalog.text := pg_catalog.current_setting('rowhouse.listens');
  "$is_live" constant pg_catalog.bool := pg_catalog.starts_with("$listens", 'live');
  "$actor" constant pg_catalog.text := pg_catalog.substr(
    pg_catalog.split_part("$listens", e'\n', 1), case when "$is_live" then 6 else 1 end);
begin
  if "$is_live" then
    insert into rowhouse."changes" ("app_id", "table_name", "row_id")
    select "$rows"."app_id", "listen_to_update"."tg_table_name", "$rows"."$id"
    from (select pg_catalog.count(*) operator(pg_catalog.>) ${MAX_ROWS} as "$many"
      from (select from "$became" limit ${MAX_ROWS} operator(pg_catalog.+) 1) as "$few") as "$all"
    cross join lateral (
      select "$became"."app_id", case when not "$all"."$many" then "$became"."id" end as "$id"
      from "$became" limit case when "$all"."$many" then 1 else ${MAX_ROWS} end) as "$rows";
  end if;
  if "$actor" operator(pg_catalog.<>) '' then
    insert into rowhouse."row_changes" ("app_id", "table_name", "row_id", "changed_by", "before",
      "after", "bytes", "is_caused")
    select "$changed"."app_id", "listen_to_update"."tg_table_name", "$changed"."id", "$actor",
      "$changed"."$before", "$changed"."$after",
      ${CHANGE_BYTES} operator(pg_catalog.+) pg_catalog.pg_column_size("$changed"."$before")
        operator(pg_catalog.+) pg_catalog.pg_column_size("$changed"."$after"),
      pg_catalog.strpos("$listens", e'\n') operator(pg_catalog.>) 0
    from (
      select "$all"."app_id", "$all"."id", "$old" operator(pg_catalog.-) "$same" as "$before",
        "$new" operator(pg_catalog.-) "$same" as "$after"
      from (
        select "$both"."app_id", "$both"."id", "$old", "$new", array(
          select "$key" from (select pg_catalog.jsonb_object_keys("$new") as "$key") as "$keys"
          where pg_catalog.starts_with("$key", '#')
            or ("$old" operator(pg_catalog.->) "$key")
              operator(pg_catalog.=) ("$new" operator(pg_catalog.->) "$key")
            -- As texts: 1.5 and 1.50 are different.
            and (pg_catalog.jsonb_typeof("$new" operator(pg_catalog.->) "$key")
                operator(pg_catalog.=) 'string'
              or ("$old" operator(pg_catalog.->) "$key")::pg_catalog.text operator(pg_catalog.=)
                ("$new" operator(pg_catalog.->) "$key")::pg_catalog.text)) as "$same"
        from (
          select "$left"."app_id", "$left"."id", pg_catalog.to_jsonb("$left"."$row") as "$old",
            pg_catalog.to_jsonb("$right"."$row") as "$new"
          -- By their positions: a delete that clears two references of a row has it twice. Each row
          -- is in both, and PostgreSQL never does a full join by a loop in a loop.
          from (select "$was"."app_id", "$was"."id", "$was" as "$row",
              pg_catalog.row_number() over () as "$place" from "$was") as "$left"
          full join (select "$became" as "$row", pg_catalog.row_number() over () as "$place"
              from "$became") as "$right"
            on "$left"."$place" operator(pg_catalog.=) "$right"."$place"
          where pg_catalog.record_image_ne("$left"."$row", "$right"."$row") is not false
          offset 0) as "$both"
        offset 0) as "$all"
      offset 0) as "$changed"
    where "$changed"."$after" operator(pg_catalog.<>) '{}';
  end if;
  return null;
end
$$;

create function rowhouse.listen_to_delete() returns trigger language plpgsql security definer as $$
declare
  "$listens" constant pg_catalog.text := pg_catalog.current_setting('rowhouse.listens');
  "$is_live" constant pg_catalog.bool := pg_catalog.starts_with("$listens", 'live');
  "$actor" constant pg_catalog.text := pg_catalog.substr(
    pg_catalog.split_part("$listens", e'\n', 1), case when "$is_live" then 6 else 1 end);
  "$named" constant pg_catalog.text := pg_catalog.split_part("$listens", e'\n', 2);
  "$ids" pg_catalog.uuid[];
begin
  if "$is_live" then
    insert into rowhouse."changes" ("app_id", "table_name", "row_id")
    select "$rows"."app_id", "listen_to_delete"."tg_table_name", "$rows"."$id"
    from (select pg_catalog.count(*) operator(pg_catalog.>) ${MAX_ROWS} as "$many"
      from (select from "$was" limit ${MAX_ROWS} operator(pg_catalog.+) 1) as "$few") as "$all"
    cross join lateral (
      select "$was"."app_id", case when not "$all"."$many" then "$was"."id" end as "$id"
      from "$was" limit case when "$all"."$many" then 1 else ${MAX_ROWS} end) as "$rows";
  end if;
  if "$actor" operator(pg_catalog.<>) '' then
    if pg_catalog.split_part("$named", ' ', 1)
      operator(pg_catalog.=) "listen_to_delete"."tg_table_name" then
      "$ids" := pg_catalog.string_to_array(pg_catalog.split_part("$named", ' ', 2), ',');
    end if;
    insert into rowhouse."row_changes" ("app_id", "table_name", "row_id", "changed_by", "before",
      "bytes", "is_caused")
    select "$gone"."app_id", "listen_to_delete"."tg_table_name", "$gone"."id", "$actor",
      "$gone"."$before",
      ${CHANGE_BYTES} operator(pg_catalog.+) pg_catalog.pg_column_size("$gone"."$before"),
      ("$gone"."id" operator(pg_catalog.=) any ("$ids")) is not true
    from (
      select "$all"."app_id", "$all"."id", "$old" operator(pg_catalog.-) array(
        select "$key" from (select pg_catalog.jsonb_object_keys("$old") as "$key") as "$keys"
        where "$key" operator(pg_catalog.=) any ('{id,app_id}')
          or pg_catalog.starts_with("$key", '#')) as "$before"
      from (select "$was"."app_id", "$was"."id", pg_catalog.to_jsonb("$was") as "$old" from "$was"
        offset 0) as "$all"
      offset 0) as "$gone";
  end if;
  return null;
end
$$;
grant execute on function rowhouse.listen_to_insert, rowhouse.listen_to_update,
  rowhouse.listen_to_delete to rowhouse_listener;

grant create on schema rowhouse to rowhouse_listener;
alter function rowhouse.listen_to_insert owner to rowhouse_listener;
alter function rowhouse.listen_to_update owner to rowhouse_listener;
alter function rowhouse.listen_to_delete owner to rowhouse_listener;
revoke create on schema rowhouse from rowhouse_listener;

create trigger listen_to_insert after insert on rowhouse.listened
  referencing new table as "$became" for each statement
  when (current_setting('rowhouse.listens', true) <> ''
    and not starts_with(current_setting('rowhouse.listens', true), 'key '))
  execute function rowhouse.listen_to_insert();
create trigger listen_to_update after update on rowhouse.listened
  referencing old table as "$was" new table as "$became"
  for each statement when (current_setting('rowhouse.listens', true) <> '')
  execute function rowhouse.listen_to_update();
create trigger listen_to_delete after delete on rowhouse.listened
  referencing old table as "$was"
  for each statement when (current_setting('rowhouse.listens', true) <> '')
  execute function rowhouse.listen_to_delete();

-- Whether listeners hear of an app with these switches. None do on a cluster, which replaces this.
create function rowhouse.is_listening(switches text[]) returns boolean language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select switches && ${LISTENING_SWITCHES}
$$;

-- The tables that listening apps use.
create function rowhouse.list_heard() returns setof text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select distinct table_name from rowhouse.registrations join rowhouse.apps on apps.id = app_id
  where rowhouse.is_listening(switches)
$$;

-- Whether an app that uses the table listens.
create function rowhouse.is_heard(wanted_table text) returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.registrations join rowhouse.apps on apps.id = app_id
    where table_name = wanted_table and rowhouse.is_listening(switches))
$$;

-- The listeners that these tables lack, by table.
create function rowhouse.find_missing(names text[])
returns table (on_table text, listener oid) language sql stable
set search_path = pg_catalog, pg_temp as $$
  select relname, wanted.oid from pg_class, pg_trigger as wanted
  where relname = any (names) and relnamespace = 'data'::regnamespace and relkind = 'r'
    and wanted.tgrelid = 'rowhouse.listened'::regclass and not wanted.tgisinternal
    and not exists (select from pg_trigger where pg_trigger.tgrelid = pg_class.oid
      and pg_trigger.tgname = wanted.tgname)
$$;

-- For `rowhouse migrate`: the tables that lack listeners, and all tables.
create function rowhouse.read_listeners(out unheard text[], out names text[])
language sql stable set search_path = pg_catalog, pg_temp as $$
  select array(select distinct on_table from rowhouse.find_missing(listed)
      where on_table in (select rowhouse.list_heard()) order by on_table), listed
  from (select array(select name from rowhouse.tables order by name) as listed) as recorded
$$;

-- For a push of an app that listens: the existing tables to lock, because they get listeners.
create function rowhouse.list_unheard(app uuid, names text[]) returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select array(select distinct on_table from rowhouse.find_missing(names))
  from rowhouse.apps where id = app and rowhouse.is_listening(switches)
$$;
grant execute on function rowhouse.list_unheard to rowhouse_tables;

-- Gives these tables the listeners that their apps need: all, or none if their locks need longer
-- than the limit. Only tables that lack some are locked; they stay readable. One session at a time
-- decides, and until it commits, so that a switch or push at the same moment counts.
create function rowhouse.fit_listeners(names text[], budget_ms integer) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off as $$
declare
  unheard text[];
  statement text;
begin
  perform set_config('lock_timeout', budget_ms || 'ms', true);
  perform pg_advisory_xact_lock(hashtextextended('rowhouse listeners', 0));
  unheard := array(select distinct on_table from rowhouse.find_missing(names)
    where rowhouse.is_heard(on_table) order by on_table);
  perform rowhouse.lock_tables(unheard, unheard, budget_ms);
  for statement in
    select replace(pg_get_triggerdef(listener), 'rowhouse.listened', format('data.%I', on_table))
    from rowhouse.find_missing(unheard)
  loop
    execute statement;
  end loop;
end
$$;

-- Removes the listeners that no app needs, without waiting: tables in use keep them, until
-- `rowhouse migrate` or another switch.
create function rowhouse.drop_listeners(names text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  unheard text;
  statement text;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('rowhouse listeners', 0)) then
    return;
  end if;
  for unheard in select distinct relname from pg_class join pg_trigger on tgrelid = pg_class.oid
    where relname = any (names) and relnamespace = 'data'::regnamespace and not tgisinternal
      and not rowhouse.is_heard(relname)
  loop
    begin
      execute format('lock table data.%I in access exclusive mode nowait', unheard);
      for statement in select format('drop trigger if exists %I on data.%I', tgname, unheard)
        from pg_trigger where tgrelid = 'rowhouse.listened'::regclass and not tgisinternal
      loop
        execute statement;
      end loop;
    exception when lock_not_available or undefined_table then
      null; -- in use, or dropped at this moment
    end;
  end loop;
end
$$;
