/**
 * What an operator does with apps' tables beside pushes: hand one to another app, end an app's use of one, drop one that
 * no app uses any more. None of these functions has a grant: only an administrator runs them, and the audit log is written
 * by the statement that does.
 *
 * @module
 */

import { SIGNALS } from "../signals.ts";
import { APP_SETTING } from "../tenant_policy.ts";

export const TABLES = `
-- Uses that were ended, at which version of the catalog: processes hear of them as they hear of registrations.
create table rowhouse.ended_registrations (
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  table_name text not null,
  version bigint not null,
  primary key (app_id, table_name)
);
create index ended_registrations__version__idx on rowhouse.ended_registrations (version);
grant select on rowhouse.ended_registrations to rowhouse_service, rowhouse_data;

-- A use that is registered again has not ended, whoever registers it.
create function rowhouse.forget_end() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  delete from rowhouse.ended_registrations where app_id = new.app_id and table_name = new.table_name;
  return null;
end
$$;
create trigger forget_end after insert on rowhouse.registrations
  for each row execute function rowhouse.forget_end();

-- Takes the locks of a push of these names without waiting.
create function rowhouse.lock_names(names text[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  lock_name text;
begin
  foreach lock_name in array names loop
    if not pg_try_advisory_xact_lock(hashtextextended('rowhouse push ' || lock_name, 0)) then
      raise exception 'a push is under way' using errcode = '${SIGNALS.pushBusy}';
    end if;
  end loop;
end
$$;

-- Hands a table to an app that uses it; the slug of the app that owned it before.
create function rowhouse.transfer_table(wanted_table text, new_slug text) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  old_slug text;
  new_id uuid;
begin
  perform rowhouse.lock_names(array['table ' || wanted_table]);
  select slug into old_slug from rowhouse.tables join rowhouse.apps on apps.id = owner_app_id where name = wanted_table;
  if not found then
    raise exception 'no such table' using errcode = '${SIGNALS.unknownTable}';
  end if;
  select id into new_id from rowhouse.apps where slug = new_slug;
  if not found then
    raise exception 'no such app' using errcode = '${SIGNALS.unknownApp}';
  end if;
  if not exists (select from rowhouse.registrations where app_id = new_id and table_name = wanted_table) then
    raise exception 'not a user of the table' using errcode = '${SIGNALS.notItsTable}';
  end if;
  update rowhouse.versions set version = version + 1 where name = 'catalog';
  update rowhouse.tables set owner_app_id = new_id,
    version = (select version from rowhouse.versions where versions.name = 'catalog')
  where name = wanted_table;
  return old_slug;
end
$$;

-- An app's rows of a table, counted and deleted. Whoever pushes owns the tables, and what it may have planted there, such
-- as a trigger or a view in a table's place, runs with the rights of whoever touches it: never an administrator's.
create function rowhouse.count_rows(wanted_table text, app uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  row_count bigint;
begin
  perform set_config('${APP_SETTING}', app::text, true);
  execute format('select count(*) from data.%I where app_id = $1', wanted_table) into row_count using app;
  return row_count;
end
$$;
create function rowhouse.delete_rows(wanted_table text, app uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  row_count bigint;
begin
  perform set_config('${APP_SETTING}', app::text, true);
  execute format('delete from data.%I where app_id = $1', wanted_table) using app;
  get diagnostics row_count = row_count;
  return row_count;
end
$$;
grant create on schema rowhouse to rowhouse_rows;
alter function rowhouse.count_rows(text, uuid) owner to rowhouse_rows;
alter function rowhouse.delete_rows(text, uuid) owner to rowhouse_rows;
revoke create on schema rowhouse from rowhouse_rows;

-- Ends an app's use of a table and deletes the app's rows of it; how many there are. 'is_told' only checks and counts.
create function rowhouse.end_registration(wanted_slug text, wanted_table text, is_told boolean) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
  owner uuid;
  next_version bigint;
  row_count bigint;
begin
  select id into app from rowhouse.apps where slug = wanted_slug;
  if not found then
    raise exception 'no such app' using errcode = '${SIGNALS.unknownApp}';
  end if;
  perform rowhouse.lock_names(array['app ' || app, 'table ' || wanted_table]);
  select owner_app_id into owner from rowhouse.tables where name = wanted_table;
  if not found then
    raise exception 'no such table' using errcode = '${SIGNALS.unknownTable}';
  end if;
  if not exists (select from rowhouse.registrations where app_id = app and table_name = wanted_table) then
    raise exception 'not a user of the table' using errcode = '${SIGNALS.notItsTable}';
  end if;
  if owner = app
    and exists (select from rowhouse.registrations where app_id <> app and table_name = wanted_table)
  then
    raise exception 'the owner of a table in use' using errcode = '${SIGNALS.tableInUse}';
  end if;
  if exists (
    select from rowhouse.registrations, jsonb_array_elements(definition -> 'columns') as declared (one)
    where app_id = app and table_name <> wanted_table and one ->> 'table' = wanted_table)
  then
    raise exception 'referred to' using errcode = '${SIGNALS.tableReferredTo}';
  end if;
  if is_told then
    return rowhouse.count_rows(wanted_table, app);
  end if;
  row_count := rowhouse.delete_rows(wanted_table, app);
  update rowhouse.versions set version = version + 1 where name = 'catalog' returning version into next_version;
  delete from rowhouse.registrations where app_id = app and table_name = wanted_table;
  insert into rowhouse.ended_registrations (app_id, table_name, version) values (app, wanted_table, next_version);
  update rowhouse.column_sets set unused_since = now()
  where app_id = app and table_name = wanted_table and unused_since is null;
  -- A plan that was made before this one's end is of another state.
  update rowhouse.tables set version = next_version where name = wanted_table;
  return row_count;
end
$$;

-- Drops a table that no app uses any more, with its types and functions; the slug of its owner. 'is_told' only checks.
create function rowhouse.drop_table(wanted_table text, is_told boolean) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  old_slug text;
  statements text[];
  statement text;
begin
  perform rowhouse.lock_names(array['table ' || wanted_table]);
  select slug into old_slug from rowhouse.tables join rowhouse.apps on apps.id = owner_app_id where name = wanted_table;
  if not found then
    raise exception 'no such table' using errcode = '${SIGNALS.unknownTable}';
  end if;
  if exists (select from rowhouse.registrations where table_name = wanted_table) then
    raise exception 'in use' using errcode = '${SIGNALS.tableInUse}';
  end if;
  if exists (
    select from rowhouse.tables, jsonb_array_elements(definition -> 'columns') as declared (one)
    where name <> wanted_table and one ->> 'table' = wanted_table)
  then
    raise exception 'referred to' using errcode = '${SIGNALS.tableReferredTo}';
  end if;
  if is_told then
    return old_slug;
  end if;
  perform set_config('lock_timeout', '700ms', true);
  statements := array(
    select format('drop function %s', pg_proc.oid::regprocedure) from pg_proc
    where pronamespace = 'api'::regnamespace and exists (
      select from rowhouse.column_sets where table_name = wanted_table
        and starts_with(proname::text, left(table_name, 32) || '__' || hash || '_'))
  ) || format('drop table data.%I', wanted_table) || array(
    select distinct format('drop type data.%I', typname)
    from pg_attribute join pg_type on pg_type.oid = atttypid
    where attrelid = format('data.%I', wanted_table)::regclass and typnamespace = 'data'::regnamespace
  );
  foreach statement in array statements loop
    execute statement;
  end loop;
  delete from rowhouse.column_sets where table_name = wanted_table;
  delete from rowhouse.deferred_steps where table_name = wanted_table;
  delete from rowhouse.tables where name = wanted_table;
  return old_slug;
end
$$;
`;
