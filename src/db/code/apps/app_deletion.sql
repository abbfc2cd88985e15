-- Deletes an app in bounded steps. The app is disabled; then each table loses the app's rows, and
-- is dropped if the app owns it; finally the app is deleted with its keys, grants, targets and
-- migrations. A failed or interrupted step leaves a disabled app; the next call continues.

-- The tables that an app owns, uses or used before: a process can have written a row just when a
-- use ended.
create function rowhouse.tables_of(app uuid) returns text[] language sql stable
set search_path = pg_catalog, pg_temp as $$
  select array_agg(name order by name) from rowhouse.tables where owner_app_id = app
    or exists (select from rowhouse.registrations where app_id = app and table_name = name)
    or exists (select from rowhouse.ended_registrations where app_id = app and table_name = name)
$$;

-- The contents of an app, and the blockers of its deletion: tables that it owns and other apps use,
-- or that tables of other owners reference.
-- read: admin
create function rowhouse.describe_app(app_slug text) returns jsonb language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  app uuid := (rowhouse.console_app(app_slug)).id;
begin
  return jsonb_build_object('id', app,
    'keys', (select count(*) from rowhouse.api_keys where app_id = app),
    'grants', (select count(*) from rowhouse.grants where app_id = app),
    'targets', (select count(*) from rowhouse.targets where app_id = app),
    'migrations', (select count(*) from rowhouse.migrations where app_id = app),
    'tables', (select coalesce(jsonb_agg(jsonb_build_object('name', name,
    'isOwned', owner_app_id = app) order by name), '[]')
      from rowhouse.tables where name = any (rowhouse.tables_of(app))),
    'used', (select coalesce(jsonb_agg(jsonb_build_object('table', name, 'by', slugs)
      order by name), '[]') from (
      select name, jsonb_agg(slug order by slug) as slugs
      from rowhouse.tables join rowhouse.registrations on table_name = name
        join rowhouse.apps on apps.id = app_id
      where owner_app_id = app and app_id <> app group by name) as shared),
    'referredTo', (select coalesce(jsonb_agg(jsonb_build_object('table', parent, 'by', child)
      order by parent, child), '[]')
      from rowhouse.references_of(null)
      join rowhouse.tables as mine on mine.name = parent
        join rowhouse.tables as theirs on theirs.name = child
      where mine.owner_app_id = app and theirs.owner_app_id <> app));
end
$$;

-- The next tables to remove: a circle that no other table of the app references; null if no tables
-- are left.
create function rowhouse.next_circle(app uuid) returns text[] language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  mine text[] := rowhouse.tables_of(app);
  next_name text := mine[1];
  circle text[];
begin
  while next_name is not null loop
    circle := rowhouse.find_circle(next_name, null);
    select min(child) into next_name from rowhouse.references_of(null)
    where parent = any (circle) and child <> all (circle) and child = any (mine);
  end loop;
  return circle;
end
$$;

-- Ends an app's use of other owners' tables, and drops functions that serve only this app. Its
-- builds of a table that it has transferred now belong to the new owner.
create function rowhouse.leave_tables(app uuid, names text[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  signature text;
begin
  perform set_config('lock_timeout', '700ms', true);
  foreach signature in array array(
    select pg_proc.oid::regprocedure::text from pg_proc
    where pronamespace = 'api'::regnamespace and exists (
      select from rowhouse.column_sets as mine
      where app_id = app and table_name = any (names)
        and starts_with(proname::text, left(table_name, 32) || '__' || hash || '_')
        and not exists (select from rowhouse.column_sets as other
          where other.app_id <> app and other.table_name = mine.table_name
            and other.hash = mine.hash)))
  loop
    execute 'drop function ' || signature;
  end loop;
  update rowhouse.versions set version = version + 1 where name = 'catalog';
  perform rowhouse.drop_views(app);
  -- Invalidates earlier plans.
  update rowhouse.tables set version = (select version from rowhouse.versions
    where versions.name = 'catalog')
  where name = any (names);
  update rowhouse.deferred_steps set app_id = owner_app_id from rowhouse.tables
  where tables.name = table_name and app_id = app and table_name = any (names);
  delete from rowhouse.column_sets where app_id = app and table_name = any (names);
  delete from rowhouse.registrations where app_id = app and table_name = any (names);
  delete from rowhouse.ended_registrations where app_id = app and table_name = any (names);
end
$$;

-- Ends an app's use of a circle of tables that no longer contain its rows; drops the tables that
-- it owns.
create function rowhouse.give_up_tables(app uuid, app_slug text, circle text[], actor text)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.lock_names(array(select 'table ' || name from unnest(circle) as listed (name)));
  perform rowhouse.reject_issues();
  perform rowhouse.leave_tables(app, circle);
  if not exists (select from rowhouse.tables where name = any (circle) and owner_app_id = app) then
    return;
  end if;
  if exists (select from rowhouse.registrations where table_name = any (circle)) then
    raise exception 'in use' using errcode = 'RH008';
  end if;
  if exists (select from rowhouse.tables where name = any (circle) and owner_app_id <> app) then
    raise exception 'the table is referenced' using errcode = 'RH009';
  end if;
  perform rowhouse.check_circle(circle, null);
  perform rowhouse.drop_tables(circle);
  perform rowhouse.log(actor, 'drop_table', app => app_slug,
    details => jsonb_build_object('table', name))
  from unnest(circle) as listed (name);
end
$$;

-- One step of a deletion. Returns whether it was the last step, the job that must delete rows
-- before the next step, and at the end the number of deleted rows.
create function rowhouse.delete_app_step(
  app_slug text, actor text, out is_done boolean, out job uuid, out deleted bigint
) language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app uuid := (rowhouse.console_app(app_slug)).id;
  circle text[];
  work rowhouse.row_jobs;
begin
  is_done := false;
  deleted := 0;
  perform rowhouse.lock_names(array['app ' || app]);
  if exists (select from rowhouse.tables join rowhouse.registrations on table_name = name
    where owner_app_id = app and app_id <> app)
  then
    raise exception 'in use' using errcode = 'RH008';
  end if;
  if rowhouse.set_app_switch(app_slug, 'disabled', true, actor) then
    -- The app can have written rows since an earlier, unfinished deletion.
    update rowhouse.row_jobs set is_emptied = false where app_id = app;
    return;
  end if;
  circle := rowhouse.next_circle(app);
  if circle is not null then
    select * into work from rowhouse.row_jobs
      where app_id = app and tables = circle and kind = 'delete_app';
    if work.id is null then
      insert into rowhouse.row_jobs (app_id, tables, kind, actor, counts)
      values (app, circle, 'delete_app', actor, array_fill(0::bigint, array[cardinality(circle)]))
      returning * into work;
      -- Notifies the data service.
      update rowhouse.versions set version = version + 1 where name = 'catalog';
    end if;
    if work.is_emptied then
      perform rowhouse.give_up_tables(app, app_slug, circle, actor);
    else
      job := work.id;
    end if;
    return;
  end if;
  -- One server has the history. enter_app() would reach the nodes as the caller, and the owner's
  -- trigger could not delete the proofs there.
  perform set_config('rowhouse.app_id', app::text, true);
  delete from rowhouse.row_changes where app_id = app and ctid = any (array(
    select ctid from rowhouse.row_changes where app_id = app limit ${HISTORY_STEP}));
  if found then
    return;
  end if;
  select coalesce(sum(row_count), 0) into deleted
    from rowhouse.row_jobs, unnest(counts) as removed (row_count)
    where app_id = app and kind = 'delete_app';
  delete from rowhouse.statistics where app_id = app;
  delete from rowhouse.rejections where app_id = app;
  delete from rowhouse.rejection_kinds where app_id = app;
  delete from rowhouse.stored_requests where app_id = app;
  delete from rowhouse.apps where id = app;
  perform rowhouse.log(actor, 'delete_app', app => app_slug,
    details => jsonb_build_object('id', app, 'rows', deleted));
  is_done := true;
end
$$;
comment on function rowhouse.delete_app_step is 'null job';

-- proves: admin, recent sign-in
create function rowhouse.console_delete_app_step(app_slug text)
  returns table (is_done boolean, is_waiting boolean) as $$
begin
  return query select step.is_done, step.job is not null
    from rowhouse.delete_app_step(app_slug, who::text) as step;
end
$$;
