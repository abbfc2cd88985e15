-- The history of rows: who or what changed or deleted a row, and its values before. Functions that
-- write rows record it if PREVIEW includes "history" and the app has a history, in their own
-- transaction. Under the tenant's policy, like rows. They cannot read it: only the Console does,
-- for an administrator (console/history.sql).

create policy tenant on rowhouse.row_changes for all to public
  using (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)
  with check (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true),
    '')::pg_catalog.uuid);
grant insert on rowhouse.row_changes to rowhouse_tenant;

-- After the history of an app was turned on or off.
create function rowhouse.start_history(app uuid, is_on boolean) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if not is_on then
    delete from rowhouse.row_changes where app_id = app;
    delete from rowhouse.history_edits where app_id = app;
  end if;
end
$$;

-- Sets how many days the history of an app goes back; null: the default.
create function rowhouse.set_history_days(app_slug text, days integer, actor text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  before rowhouse.apps;
begin
  select * into before from rowhouse.apps where slug = app_slug for no key update;
  if before.id is null then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  update rowhouse.apps set history_days = days where id = before.id;
  perform rowhouse.log(actor, 'set_history_days', app => app_slug,
    details => jsonb_build_object('before', before.history_days, 'after', days));
end
$$;

-- The highest id of a recorded change.
create function rowhouse.last_history_id() returns bigint language sql volatile
set search_path = pg_catalog, pg_temp as $$
  select last_value from rowhouse.row_changes_id_seq
$$;

-- For a push that renames (with a new name) or drops a column or a table: no change before it is
-- shown until the sweep has applied it. The push holds the lock on the table, so that every write
-- before it has recorded its changes.
create function rowhouse.edit_history(app uuid, wanted_table text, wanted_column text,
  wanted_name text) returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from rowhouse.tables where name = wanted_table and owner_app_id = app) then
    raise exception 'not a table of this app' using errcode = 'RH007';
  end if;
  insert into rowhouse.history_edits (app_id, table_name, column_name, new_name, until)
  select app_id, wanted_table, wanted_column, wanted_name, rowhouse.last_history_id()
  from rowhouse.registrations join rowhouse.apps on apps.id = app_id
  where table_name = wanted_table and 'history' = any (switches) order by app_id;
end
$$;
grant execute on function rowhouse.edit_history to rowhouse_tables;

-- An app no longer uses a table: its changes are deleted.
create function rowhouse.end_history_of_table() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into rowhouse.history_edits (app_id, table_name, until)
  select id, old.table_name, rowhouse.last_history_id() from rowhouse.apps
  where id = old.app_id and 'history' = any (switches);
  return null;
end
$$;
create trigger end_history_of_table after delete on rowhouse.registrations
  for each row execute function rowhouse.end_history_of_table();

-- The tables with changes of the app, each by one search of the index.
create function rowhouse.history_tables(app uuid) returns setof text language sql stable
set search_path = pg_catalog, pg_temp as $$
  with recursive found (name) as (
    (select table_name from rowhouse.row_changes where app_id = app order by table_name limit 1)
    union all
    select (select table_name from rowhouse.row_changes
      where app_id = app and table_name > found.name order by table_name limit 1)
    from found where name is not null)
  select name from found where name is not null
$$;

-- Applies the app's first edit to at most max_rows changes, in their order, so that each is visited
-- once; returns how many rows it wrote.
create function rowhouse.apply_history_edit(app uuid, max_rows integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  edit rowhouse.history_edits;
  last bigint;
  edited integer;
begin
  select * into edit from rowhouse.history_edits where app_id = app
    order by id limit 1 for update skip locked;
  if edit.id is null then
    return 0;
  end if;
  select max(id) into last from (
    select id from rowhouse.row_changes
    where app_id = app and table_name = edit.table_name and id > edit.done and id <= edit.until
    order by id limit max_rows) as part;
  if last is null then
    delete from rowhouse.history_edits where id = edit.id;
    return 1;
  elsif edit.column_name is not null then
    update rowhouse.row_changes set
      before = rowhouse.edit_values(before, edit.column_name, edit.new_name),
      after = rowhouse.edit_values(after, edit.column_name, edit.new_name)
    where app_id = app and table_name = edit.table_name and id > edit.done and id <= last;
  elsif edit.new_name is not null then
    update rowhouse.row_changes set table_name = edit.new_name
    where app_id = app and table_name = edit.table_name and id > edit.done and id <= last;
  else
    delete from rowhouse.row_changes
    where app_id = app and table_name = edit.table_name and id > edit.done and id <= last;
  end if;
  get diagnostics edited = row_count;
  update rowhouse.history_edits set done = last where id = edit.id;
  return edited + 1;
end
$$;

-- Values without a column, or with its new name.
create function rowhouse.edit_values(given jsonb, old_name text, new_name text) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when given ? old_name and new_name is not null
    then given - old_name || jsonb_build_object(new_name, given -> old_name)
    else given - old_name end
$$;

-- Deletes at most about max_rows changes: those that are older than the app's days, and the oldest
-- above max_bytes of the people and keys with more than their share; never because the preview is
-- off. max_bytes is at least the service's own: a stolen login must not remove traces. Applies
-- edits first. Returns the number of written rows; a step that writes nothing is the last. Never
-- waits for a write: no write changes these rows. Bounded for any number of changes: it looks at
-- the oldest of each table, and measures apps in any order until it has read 100 changes for each
-- row it may write; the others follow later.
create function rowhouse.sweep_history(max_rows integer, max_bytes bigint) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  app rowhouse.apps;
  name text;
  oldest timestamptz;
  swept integer := 0;
  swept_here integer;
  measured bigint := 0;
  size record;
begin
  max_bytes := greatest(max_bytes, ${HISTORY_BYTES});
  perform set_config('enable_seqscan', 'off', true);
  -- In any order, so that a busy app does not keep the others unswept.
  for app in select * from rowhouse.apps where 'history' = any (switches) order by random()
  loop
    perform rowhouse.enter_app(app.id);
    swept := swept + rowhouse.apply_history_edit(app.id, max_rows - swept);
    exit when swept >= max_rows;
    oldest := now() - make_interval(days => coalesce(app.history_days, ${HISTORY_DAYS}));
    if measured < max_rows * 100::bigint then
      select count(*) as changes, sum(bytes) as total into size
        from rowhouse.row_changes where app_id = app.id;
      measured := measured + size.changes;
      if size.total > max_bytes then
        swept := swept + rowhouse.sweep_shares(app.id, max_rows - swept, max_bytes);
        exit when swept >= max_rows;
      end if;
    end if;
    for name in select * from rowhouse.history_tables(app.id) loop
      -- The ids follow the times, except among writes at the same moment.
      continue when not exists (select from (
          select id, changed_at from rowhouse.row_changes
          where app_id = app.id and table_name = name order by id limit 10) as part
        where changed_at < oldest);
      delete from rowhouse.row_changes where app_id = app.id and table_name = name
        and ctid = any (array(select ctid from (
          select ctid, id, changed_at from rowhouse.row_changes
          where app_id = app.id and table_name = name
          order by id limit max_rows - swept for update skip locked) as part
          where changed_at < oldest));
      get diagnostics swept_here = row_count;
      swept := swept + swept_here;
      exit when swept >= max_rows;
    end loop;
    exit when swept >= max_rows;
  end loop;
  return swept;
end
$$;
comment on function rowhouse.sweep_history is 'idempotent';
grant execute on function rowhouse.sweep_history to rowhouse_service, rowhouse_data;

-- Deletes at most max_rows changes of an app with more than max_bytes: the oldest of each person or
-- key (without the act of the Console) above an equal share of the bytes, of which those with less
-- leave the rest to the others. So no one can remove what others did. A tenth below the limit, so
-- that the next changes fit too. The creation of a row whose later changes are deleted is marked.
create function rowhouse.sweep_shares(app uuid, max_rows integer, max_bytes bigint) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  share constant bigint := (
    select max((max_bytes / 10 * 9 - smaller) / others) from (
      select size, sum(size) over placed - size as smaller, count(*) over (order by size desc,
        changed_by desc) as others
      from (select substring(changed_by from '^[^ ]+ [^ ]+') as changed_by, sum(bytes) as size
        from rowhouse.row_changes where app_id = app group by 1) as sizes
      window placed as (order by size, changed_by)) as ranked
    where size > (max_bytes / 10 * 9 - smaller) / others);
  swept integer;
begin
  with gone as (
    delete from rowhouse.row_changes where app_id = app and ctid = any (array(
      select ctid from rowhouse.row_changes where app_id = app and (table_name, id) in (
        select table_name, id from (
          select table_name, id, sum(bytes) over (
            partition by substring(changed_by from '^[^ ]+ [^ ]+') order by id desc) as total
          from rowhouse.row_changes where app_id = app) as measured
        where total > share order by id limit max_rows)
      for update skip locked))
    returning table_name, row_id, is_created),
  -- Another sweep deletes or marks those that it has locked.
  marked as (
    update rowhouse.row_changes set is_overtaken = true
    where app_id = app and ctid = any (array(
      select created.ctid from gone join rowhouse.row_changes as created
        on created.app_id = app and created.table_name = gone.table_name
        and created.row_id = gone.row_id
      where created.is_created and not created.is_overtaken and not gone.is_created
      for update of created skip locked)))
  select count(*) into swept from gone;
  return swept;
end
$$;
