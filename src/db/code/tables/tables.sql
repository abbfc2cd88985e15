-- Operators' actions on apps' tables outside of pushes: transfer a table to another app, end an
-- app's use of a table, drop an unused table. None of these functions is granted: only
-- administrators run them, and each statement writes the audit log.

grant select on rowhouse.ended_registrations to rowhouse_service, rowhouse_data;

-- A use that is registered again has not ended, even if another app registers it.
create function rowhouse.forget_end() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  delete from rowhouse.ended_registrations where app_id = new.app_id
    and table_name = new.table_name;
  return null;
end
$$;

create trigger forget_end after insert on rowhouse.registrations
  for each row execute function rowhouse.forget_end();

-- The tables that an app no longer uses; null without such a table.
create function rowhouse.ended_tables(app uuid) returns text[] language sql stable
set search_path = pg_catalog, pg_temp as $$
  select array_agg(table_name order by table_name) from (
    select table_name from rowhouse.registrations where app_id = app and is_ending
    union select table_name from rowhouse.ended_registrations where app_id = app) as ended
$$;

-- The functions of tables see ended uses in the proofs of keys, in the row that they read anyway:
-- a process that has not read the catalog stores no row that the app cannot see.
create function rowhouse.record_ends() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  app constant uuid := coalesce(new.app_id, old.app_id);
begin
  -- Creating a key locks the app's row.
  perform from rowhouse.apps where id = app for no key update;
  if found then
    perform rowhouse.enter_app(app);
    update rowhouse.proofs set ended = rowhouse.ended_tables(app) where app_id = app;
  end if;
  return null;
end
$$;

create trigger record_ends after update of is_ending on rowhouse.registrations
  for each row when (old.is_ending is distinct from new.is_ending)
  execute function rowhouse.record_ends();
create trigger record_ends after insert or delete on rowhouse.ended_registrations
  for each row execute function rowhouse.record_ends();

-- Acquires the locks of a push of these names without waiting.
create function rowhouse.lock_names(names text[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  lock_name text;
begin
  foreach lock_name in array names loop
    if not pg_try_advisory_xact_lock(hashtextextended('rowhouse push ' || lock_name, 0)) then
      raise exception 'a push is in progress' using errcode = 'RH001';
    end if;
  end loop;
end
$$;

-- For upserts of an app into a table: shared with the others, or alone after a collision. Owned by
-- the owner, because advisory locks can be revoked from all other roles. Nothing but app and table
-- chooses the lock, so that an app blocks only itself.
create function rowhouse.lock_upserts(app uuid, wanted_table text, is_alone boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  key constant bigint := hashtextextended('rowhouse upsert ' || app || ' ' || wanted_table, 0);
begin
  if is_alone then
    perform pg_advisory_xact_lock(key);
  else
    perform pg_advisory_xact_lock_shared(key);
  end if;
end
$$;
grant execute on function rowhouse.lock_upserts to rowhouse_tenant;

-- Transfers a table to an app that uses it; returns the slug of its previous owner.
-- action: admin, recent sign-in; logs "transferred ownership of a table", a change
create function rowhouse.transfer_table(wanted_table text, new_slug text, actor text) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  old_slug text;
  new_id uuid;
begin
  perform rowhouse.lock_names(array['table ' || wanted_table]);
  select slug into old_slug from rowhouse.tables join rowhouse.apps on apps.id = owner_app_id
    where name = wanted_table;
  if not found then
    raise exception 'no such table' using errcode = 'RH004';
  end if;
  new_id := (rowhouse.console_app(new_slug)).id;
  if not exists (select from rowhouse.registrations where app_id = new_id
    and table_name = wanted_table and not is_ending) then
    raise exception 'not a user of the table' using errcode = 'RH006';
  end if;
  update rowhouse.versions set version = version + 1 where name = 'catalog';
  update rowhouse.tables set owner_app_id = new_id,
    version = (select version from rowhouse.versions where versions.name = 'catalog')
  where name = wanted_table;
  update rowhouse.retypes set app_id = new_id where table_name = wanted_table;
  perform rowhouse.log(actor, 'transfer_table', app => new_slug,
    details => jsonb_build_object('table', wanted_table, 'from', old_slug));
  return old_slug;
end
$$;

-- The references between tables: an app's declared references or, without an app, all existing
-- references. A rule by memberships reads the table of memberships, as a reference does.
create function rowhouse.references_of(app uuid) returns table (child text, parent text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select distinct known.name, declared.item ->> 'table' from (
    select table_name, definition from rowhouse.registrations where app_id = app
    union all
    select tables.name, definition from rowhouse.tables where app is null
  ) as known (name, definition),
    jsonb_array_elements(known.definition -> 'columns') as declared (item)
  where declared.item ->> 'table' is not null
  union
  select table_name, memberships #>> '{}' from rowhouse.registrations,
    jsonb_path_query(definition -> 'rules', '$.**.memberOf') as read_by_rules (memberships)
  where app_id = app and jsonb_typeof(memberships) = 'string'
    and memberships #>> '{}' <> table_name
$$;

-- The tables in a table's circle of references, including itself: they are removed together. A
-- single table is a circle of one.
create function rowhouse.find_circle(wanted_table text, app uuid) returns text[] language sql stable
set search_path = pg_catalog, pg_temp as $$
  with recursive refs as materialized (select * from rowhouse.references_of(app)),
  up (name) as (select wanted_table union select child from up join refs on parent = name),
  down (name) as (select wanted_table union select parent from down join refs on child = name)
  select array_agg(name order by name) from up join down using (name)
$$;

-- Checks that no table outside of the circle references one of its tables.
create function rowhouse.check_circle(circle text[], app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from rowhouse.references_of(app) where parent = any (circle)
    and child <> all (circle)) then
    raise exception 'the table is referenced' using errcode = 'RH009';
  end if;
end
$$;

-- Starts to end an app's use of a table and of its circle: stores the job that deletes the app's
-- rows. The app immediately loses access to these tables; `end_rows_job` ends their use once the
-- rows are deleted. Without the confirmed names it only checks; if the names differ, it rejects
-- the call. If the end has already started, it continues.
-- action: admin, recent sign-in; logs end_registration = "stopped using a table", a change
create function rowhouse.begin_end_registration(
  app_slug text, wanted_table text, expected text[], actor text) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app uuid := (rowhouse.console_app(app_slug)).id;
  circle text[];
  next_version bigint;
  job_id uuid;
begin
  perform rowhouse.lock_names(array['app ' || app]);
  circle := rowhouse.find_circle(wanted_table, app);
  perform rowhouse.lock_names(array(select 'table ' || name from unnest(circle) as listed (name)));
  if not exists (select from rowhouse.tables where name = wanted_table) then
    raise exception 'no such table' using errcode = 'RH004';
  end if;
  if not exists (select from rowhouse.registrations where app_id = app
    and table_name = wanted_table) then
    raise exception 'not a user of the table' using errcode = 'RH006';
  end if;
  if exists (
    select from rowhouse.tables join rowhouse.registrations on table_name = name
    where name = any (circle) and owner_app_id = app and app_id <> app)
  then
    raise exception 'the app owns a table in use' using errcode = 'RH008';
  end if;
  perform rowhouse.check_circle(circle, app);
  -- Functions of other tables depend on the rules, and only a push generates functions.
  if exists (select from rowhouse.registrations where app_id = app and table_name = any (circle)
    and definition ? 'rules')
  then
    raise exception 'the table has rules' using errcode = 'RH029';
  end if;
  if expected is not null then
    if expected <> circle then
      raise exception 'changed by another push' using errcode = 'RH001';
    end if;
    update rowhouse.versions set version = version + 1
      where name = 'catalog' returning version into next_version;
    update rowhouse.registrations set is_ending = true, version = next_version
      where app_id = app and table_name = any (circle);
    -- Invalidates plans from before this end.
    update rowhouse.tables set version = next_version where name = any (circle);
    insert into rowhouse.row_jobs as under_way (app_id, tables, kind, actor, counts)
    values (app, circle, 'end_registration', actor,
      array_fill(0::bigint, array[cardinality(circle)]))
    on conflict (app_id, tables, kind) do update
      set actor = case when under_way.ended_at is null then under_way.actor else excluded.actor end,
        counts = case when under_way.ended_at is null then under_way.counts
          else excluded.counts end,
        earlier = case when under_way.ended_at is null then under_way.earlier end,
        is_emptied = under_way.is_emptied and under_way.ended_at is null, ended_at = null
    returning id into job_id;
  end if;
  return jsonb_build_object('app', app, 'tables', circle, 'job', job_id);
end
$$;

-- Ends the registrations of a job that has deleted their rows, once; returns the tables with their
-- row counts. Null if the job does not exist, or is not finished.
create function rowhouse.end_rows_job(job uuid) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  work rowhouse.row_jobs;
  next_version bigint;
begin
  update rowhouse.row_jobs set ended_at = now()
    where id = job and kind = 'end_registration' and is_emptied and ended_at is null
    returning * into work;
  if work.id is not null then
    update rowhouse.versions set version = version + 1
      where name = 'catalog' returning version into next_version;
    delete from rowhouse.registrations
      where app_id = work.app_id and table_name = any (work.tables);
    insert into rowhouse.ended_registrations (app_id, table_name, version)
    select work.app_id, name, next_version from unnest(work.tables) as listed (name)
    on conflict (app_id, table_name) do update set version = excluded.version;
    update rowhouse.column_sets set unused_since = now()
    where app_id = work.app_id and table_name = any (work.tables) and unused_since is null;
    update rowhouse.tables set version = next_version where name = any (work.tables);
    perform rowhouse.log(work.actor, 'end_registration',
      app => (select slug from rowhouse.apps where id = work.app_id),
      details => jsonb_build_object('table', name, 'rows', row_count))
    from unnest(work.tables, work.counts) as ended (name, row_count);
  end if;
  select * into work from rowhouse.row_jobs where id = job and ended_at is not null;
  return (select jsonb_agg(jsonb_build_object('name', name, 'rows', row_count) order by name)
    from unnest(work.tables, work.counts) as ended (name, row_count));
end
$$;

-- Cancels a job whose rows cannot be deleted because rows of another table reference them: the app
-- gets access to the tables again. False for a finished job, and for the deletion of an app, which
-- cannot be canceled.
create function rowhouse.cancel_rows_job(job uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  work rowhouse.row_jobs;
  next_version bigint;
begin
  delete from rowhouse.row_jobs where id = job and kind = 'end_registration' and ended_at is null
    returning * into work;
  if work.id is null then
    return false;
  end if;
  update rowhouse.versions set version = version + 1
    where name = 'catalog' returning version into next_version;
  update rowhouse.registrations set is_ending = false, version = next_version
    where app_id = work.app_id and table_name = any (work.tables);
  return true;
end
$$;
comment on function rowhouse.end_rows_job is 'null result';
grant execute on function rowhouse.end_rows_job, rowhouse.cancel_rows_job
  to rowhouse_service, rowhouse_data;

-- Drops tables that no app uses, with their types and functions, together: they can reference each
-- other.
create function rowhouse.drop_tables(names text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  statements text[];
  statement text;
begin
  perform set_config('lock_timeout', '700ms', true);
  statements := array(
    select format('drop function %s', pg_proc.oid::regprocedure) from pg_proc
    where pronamespace = 'api'::regnamespace and exists (
      select from (select table_name, hash from rowhouse.column_sets
        union all select table_name, hash from rowhouse.views) as generated
      where table_name = any (names)
        and starts_with(proname::text, left(table_name, 32) || '__' || hash || '_'))
  ) || array(
    select 'drop table ' || string_agg(format('data.%I', name), ', ')
      from unnest(names) as listed (name)
  ) || array(
    select distinct format('drop type data.%I', typname)
    from unnest(names) as listed (name)
    join pg_attribute on attrelid = format('data.%I', name)::regclass
    join pg_type on pg_type.oid = atttypid and typnamespace = 'data'::regnamespace
  ) || array(
    select format('select find.make(%L)', json_build_object('table', name, 'walks', null))
    from unnest(names) as listed (name)
    join pg_proc on pronamespace = 'find'::regnamespace and proname = name || '__finder'
  );
  foreach statement in array statements loop
    execute statement;
  end loop;
  delete from rowhouse.column_sets where table_name = any (names);
  delete from rowhouse.views where table_name = any (names);
  delete from rowhouse.deferred_steps where table_name = any (names);
  delete from rowhouse.tables where name = any (names);
end
$$;

-- Drops a table and its circle, if no app uses any of them; returns the tables with the slugs of
-- their owners. Without the confirmed names it only checks; if the names differ, it rejects the
-- call.
-- action: admin, recent sign-in; logs "dropped a table", a change
create function rowhouse.drop_table(wanted_table text, expected text[], actor text) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  circle text[] := rowhouse.find_circle(wanted_table, null);
  dropped jsonb;
begin
  perform rowhouse.lock_names(array(select 'table ' || name from unnest(circle) as listed (name)));
  if not exists (select from rowhouse.tables where name = wanted_table) then
    raise exception 'no such table' using errcode = 'RH004';
  end if;
  if expected is not null then
    perform rowhouse.reject_issues();
  end if;
  if exists (select from rowhouse.registrations where table_name = any (circle)) then
    raise exception 'in use' using errcode = 'RH008';
  end if;
  perform rowhouse.check_circle(circle, null);
  select jsonb_agg(jsonb_build_object('name', name, 'owner', slug) order by name) into dropped
  from rowhouse.tables join rowhouse.apps on apps.id = owner_app_id where name = any (circle);
  if expected is null then
    return dropped;
  end if;
  if expected <> circle or rowhouse.find_circle(wanted_table, null) <> circle then
    raise exception 'changed by another push' using errcode = 'RH001';
  end if;
  perform rowhouse.drop_tables(circle);
  perform rowhouse.log(actor, 'drop_table', app => item ->> 'owner',
    details => jsonb_build_object('table', item ->> 'name'))
  from jsonb_array_elements(dropped) as removed (item);
  return dropped;
end
$$;
