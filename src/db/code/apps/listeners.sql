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

-- Above so many rows of a statement, live updates read their table again.
create function rowhouse.listen_to_insert() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if starts_with(current_setting('rowhouse.listens'), 'live') then
    insert into rowhouse.changes (app_id, table_name, row_id)
    select distinct app_id, tg_table_name, case when total <= ${MAX_ROWS} then id end
    from (select app_id, id, count(*) over () as total from became) as changed;
  end if;
  return null;
end
$$;

create function rowhouse.listen_to_update() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  listens constant text := current_setting('rowhouse.listens');
  actor constant text := rowhouse.who_writes(listens);
  hidden text[];
  texts text[];
begin
  if starts_with(listens, 'live') then
    insert into rowhouse.changes (app_id, table_name, row_id)
    select distinct app_id, tg_table_name, case when total <= ${MAX_ROWS} then id end
    from (select app_id, id, count(*) over () as total from became) as changed;
  end if;
  if actor <> '' then
    select * into hidden, texts from rowhouse.form_of(tg_relid);
    insert into rowhouse.row_changes (app_id, table_name, row_id, changed_by, before, after, bytes,
      is_caused)
    select app_id, tg_table_name, id, actor, before, after,
      ${CHANGE_BYTES} + pg_column_size(before) + pg_column_size(after), strpos(listens, E'\n') > 0
    from (
      select was.app_id, was.id, rowhouse.values_of(to_jsonb(was), hidden, texts) as old_values,
        rowhouse.values_of(to_jsonb(became), hidden, texts) as new_values
      from was join became on became.app_id = was.app_id and became.id = was.id offset 0) as pairs
    cross join lateral (
      select jsonb_object_agg(key, earlier.value) as before,
        jsonb_object_agg(key, later.value) as after
      from jsonb_each(old_values) as earlier join jsonb_each(new_values) as later using (key)
      -- As texts: 1.5 and 1.50 in a JSON value are different.
      where earlier.value::text <> later.value::text) as changed
    where before is not null;
  end if;
  return null;
end
$$;

create function rowhouse.listen_to_delete() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  listens constant text := current_setting('rowhouse.listens');
  actor constant text := rowhouse.who_writes(listens);
  named constant text := split_part(listens, E'\n', 2);
  hidden text[];
  texts text[];
begin
  if starts_with(listens, 'live') then
    insert into rowhouse.changes (app_id, table_name, row_id)
    select distinct app_id, tg_table_name, case when total <= ${MAX_ROWS} then id end
    from (select app_id, id, count(*) over () as total from was) as changed;
  end if;
  if actor <> '' then
    select * into hidden, texts from rowhouse.form_of(tg_relid);
    insert into rowhouse.row_changes (app_id, table_name, row_id, changed_by, before, after, bytes,
      is_caused)
    select app_id, tg_table_name, id, actor, before, null, ${CHANGE_BYTES} + pg_column_size(before),
      split_part(named, ' ', 1) <> tg_table_name
        or id <> all (string_to_array(split_part(named, ' ', 2), ',')::uuid[])
    from (select app_id, id, rowhouse.values_of(to_jsonb(was), hidden, texts) as before
      from was offset 0) as gone;
  end if;
  return null;
end
$$;

-- The part of rowhouse.listens that says who calls; empty without a history.
create function rowhouse.who_writes(listens text) returns text language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select ltrim(regexp_replace(split_part(listens, E'\n', 1), '^live', ''))
$$;

-- The columns that a change does not name, and the decimals, which are texts in responses: a JSON
-- number would lose digits.
create function rowhouse.form_of(relation oid, out hidden text[], out texts text[])
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select array(select attname from pg_attribute where attrelid = relation
      and (attname in ('id', 'app_id') or attname like '#%')),
    array(select listed ->> 'name' from pg_class join rowhouse.tables on name = relname
      cross join jsonb_array_elements(definition -> 'columns') as listed
      where pg_class.oid = relation and listed ->> 'kind' = 'decimal')
$$;

-- The values of a row in the response format, without its ids and without columns of the service.
create function rowhouse.values_of(given jsonb, hidden text[], texts text[]) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when texts = '{}' then given - hidden
    else given - hidden || coalesce((select jsonb_object_agg(name, given ->> name)
      from unnest(texts) as listed (name)), '{}') end
$$;
grant execute on function rowhouse.listen_to_insert, rowhouse.listen_to_update,
  rowhouse.listen_to_delete, rowhouse.who_writes, rowhouse.form_of, rowhouse.values_of
  to rowhouse_listener;

grant create on schema rowhouse to rowhouse_listener;
alter function rowhouse.listen_to_insert owner to rowhouse_listener;
alter function rowhouse.listen_to_update owner to rowhouse_listener;
alter function rowhouse.listen_to_delete owner to rowhouse_listener;
revoke create on schema rowhouse from rowhouse_listener;

create trigger listen_to_insert after insert on rowhouse.listened referencing new table as became
  for each statement when (current_setting('rowhouse.listens', true) <> '')
  execute function rowhouse.listen_to_insert();
create trigger listen_to_update after update on rowhouse.listened
  referencing old table as was new table as became
  for each statement when (current_setting('rowhouse.listens', true) <> '')
  execute function rowhouse.listen_to_update();
create trigger listen_to_delete after delete on rowhouse.listened referencing old table as was
  for each statement when (current_setting('rowhouse.listens', true) <> '')
  execute function rowhouse.listen_to_delete();

-- Whether an app that uses the table listens.
create function rowhouse.is_heard(wanted_table text) returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.registrations join rowhouse.apps on apps.id = app_id
    where table_name = wanted_table and switches && '{live,history}')
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
      where rowhouse.is_heard(on_table) order by on_table), listed
  from (select array(select name from rowhouse.tables order by name) as listed) as recorded
$$;

-- For a push of an app that listens: the existing tables to lock, because they get listeners.
create function rowhouse.list_unheard(app uuid, names text[]) returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select array(select distinct on_table from rowhouse.find_missing(names))
  from rowhouse.apps where id = app and switches && '{live,history}'
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
