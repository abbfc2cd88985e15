-- Explicit changes of tables: renaming, dropping and retyping, which a push never does by itself.

-- Last statement of a push that made an explicit change of a table of the app: forgets column sets
-- that no app is served any more, whose functions the message has dropped, and builds that are
-- done. A table that no longer exists, because it was dropped or renamed, is forgotten, unless
-- another app uses it.
create function rowhouse.record_change(app uuid, wanted_table text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  is_there boolean := exists (select from pg_class where relname = wanted_table
    and relkind in ('r', 'p') and relnamespace = 'data'::regnamespace);
begin
  if not exists (select from rowhouse.tables where name = wanted_table and owner_app_id = app) then
    raise exception 'not a table of this app' using errcode = 'RH007';
  end if;
  if exists (select from rowhouse.deferred_steps where table_name = wanted_table
    and state <> 'done' and (is_there or lease_until > now()))
  then
    raise exception 'a build is under way' using errcode = 'RH001';
  end if;
  delete from rowhouse.deferred_steps where table_name = wanted_table;
  delete from rowhouse.column_sets
    where table_name = wanted_table and (unused_since is not null or not is_there);
  if is_there then
    return;
  end if;
  delete from rowhouse.registrations where table_name = wanted_table and app_id = app;
  insert into rowhouse.ended_registrations (app_id, table_name, version)
  select app, wanted_table, version from rowhouse.versions where name = 'catalog'
  on conflict (app_id, table_name) do update set version = excluded.version;
  delete from rowhouse.tables where name = wanted_table;
end
$$;
grant execute on function rowhouse.record_change(uuid, text) to rowhouse_tables;
