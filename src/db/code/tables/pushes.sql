-- Push: its records of tables and their users, apps' migrations, the steps deferred until after
-- its COMMIT, and the functions that acquire its locks and record it. The pushing login, a member
-- of `rowhouse_tables`, reads these tables and writes them only through `record_push`; of a
-- deferred step it can update the progress.
--
-- A row's version is the version of the catalog at its last change, so that processes read only
-- new rows.

grant select on rowhouse.tables to rowhouse_tables, rowhouse_service, rowhouse_data;
grant select on rowhouse.registrations to rowhouse_tables, rowhouse_service, rowhouse_data;
grant select on rowhouse.column_sets to rowhouse_tables, rowhouse_service, rowhouse_data;
grant select on rowhouse.migrations to rowhouse_tables, rowhouse_service, rowhouse_data;
grant select on rowhouse.deferred_steps to rowhouse_tables, rowhouse_service, rowhouse_data;
grant update (state, issue, progress, attempts, lease_until, finished_at) on rowhouse.deferred_steps
  to rowhouse_tables;

create function rowhouse.refill_pushes(allowance rowhouse.push_allowances, per_hour integer,
  moment timestamptz)
returns double precision language sql stable set search_path = pg_catalog, pg_temp as $$
  select least(per_hour, allowance.pushes
    + greatest(0, extract(epoch from moment - allowance.counted_at)) * per_hour / 3600.0)
$$;

-- Before a push with an app's key is processed: checks the key, which for a dry run needs only
-- schema:read, and counts the push or returns how long to wait. The allowance refills evenly. A
-- request that does not apply one of the project's migrations ends a push of several migrations.
create function rowhouse.begin_push(
  app uuid, presented_proof bytea, per_hour integer, is_applying boolean, is_dry_run boolean,
    out app_slug text, out wait_s integer)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  moment timestamptz := clock_timestamp();
begin
  perform rowhouse.check_key_for(app, presented_proof, rowhouse.scope_bits(
    case when is_dry_run then array['schema:read', 'schema:push'] else array['schema:push'] end));
  if not is_dry_run then
    perform rowhouse.check_writes(app);
  end if;
  select slug into app_slug from rowhouse.apps where id = app;
  update rowhouse.push_allowances set uncounted = case when is_applying
    then uncounted - 1 else 0 end
  where app_id = app and uncounted > 0;
  if found then
    return;
  end if;
  insert into rowhouse.push_allowances as allowance (app_id, pushes, counted_at)
    values (app, per_hour - 1, moment)
  on conflict (app_id) do update set counted_at = greatest(allowance.counted_at, moment),
    pushes = rowhouse.refill_pushes(allowance, per_hour, moment) - 1
  where rowhouse.refill_pushes(allowance, per_hour, moment) >= 1;
  if found then
    return;
  end if;
  select greatest(1, ceil((1 - rowhouse.refill_pushes(allowance, per_hour, moment))
    * 3600 / per_hour))
  into wait_s from rowhouse.push_allowances as allowance where app_id = app;
end
$$;
comment on function rowhouse.begin_push is 'idempotent; null app_slug, wait_s';
grant execute on function rowhouse.begin_push to rowhouse_tables;

-- First statement of a push: acquires its locks without waiting, and rejects a push of an app whose
-- writes are stopped, and a plan for another state of its tables (stamps: the highest recorded
-- version of each, 0 for a missing table) or of the app's migrations. A process from before
-- rowhouse.hold_release does not call it, and would generate the functions of its release: it waits
-- until it is replaced.
create function rowhouse.lock_push(names text[], stamps jsonb, app uuid, head integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  lock_name text;
begin
  if app <> '00000000-0000-0000-0000-000000000000'
    and coalesce(current_setting('rowhouse.held_release', true), '') = ''
  then
    raise exception 'the functions are from another release' using errcode = 'RH001';
  end if;
  foreach lock_name in array names loop
    if not pg_try_advisory_xact_lock(hashtextextended('rowhouse push ' || lock_name, 0)) then
      raise exception 'another push is in progress' using errcode = 'RH001';
    end if;
  end loop;
  perform rowhouse.check_writes(app);
  if exists (select from rowhouse.registrations where app_id = app and is_ending) then
    raise exception 'a registration is ending' using errcode = 'RH001';
  end if;
  if (select coalesce(max(seq), 0) from rowhouse.migrations where app_id = app) <> head
    or exists (
      select from jsonb_each_text(stamps) as seen (name, stamp)
      where seen.stamp::bigint <> greatest(
        coalesce((select version from rowhouse.tables where tables.name = seen.name), 0),
        coalesce((select max(version) from rowhouse.registrations
        where table_name = seen.name), 0)))
  then
    raise exception 'the catalog has changed' using errcode = 'RH002';
  end if;
end
$$;

-- Before a push generates functions: until it ends, the functions of apps' tables are those of this
-- release. Another release, and a renewal by `rowhouse migrate`, would overwrite or reject them. A
-- process of an earlier release cannot serve what this one generates.
create function rowhouse.hold_release(pushing_release text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from rowhouse.release where name = pushing_release for share;
  if not found then
    raise exception 'the functions are from another release' using errcode = 'RH001';
  end if;
  if exists (select from rowhouse.earlier_processes() where is_running) then
    raise exception 'processes of an earlier release run' using errcode = 'RH028';
  end if;
  perform set_config('rowhouse.held_release', pushing_release, true);
end
$$;

-- Locks tables in sequence within one total limit of waiting: requests queue behind a pending
-- lock, and must never wait longer than that in total. Tables in referenced change only because
-- other tables reference them, and they stay readable.
create function rowhouse.lock_tables(names text[], referenced text[], budget_ms integer)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  table_name text;
  started_at timestamptz := clock_timestamp();
  spent_ms integer;
begin
  foreach table_name in array names loop
    spent_ms := extract(epoch from clock_timestamp() - started_at) * 1000;
    perform set_config('lock_timeout', greatest(budget_ms - spent_ms, 1) || 'ms', true);
    if table_name = any (referenced) then
      execute format('lock table data.%I in share row exclusive mode', table_name);
    else
      execute format('lock table data.%I in access exclusive mode', table_name);
    end if;
  end loop;
  perform set_config('lock_timeout', budget_ms || 'ms', true);
end
$$;

-- The tables whose rules a push widens, with the rules before and after. A process of the previous
-- release does not say which rules are wider: then all changed rules count, except those of tables
-- that the push creates.
create function rowhouse.list_widened(app uuid, migration jsonb, uses jsonb) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(migration -> 'widened', (
    select jsonb_agg(jsonb_build_object('table', used -> 'definition' ->> 'name',
      'before', registrations.definition -> 'rules', 'after', used -> 'definition' -> 'rules'))
    from jsonb_array_elements(uses) as declared (used)
    left join rowhouse.registrations
      on app_id = app and table_name = used -> 'definition' ->> 'name'
    where used -> 'definition' ? 'rules'
      and used -> 'definition' -> 'rules' is distinct from registrations.definition -> 'rules'
      and not exists (select from pg_class join pg_attribute on attrelid = pg_class.oid
        where relnamespace = 'data'::regnamespace and relname = used -> 'definition' ->> 'name'
          and attname = 'app_id' and pg_attribute.xmin = pg_current_xact_id()::xid)),
    '[]')
$$;

-- Logs the rules that a push widens, before it is recorded. A key needs the scope for it.
create function rowhouse.log_widened(app uuid, migration jsonb, uses jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  widened constant jsonb := rowhouse.list_widened(app, migration, uses);
  pushing_key constant text := migration ->> 'keyId';
begin
  if jsonb_array_length(widened) = 0 then
    return;
  end if;
  if pushing_key is not null and not exists (select from rowhouse.api_keys
    where app_id = app and key_id = pushing_key and 'schema:rules' = any(scopes))
  then
    raise exception 'the key cannot widen rules' using errcode = 'RH001';
  end if;
  perform rowhouse.log(coalesce('key ' || pushing_key, 'operator'), 'widen_rules',
      app => (select slug from rowhouse.apps where id = app), details => change)
    from jsonb_array_elements(widened) as widening (change);
end
$$;

-- Last statement of a push: records it, raises the catalog's version, and returns it. Accepts only
-- possible results of one push of one app: the app's next migration, tables that are new or owned
-- by the app and exist, uses of recorded tables with their column sets, and deferred builds.
-- Briefly acquires the only lock that all apps' pushes share.
create function rowhouse.record_push(app uuid, migration jsonb, definitions jsonb, uses jsonb,
  builds jsonb) returns bigint language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare
  head record;
  next_version bigint;
begin
  update rowhouse.versions set version = version + 1
    where name = 'catalog' returning version into next_version;
  select seq, checksum, joins -> -1 ->> 'checksum' as joined into head
    from rowhouse.migrations where app_id = app order by seq desc limit 1;
  if (migration ->> 'seq')::integer is distinct from coalesce(head.seq, 0) + 1
    or migration ->> 'parent' is distinct from coalesce(head.checksum, '')
  then
    raise exception 'the catalog has changed' using errcode = 'RH002';
  end if;
  if (migration ->> 'name' ~ '^[a-z0-9_]{1,40}$') is not true
    or migration ->> 'checksum' is distinct from 'sha256:' ||
      encode(sha256(convert_to(coalesce(head.joined, migration ->> 'parent')
        || left(migration ->> 'text', -84), 'UTF8')), 'hex')
    or migration ? 'joins' and (strpos(migration ->> 'text',
      E'\n-- joins ' || (migration -> 'joins' -> -1 ->> 'checksum') || ' ') > 0) is not true
    or right(migration ->> 'text', 84) is distinct from '-- checksum '
      || (migration ->> 'checksum') || E'\n'
    or exists (
      select from jsonb_array_elements(definitions) as defined (created)
      -- Rules belong to the declaration of one app.
      where created ? 'rules' or exists (select from rowhouse.tables where name = created ->> 'name'
        and owner_app_id <> app)
        or not exists (
          select from pg_class where relname = created ->> 'name' and relkind in ('r', 'p')
            and relnamespace = 'data'::regnamespace and relowner = 'rowhouse_tables'::regrole))
  then
    raise exception 'not a possible result of a push of this app' using errcode = 'RH007';
  end if;
  perform rowhouse.log_widened(app, migration, uses);
  insert into rowhouse.tables (name, owner_app_id, definition, version)
  select created ->> 'name', app, created, next_version
    from jsonb_array_elements(definitions) as defined (created)
  on conflict (name) do update set definition = excluded.definition, version = excluded.version;
  insert into rowhouse.registrations (app_id, table_name, definition, version)
  select app, used -> 'definition' ->> 'name', used -> 'definition', next_version
  from jsonb_array_elements(uses) as declared (used)
  on conflict (app_id, table_name) do update set definition = excluded.definition,
    version = excluded.version;
  update rowhouse.column_sets as stored set unused_since = now()
    from jsonb_array_elements(uses) as declared (used)
  where stored.app_id = app and stored.table_name = used -> 'definition' ->> 'name'
    and stored.hash <> used ->> 'hash' and stored.unused_since is null;
  insert into rowhouse.column_sets (app_id, table_name, hash, definition)
  select app, used -> 'definition' ->> 'name', used ->> 'hash', used -> 'columns'
  from jsonb_array_elements(uses) as declared (used)
  on conflict (app_id, table_name, hash) do update set unused_since = null;
  insert into rowhouse.deferred_steps (app_id, table_name, kind, name, columns)
  select app, build ->> 'table', build ->> 'kind', build ->> 'name', build -> 'columns'
  from jsonb_array_elements(builds) as put_off (build)
  -- A later push can need an index again that a push has dropped.
  on conflict (table_name, name) do update set app_id = excluded.app_id, state = 'waiting',
    issue = null, progress = null, attempts = 0, lease_until = '-infinity', created_at = now(),
    finished_at = null;
  insert into rowhouse.migrations (app_id, seq, name, parent, checksum, text, sql, joins, key_id)
  values (app, (migration ->> 'seq')::integer, migration ->> 'name', migration ->> 'parent',
    migration ->> 'checksum', migration ->> 'text', migration ->> 'sql', migration -> 'joins',
    (select key_id from rowhouse.api_keys where app_id = app and key_id = migration ->> 'keyId'));
  if exists (select from rowhouse.apps where id = app and switches && ${LISTENING_SWITCHES}) then
    perform rowhouse.fit_listeners(array(select used -> 'definition' ->> 'name'
      from jsonb_array_elements(uses) as declared (used)), ${LOCK_BUDGET_MS});
  end if;
  if (migration ->> 'isReplay')::boolean then
    update rowhouse.push_allowances set uncounted = 20 where app_id = app;
  end if;
  return next_version;
end
$$;

-- Deletes column sets that their apps no longer use. The same message drops their functions.
create function rowhouse.forget_sets(wanted_table text, removed jsonb) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from rowhouse.column_sets as sets
    using jsonb_to_recordset(removed) as item ("appId" uuid, hash text)
  where table_name = wanted_table and sets.app_id = item."appId" and sets.hash = item.hash
    and unused_since is not null
$$;

grant execute on function rowhouse.forget_sets, rowhouse.hold_release, rowhouse.lock_push,
  rowhouse.lock_tables, rowhouse.record_push to rowhouse_tables;

-- Leases the next deferred step after the given step, if no other process works on its table:
-- builds of one table would wait for each other, and a step decides under its lease which indexes
-- to drop.
create function rowhouse.claim_build(after bigint, lease_s integer)
returns table (step_id bigint, table_name text, step_name text, definition jsonb)
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select pg_advisory_xact_lock(hashtextextended('rowhouse deferred steps', 0));
  update rowhouse.deferred_steps set state = 'running', attempts = attempts + 1, issue = null,
    progress = null, lease_until = now() + make_interval(secs => lease_s)
  where id = (select id from rowhouse.deferred_steps as step
    where state <> 'done' and lease_until < now() and id > after
      and not rowhouse.is_stopped(app_id)
      and not exists (select from rowhouse.deferred_steps as other
        where other.table_name = step.table_name and other.lease_until >= now())
    order by id limit 1 for update skip locked)
  returning id, deferred_steps.table_name, name,
    (select tables.definition from rowhouse.tables where tables.name = deferred_steps.table_name)
$$;

-- Extends the lease, and records the build's progress: PostgreSQL shows it to no other login.
create function rowhouse.renew_deferred_step(step_id bigint, lease_s integer) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  update rowhouse.deferred_steps set lease_until = now() + make_interval(secs => lease_s),
    progress = (select jsonb_build_object('phase', phase,
        'unit', case when blocks_total > 0 then 'blocks' else 'rows' end,
        'done', case when blocks_total > 0 then blocks_done else tuples_done end,
        'total', case when blocks_total > 0 then blocks_total else tuples_total end)
      from pg_stat_progress_create_index join pg_class on pg_class.oid = index_relid
      where datname = current_database() and relname = name)
  where id = step_id and state = 'running'
$$;

create function rowhouse.end_deferred_step(step_id bigint, new_state text, new_issue text)
returns void language sql volatile set search_path = pg_catalog, pg_temp as $$
  update rowhouse.deferred_steps set state = new_state, issue = new_issue, progress = null,
    lease_until = '-infinity', finished_at = case when new_state = 'done' then now() end
  where id = step_id
$$;
-- An index of an app's table, with the state of its build. PostgreSQL shows the index of a build
-- only to the login that builds, but every login sees the process and its lock.
create function rowhouse.find_index(index_name text, table_name text)
returns table (is_valid boolean, is_building boolean) language sql stable
set search_path = pg_catalog, pg_temp as $$
  select indisvalid, exists (
    select from pg_stat_progress_create_index as progress
    join pg_locks on pg_locks.pid = progress.pid and granted and locktype = 'relation'
      and pg_locks.database = progress.datid and mode = 'ShareUpdateExclusiveLock'
    where relation = indrelid and datname = current_database())
  from pg_index
  join pg_class as index_class on index_class.oid = indexrelid
  join pg_class as table_class on table_class.oid = indrelid
  where index_class.relname = index_name and table_class.relname = find_index.table_name
    and index_class.relnamespace = (select oid from pg_namespace where nspname = 'data')
$$;
grant execute on function rowhouse.find_index, rowhouse.claim_build,
  rowhouse.renew_deferred_step, rowhouse.end_deferred_step to rowhouse_tables;

-- For operators: the owners and users of an app's tables.
create function rowhouse.list_table_apps(app uuid)
returns table ("table" text, owner text, users text[])
language sql stable set search_path = pg_catalog, pg_temp as $$
  select name, owner.slug, array(select apps.slug from rowhouse.registrations
      join rowhouse.apps on apps.id = app_id
      where table_name = name and app_id <> owner_app_id order by apps.slug)
  from rowhouse.tables join rowhouse.apps as owner on owner.id = owner_app_id
  where name in (select table_name from rowhouse.registrations where app_id = app)
  order by name
$$;
grant execute on function rowhouse.list_table_apps to rowhouse_tables;
