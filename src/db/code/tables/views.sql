-- The views of apps with rules: a view is the rights of roles with the same rights on a table. A
-- message that changes rules drops the functions of every view that no longer exists, because they
-- can allow more than the rules; these functions record what it created and dropped.

grant select on rowhouse.views to rowhouse_tables, rowhouse_service, rowhouse_data;

-- Records the views that a push has created and dropped, after the push itself. Plans of other apps
-- from before are invalid: they would generate the functions of dropped views again.
create function rowhouse.record_views(app uuid, created jsonb, dropped jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from jsonb_to_recordset(created) as item ("table" text)
    where not exists (select from rowhouse.registrations where app_id = app
      and table_name = item."table" and definition ? 'rules'))
  then
    raise exception 'not a possible result of a push of this app' using errcode = 'RH007';
  end if;
  delete from rowhouse.views using jsonb_to_recordset(dropped) as item ("table" text, hash text)
    where app_id = app and table_name = item."table" and views.hash = item.hash;
  insert into rowhouse.views (app_id, table_name, hash, definition)
  select app, item."table", item.hash, item.definition
  from jsonb_to_recordset(created) as item ("table" text, hash text, definition jsonb)
  on conflict (app_id, table_name, hash) do update set definition = excluded.definition;
  update rowhouse.registrations
    set version = (select version from rowhouse.versions where name = 'catalog')
  where app_id = app and table_name in (
    select item."table" from jsonb_to_recordset(created || dropped) as item ("table" text));
end
$$;

-- Records the views of a table whose functions `rowhouse migrate` has renewed.
create function rowhouse.renew_views(wanted_table text, renewed jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  next_version bigint;
begin
  update rowhouse.versions set version = version + 1
    where name = 'catalog' returning version into next_version;
  delete from rowhouse.views where table_name = wanted_table;
  insert into rowhouse.views (app_id, table_name, hash, definition)
  select item."appId", wanted_table, item.hash, item.definition
  from jsonb_to_recordset(renewed) as item ("appId" uuid, hash text, definition jsonb)
  join rowhouse.registrations on app_id = item."appId" and table_name = wanted_table;
  update rowhouse.tables set version = next_version where name = wanted_table;
end
$$;
grant execute on function rowhouse.record_views, rowhouse.renew_views to rowhouse_tables;

-- Drops the views of an app that is being deleted, and its rules: views of its other tables can
-- depend on each table that it leaves.
create function rowhouse.drop_views(app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  signature text;
begin
  foreach signature in array array(
    select pg_proc.oid::regprocedure::text from pg_proc
    where pronamespace = 'api'::regnamespace and exists (
      select from rowhouse.views where app_id = app
        and starts_with(proname::text, left(table_name, 32) || '__' || hash || '_')))
  loop
    execute 'drop function ' || signature;
  end loop;
  delete from rowhouse.views where app_id = app;
  update rowhouse.registrations set definition = definition - 'rules',
    version = (select version from rowhouse.versions where name = 'catalog')
  where app_id = app and definition ? 'rules';
end
$$;
