/**
 * Push under load: locks by app and table instead of one for all, tables locked within one budget of waiting, steps
 * that come after the COMMIT, and the hand-over of a table.
 *
 * @module
 */
export const PUSH = `
set local role rowhouse_owner;

-- What a push leaves for after its COMMIT: builds that would hold a large table for too long. A lease keeps two
-- processes off one step; a step whose holder died is taken up again.
create table rowhouse.deferred_steps (
  id bigint generated always as identity primary key,
  app_id uuid not null references rowhouse.apps (id) on delete cascade,
  table_name text not null references rowhouse.tables (name),
  kind text not null check (kind in ('index', 'reference')),
  name text not null,
  columns jsonb not null,
  state text not null default 'waiting' check (state in ('waiting', 'running', 'done', 'failed')),
  fault text,
  attempts integer not null default 0,
  lease_until timestamptz not null default '-infinity',
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (table_name, name)
);
grant select on rowhouse.deferred_steps to rowhouse_service;

drop function rowhouse.lock_push(text[], bigint);

-- First statement of a push: takes its locks without waiting, and refuses a plan made on another state of its tables
-- (stamps: the highest version recorded of each, 0 for a table that is not there) or of the app's migrations.
create function rowhouse.lock_push(names text[], stamps jsonb, app uuid, head integer) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  lock_name text;
begin
  foreach lock_name in array names loop
    if not pg_try_advisory_xact_lock(hashtextextended('rowhouse push ' || lock_name, 0)) then
      raise exception 'another push is under way' using errcode = 'RH001';
    end if;
  end loop;
  if (select coalesce(max(seq), 0) from rowhouse.migrations where app_id = app) <> head
    or exists (
      select from jsonb_each_text(stamps) as seen (name, stamp)
      where seen.stamp::bigint <> greatest(
        coalesce((select version from rowhouse.tables where tables.name = seen.name), 0),
        coalesce((select max(version) from rowhouse.registrations where table_name = seen.name), 0)))
  then
    raise exception 'the catalog has moved on' using errcode = 'RH002';
  end if;
end
$$;

-- Locks tables one after the other within one budget: requests wait behind a lock that is waited for, and must never
-- wait longer than the budget altogether.
create function rowhouse.lock_tables(names text[], budget_ms integer) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  table_name text;
  started_at timestamptz := clock_timestamp();
  spent_ms integer;
begin
  foreach table_name in array names loop
    spent_ms := extract(epoch from clock_timestamp() - started_at) * 1000;
    perform set_config('lock_timeout', greatest(budget_ms - spent_ms, 1) || 'ms', true);
    execute format('lock table data.%I in access exclusive mode', table_name);
  end loop;
  perform set_config('lock_timeout', budget_ms || 'ms', true);
end
$$;

-- Moves the ownership of a table to an app that uses it: the slug of the app that owned it before.
create function rowhouse.transfer_table(wanted_table text, new_slug text) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  old_slug text;
  new_id uuid;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('rowhouse push table ' || wanted_table, 0)) then
    raise exception 'a push is under way' using errcode = 'RH001';
  end if;
  select slug into old_slug from rowhouse.tables join rowhouse.apps on apps.id = owner_app_id where name = wanted_table;
  if not found then
    raise exception 'no such table' using errcode = 'RH004';
  end if;
  select id into new_id from rowhouse.apps where slug = new_slug;
  if not found then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  if not exists (select from rowhouse.registrations where app_id = new_id and table_name = wanted_table) then
    raise exception 'not a user of the table' using errcode = 'RH006';
  end if;
  update rowhouse.versions set version = version + 1 where name = 'catalog';
  update rowhouse.tables set owner_app_id = new_id,
    version = (select version from rowhouse.versions where versions.name = 'catalog')
  where name = wanted_table;
  return old_slug;
end
$$;
`;
