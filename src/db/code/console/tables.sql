-- Apps' tables and pushes in the Console, and the actions of administrators on tables. Reads
-- records and PostgreSQL's catalogs, never rows: sizes are estimates from statistics, and nothing
-- waits for a table lock, unlike PostgreSQL's size functions and the printing of expressions.

-- The counter of a table's rows. It is lost in a crash and then counts later rows only, so it is
-- null unless the table was created or analyzed after that. A crash resets the statistics of all
-- databases, an operator those of one.
create function rowhouse.counted_rows(wanted oid, created_at timestamptz) returns bigint
language sql stable set search_path = pg_catalog, pg_temp as $$
  select pg_stat_get_live_tuples(wanted)
  where coalesce(pg_stat_get_last_analyze_time(wanted), pg_stat_get_last_autoanalyze_time(wanted),
      pg_stat_get_last_vacuum_time(wanted), pg_stat_get_last_autovacuum_time(wanted)) is not null
    or created_at > coalesce(greatest(pg_stat_get_bgwriter_stat_reset_time(),
      pg_stat_get_db_stat_reset_time((select oid from pg_database
        where datname = current_database()))), '-infinity')
$$;

-- The approximate size of a table: rows of all apps, and bytes including indexes; null before the
-- first measurement. The number of rows of the last analysis is stored in the catalog, so a crash
-- does not reset it.
create function rowhouse.size_of_table(wanted text) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object(
    'rows', coalesce(nullif(counted, 0), case when main.reltuples >= 0
      then greatest(main.reltuples::bigint, pg_stat_get_live_tuples(main.oid)) end, counted),
    'bytes', case when main.reltuples >= 0 then current_setting('block_size')::bigint * (
      select sum(relpages) from pg_class where oid = any (array[main.oid, main.reltoastrelid]
        || array(select indexrelid from pg_index where indrelid in (main.oid, main.reltoastrelid))))
          end)
  from pg_class as main, rowhouse.counted_rows(main.oid, (select created_at from rowhouse.tables
      where name = wanted)) as counted
  where main.relnamespace = 'data'::regnamespace and main.relname = wanted
$$;

-- PostgreSQL's description of a table, without expressions, which cannot be printed while the
-- table is locked.
create function rowhouse.found_table(wanted text) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp set quote_all_identifiers = off as $$
  select jsonb_build_object(
    'owner', relowner::regrole::text,
    'rowSecurity', case when relrowsecurity then 'on' else 'off' end
      || case when relforcerowsecurity then ', forced' else ', not forced' end,
    'columns', (select coalesce(jsonb_agg(jsonb_build_array(attname,
          case when typnamespace = 'data'::regnamespace then 'data.' || typname
            else format_type(atttypid, atttypmod) end, attnotnull) order by attnum), '[]')
      from pg_attribute join pg_type on pg_type.oid = atttypid
      where attrelid = main.oid and attnum > 0 and not attisdropped and attname not like '#%'),
    'dialect', rowhouse.dialect(),
    'isContracted', exists (select from rowhouse.code where compatible_from = '${CONTRACTED_FROM}'),
    'types', (select coalesce(jsonb_object_agg(typname, labels), '{}') from (
      select typname, jsonb_agg(enumlabel order by enumsortorder) as labels
      from pg_attribute join pg_type on pg_type.oid = atttypid
        join pg_enum on enumtypid = pg_type.oid
      where attrelid = main.oid and attnum > 0 and not attisdropped group by typname) as enums),
    'parts', (select coalesce(jsonb_object_agg(part, state), '{}') from (
      select 'policy ' || polname, 'there' from pg_policy where polrelid = main.oid
      union all select 'constraint ' || conname, case when convalidated then 'there'
        else 'not valid' end
        from pg_constraint where conrelid = main.oid and contype not in ('n', 't')
      union all select 'index ' || index_class.relname, case when indisvalid then 'there'
        else 'invalid' end
        from pg_index join pg_class as index_class on index_class.oid = indexrelid
        where indrelid = main.oid
          and not exists (select from pg_constraint where conrelid = main.oid
            and conindid = indexrelid and contype in ('p', 'u', 'x'))
      union all select 'trigger ' || tgname, 'there' from pg_trigger where tgrelid = main.oid
        -- The isolation check compares listeners.
        and not tgisinternal and tgname !~ '^listen_to_'
      union all select 'rule ' || rulename, 'there' from pg_rewrite where ev_class = main.oid
        and rulename <> '_RETURN'
    ) as parts (part, state)))
  from pg_class as main
  where relnamespace = 'data'::regnamespace and relname = wanted
    and relkind in ('r', 'p', 'v', 'm', 'f')
$$;

-- A deferred build.
create function rowhouse.describe_build(build rowhouse.deferred_steps) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('table', build.table_name, 'kind', build.kind, 'name', build.name,
    'columns', build.columns, 'state', build.state, 'issue', build.issue,
    'attempts', build.attempts, 'progress', build.progress, 'createdAt', build.created_at,
    'finishedAt', build.finished_at)
$$;

-- The deferred builds of one table, newest first.
create function rowhouse.builds_of(wanted text) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_agg(rowhouse.describe_build(build)
    order by created_at desc, name), '[]')
  from (select * from rowhouse.deferred_steps where table_name = wanted
    order by id desc limit 100) as build
$$;

-- A table as the lists and its page show it; `found` is null if PostgreSQL lacks the table. The
-- apps that use it are sorted by slug: their number, and the first three.
create function rowhouse.describe_table(wanted rowhouse.tables) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('name', wanted.name, 'definition', wanted.definition,
      'owner', (select slug from rowhouse.apps where id = wanted.owner_app_id),
      'apps', count(*), 'firstApps', coalesce(jsonb_agg(slug order by slug)
        filter (where ordinal <= 3), '[]'),
      'rows', null, 'bytes', null, 'found', rowhouse.found_table(wanted.name),
      'builds', rowhouse.builds_of(wanted.name))
    || coalesce(rowhouse.size_of_table(wanted.name), '{}')
  from (select slug, row_number() over (order by slug) as ordinal
    from rowhouse.registrations join rowhouse.apps on apps.id = app_id
    where table_name = wanted.name) as used
$$;

-- The names of the columns of a definition.
create function rowhouse.columns_in(definition jsonb) returns jsonb language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_path_query_array(definition, '$.columns[*].name')
$$;

-- One table: uses are grouped by their declared columns, which many apps can share.
-- proves: admin; idempotent
create function rowhouse.console_show_table(wanted text) returns jsonb as $$
declare
  details jsonb;
begin
  select rowhouse.describe_table(tables) || jsonb_build_object(
      'uses', (select coalesce(jsonb_agg(jsonb_build_object('columns', columns, 'count', app_count,
      'apps', slugs)
          order by app_count desc, slugs), '[]') from (
        select columns, count(*) as app_count, (array_agg(app_slug
          order by app_slug))[1:100] as slugs from (
          select rowhouse.columns_in(registrations.definition) as columns, apps.slug as app_slug
          from rowhouse.registrations join rowhouse.apps on apps.id = app_id
            where table_name = wanted) as use
        group by columns order by count(*) desc limit 50) as grouped),
      'referredToBy', (select coalesce(jsonb_agg(distinct child.relname
        order by child.relname), '[]')
        from pg_constraint join pg_class as child on child.oid = conrelid
        where contype = 'f' and confrelid = (
          select oid from pg_class where relnamespace = 'data'::regnamespace and relname = wanted)
          and child.relname <> wanted))
  into details from rowhouse.tables where name = wanted;
  if details is null then
    raise exception 'no such table' using errcode = 'RH004';
  end if;
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor), 'table', details);
end
$$;

-- An app by its slug, for its pages.
create function rowhouse.console_app(app_slug text) returns rowhouse.apps language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare
  app rowhouse.apps;
begin
  select * into app from rowhouse.apps where slug = app_slug;
  if app.id is null then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  return app;
end
$$;

-- Tables by name, of which the table or its owner contains `search`; with an app, only the tables
-- that the app uses, and the columns that it declares.
-- read: admin
create function rowhouse.list_tables(app_slug text, search text, after_name text, max_rows integer)
returns jsonb language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  app rowhouse.apps;
begin
  if app_slug <> '' then
    app := rowhouse.console_app(app_slug);
  end if;
  return jsonb_build_object(
    'app', case when app.id is not null then
      jsonb_build_object('slug', app.slug, 'disabledAt', app.disabled_at) end,
    'tables', (select coalesce(jsonb_agg(rowhouse.describe_table(listed) || jsonb_build_object(
        'columns', rowhouse.columns_in(coalesce((select registrations.definition
          from rowhouse.registrations where app_id = app.id and table_name = listed.name),
          listed.definition))) order by listed.name), '[]')
      from (select tables.* from rowhouse.tables join rowhouse.apps on apps.id = owner_app_id
        where name > after_name and (strpos(name, search) > 0 or strpos(slug, search) > 0)
          and (app_slug = '' or name = any (array(
            select table_name from rowhouse.registrations where app_id = app.id)))
        order by name limit max_rows) as listed));
end
$$;

-- The key of a push; null if an operator pushed.
create function rowhouse.pushing_key(app uuid, wanted text) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('keyId', key_id, 'name', name) from rowhouse.api_keys where app_id = app
    and key_id = wanted
$$;

-- An app's pushes, newest first, with the head of each file, which describes the push, and pending
-- deferred steps.
-- read: admin
create function rowhouse.list_pushes(app_slug text, before_seq bigint, max_rows integer)
returns jsonb language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  return jsonb_build_object(
    'app', jsonb_build_object('slug', app.slug, 'disabledAt', app.disabled_at),
    'pushes', (select coalesce(jsonb_agg(to_jsonb(listed) order by seq desc), '[]') from (
      select seq, name, checksum, rowhouse.utc_text(applied_at) as "appliedAt",
        rowhouse.pushing_key(app_id, key_id) as key,
        (length(sql) - length(replace(sql, E';\n', ''))) / 2 as statements,
        split_part(left(text, 4000), E'\n-- definition ', 1) as head
      from rowhouse.migrations where app_id = app.id and (before_seq is null or seq < before_seq)
      order by seq desc limit max_rows) as listed),
    'builds', (select coalesce(jsonb_agg(rowhouse.describe_build(build) order by name), '[]') from (
      select * from rowhouse.deferred_steps where app_id = app.id and state <> 'done'
      order by name limit 50) as build));
end
$$;

-- The definition in a migration's text: one line.
create function rowhouse.definition_in(text text) returns text language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select split_part(split_part(text, E'\n-- definition ', 2), E'\n', 1)
$$;

-- One push with the previous push and its deferred steps, which have the same time as the push.
-- proves: admin; idempotent
create function rowhouse.console_show_push(app_slug text, wanted integer) returns jsonb as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
  push rowhouse.migrations;
begin
  select * into push from rowhouse.migrations where app_id = app.id and seq = wanted;
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'app', jsonb_build_object('slug', app.slug, 'disabledAt', app.disabled_at), 'push',
    case when push.seq is not null then jsonb_build_object('seq', push.seq,
      'name', push.name, 'checksum', push.checksum, 'appliedAt', push.applied_at,
      'key', rowhouse.pushing_key(push.app_id, push.key_id), 'sql', push.sql,
      'definition', rowhouse.definition_in(push.text),
      'before', (select rowhouse.definition_in(text) from rowhouse.migrations where app_id = app.id
      and seq = wanted - 1),
      'isLast', not exists (select from rowhouse.migrations where app_id = app.id
      and seq > wanted)) end,
    'builds', (select coalesce(jsonb_agg(rowhouse.describe_build(build) order by name), '[]') from (
      select * from rowhouse.deferred_steps where app_id = app.id and created_at = push.applied_at
      order by name limit 100) as build));
end
$$;

-- An app's declarations of its tables, with their rules, and whether people can use them.
-- proves: admin; idempotent
create function rowhouse.console_show_rules(app_slug text) returns jsonb as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'app', jsonb_build_object('slug', app.slug, 'disabledAt', app.disabled_at),
    'isOn', coalesce((rowhouse.switches_of(app) ->> 'browser')::boolean, false),
    'tables', (select coalesce(jsonb_agg(definition order by table_name), '[]')
      from rowhouse.registrations where app_id = app.id and not is_ending));
end
$$;

-- The declarations of a table that have rules, of the first 100 apps.
-- proves: admin; idempotent
create function rowhouse.console_show_table_rules(wanted text) returns jsonb as $$
begin
  if not exists (select from rowhouse.tables where name = wanted) then
    raise exception 'no such table' using errcode = 'RH004';
  end if;
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'uses', (select coalesce(jsonb_agg(jsonb_build_object('app', slug, 'definition', definition)
        order by slug), '[]') from (
      select slug, definition from rowhouse.registrations join rowhouse.apps on id = app_id
      where table_name = wanted and definition ? 'rules' and not is_ending
      order by slug limit 100) as ruled));
end
$$;

-- The state of a job that ends an app's use of a table: "waiting", "done", or "rejected" because
-- rows of another table reference its rows.
-- proves: admin
create function rowhouse.console_find_end(app_slug text, wanted text) returns text as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
begin
  return coalesce((select case when is_ending then 'waiting' else 'rejected' end
    from rowhouse.registrations where app_id = app.id and table_name = wanted), 'done');
end
$$;
