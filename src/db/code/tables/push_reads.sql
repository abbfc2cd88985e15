-- Records of pushes, for pushing and serving processes.

-- Returns the name of the database's dialect: one PostgreSQL, or the nodes of a Citus cluster.
create function rowhouse.dialect() returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select case when to_regclass('rowhouse.shards') is null then 'plain' else 'citus' end
$$;

-- The highest version recorded for a table. A plan is applied only if this version is unchanged.
create function rowhouse.stamp_of(wanted text) returns bigint language sql stable
set search_path = pg_catalog, pg_temp as $$
  select greatest(version, (select max(version) from rowhouse.registrations
    where table_name = wanted)) from rowhouse.tables where name = wanted
$$;

-- For serving processes: the records of pushes since a version.
create function rowhouse.read_catalog(since bigint) returns json language sql stable
set search_path = pg_catalog, pg_temp as $$
  select json_build_object(
    'version', (select version from rowhouse.versions where name = 'catalog'),
    'dialect', rowhouse.dialect(),
    'tables', (select coalesce(json_agg(json_build_object('name', name, 'definition', definition)),
      '[]') from rowhouse.tables where version > since),
    'registrations', (select coalesce(json_agg(json_build_object(
        'appIds', app_ids, 'definition', definition)), '[]') from (
      select definition, json_agg(app_id) as app_ids from rowhouse.registrations
      where version > since and not is_ending group by definition) as declared),
    'ended', (select coalesce(json_agg(json_build_object('appId', app_id, 'table', table_name)),
      '[]') from (
      select app_id, table_name from rowhouse.ended_registrations where version > since
      union all select app_id, table_name from rowhouse.registrations
      where version > since and is_ending) as removed))
$$;

-- The migrations that one migration joins, without their texts; usually null.
create function rowhouse.joined_records(joins jsonb) returns jsonb language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_agg(joined - 'text' order by (joined ->> 'seq')::integer)
  from jsonb_array_elements(joins) as item (joined)
$$;

-- Who can use the rules of an app: whether its pages have access, and the roles that people hold.
create function rowhouse.read_rule_users(app uuid) returns json language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select json_build_object(
    -- An import plans the tables of an app that does not exist yet.
    'isOpen', exists (select from rowhouse.apps where id = app and 'browser' = any (switches)),
    'roles', (select coalesce(json_agg(distinct role order by role), '[]')
      from rowhouse.grants where app_id = app))
$$;

-- The input of a push's plan: the tables with these names, and all registrations of the app.
create function rowhouse.read_push_state(
  app uuid, names text[], large_pages integer, rows_a_page integer
) returns json language sql stable set search_path = pg_catalog, pg_temp as $$
  with concerned as (
    select name, owner_app_id, definition, (select oid from pg_class where relname = name
      and relkind in ('r', 'p') and relnamespace = (
        select oid from pg_namespace where nspname = 'data')) as relation
    from rowhouse.tables where name = any (names)
      or name in (select table_name from rowhouse.registrations where app_id = app)
  )
  select json_build_object(
    'tables', (select coalesce(json_agg(json_build_object(
        'name', concerned.name, 'ownerAppId', owner_app_id, 'definition', concerned.definition,
        'stamp', rowhouse.stamp_of(concerned.name),
        -- For a table that was never analyzed, statistics report the inserted rows. Its size on
        -- disk is not available: that would wait for a lock on the table.
        'isLarge', coalesce((select case when reltuples < 0
            then pg_stat_get_live_tuples(oid) / rows_a_page else relpages end >= large_pages
          from pg_class where oid = relation), false),
        -- As an array, so that PostgreSQL does not read all of pg_class.
        -- For processes of 0.1, as "keys".
        'bytes', coalesce((select sum(greatest(relpages, 0)::bigint * 8192) from pg_class
          where oid = any (array(select relation union all
            select indexrelid from pg_index where indrelid = relation))), 0),
        'keys', (select coalesce(json_agg(attname), '[]') from pg_attribute
          where attrelid = relation and attname like '#%' and not attisdropped),
        -- Each reference has triggers on the referenced table, which are found by index.
        'references', (select json_build_object(
            'own', count(distinct tgconstraint) filter (where source.owner_app_id = app),
            'foreign', count(distinct tgconstraint))
          from pg_trigger
          join pg_constraint on pg_constraint.oid = tgconstraint and confrelid = tgrelid
            and contype = 'f'
          join pg_class on pg_class.oid = conrelid
          join rowhouse.tables as source on source.name = relname
          where tgrelid = relation and source.owner_app_id <> concerned.owner_app_id),
        'retype', (select change from rowhouse.retypes where table_name = concerned.name),
        'ownerSlug', (select slug from rowhouse.apps where id = owner_app_id),
        'uses', (select coalesce(json_agg(json_build_object('appId', app_id, 'slug', slug,
            'definition', registrations.definition) order by slug), '[]')
          from rowhouse.registrations join rowhouse.apps on apps.id = app_id
          where table_name = concerned.name),
        'sets', (select coalesce(json_agg(json_build_object('appId', app_id, 'hash', hash,
            'unusedS', extract(epoch from now() - unused_since)::float8,
            'columns', definition)), '[]')
          from rowhouse.column_sets where table_name = concerned.name),
        'views', (select coalesce(json_agg(json_build_object('appId', app_id, 'hash', hash,
            'set', definition)), '[]')
          from rowhouse.views where table_name = concerned.name))
        order by concerned.name), '[]') from concerned),
    'migrations', (select coalesce(json_agg(json_build_object('seq', seq, 'name', name,
        'checksum', checksum, 'joins', rowhouse.joined_records(joins)) order by seq), '[]')
      from rowhouse.migrations where app_id = app),
    -- As stored: each migration repeats the definition of all tables, and compresses to a tenth.
    'journalBytes', (select coalesce(sum(pg_column_size(text) + pg_column_size(sql)
        + coalesce(pg_column_size(joins), 0)), 0)
      from rowhouse.migrations where app_id = app),
    'people', rowhouse.read_rule_users(app),
    'unheard', coalesce(rowhouse.list_unheard(app, array(select name from concerned)), '{}'),
    'dialect', rowhouse.dialect(),
    -- For processes of 0.1.
    'previews', (select to_json(features) from rowhouse.release),
    'hasDeferredSteps', exists (select from rowhouse.deferred_steps where state <> 'done'))
$$;

-- The number and bytes of the functions of each column set and view that the app uses, by hash.
create function rowhouse.read_function_sizes(app uuid, endpoints text[]) returns json
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(json_object_agg(hash, json_build_object('functions', functions, 'bytes', bytes)),
    '{}')
  from (select hash, count(*) as functions, sum(octet_length(prosrc)) as bytes
    from (select table_name, hash from rowhouse.column_sets
        where app_id = app and unused_since is null
      union select table_name, hash from rowhouse.views where app_id = app) as used
    cross join unnest(endpoints) as endpoint
    join pg_proc on proname = rowhouse.function_name(table_name, hash, endpoint)
      and pronamespace = (select oid from pg_namespace where nspname = 'api')
    group by hash) as sizes
$$;

-- The apps with more functions, or more bytes of functions, than the limits of a push.
create function rowhouse.find_large_apps(endpoints text[], max_functions integer,
  max_bytes bigint)
returns table (app_slug text, functions bigint, bytes bigint) language sql stable
set search_path = pg_catalog, pg_temp as $$
  select slug, count(*), sum(octet_length(prosrc))
  from (select app_id, table_name, hash from rowhouse.column_sets where unused_since is null
    union select app_id, table_name, hash from rowhouse.views) as used
  join rowhouse.apps on apps.id = app_id
  cross join unnest(endpoints) as endpoint
  join pg_proc on proname = rowhouse.function_name(table_name, hash, endpoint)
    and pronamespace = (select oid from pg_namespace where nspname = 'api')
  group by slug
  having count(*) > max_functions or sum(octet_length(prosrc)) > max_bytes
  order by slug
$$;

-- For one table or all: the recorded definition, the names of the built and of the unfinished
-- indexes, and the hidden columns of releases before 0.2.0.
create function rowhouse.read_built_indexes(wanted text) returns json language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce(json_agg(json_build_object('name', name,
    'stamp', rowhouse.stamp_of(name), 'definition', definition,
    'indexes', (select coalesce(json_agg(relname), '[]') from pg_index
      join pg_class on pg_class.oid = indexrelid
      where indrelid = relation.oid and indisvalid),
    'unfinished', (select coalesce(json_agg(index_name), '[]') from (
      select relname as index_name from pg_index join pg_class on pg_class.oid = indexrelid
        where indrelid = relation.oid and not indisvalid
      union select deferred_steps.name from rowhouse.deferred_steps
        where table_name = tables.name and kind = 'index' and state <> 'done') as begun),
    'keys', (select coalesce(json_agg(attname), '[]') from pg_attribute
      where attrelid = relation.oid and attname like '#%' and not attisdropped))
    order by name), '[]')
  from rowhouse.tables join pg_class as relation on relname = tables.name
    and relnamespace = 'data'::regnamespace and relkind in ('r', 'p')
  where name = wanted or wanted is null
$$;

-- Records that these indexes of a table are built again, in another form.
create function rowhouse.defer_rebuilds(wanted_table text, rebuilds jsonb) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into rowhouse.deferred_steps (app_id, table_name, kind, name, columns)
  select owner_app_id, tables.name, 'index', rebuild ->> 'name', rebuild -> 'columns'
  from rowhouse.tables, jsonb_array_elements(rebuilds) as put_off (rebuild)
  where tables.name = wanted_table
  on conflict (table_name, name) do update set state = 'waiting', issue = null, attempts = 0,
    lease_until = '-infinity', finished_at = null
  where deferred_steps.state in ('done', 'failed')
$$;

grant execute on function rowhouse.read_built_indexes, rowhouse.defer_rebuilds
  to rowhouse_tables;

-- The tables with column sets that no app has used for so many seconds.
create function rowhouse.find_unused_sets(unused_s integer) returns json language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce(json_agg(json_build_object('name', name,
      'dialect', rowhouse.dialect(), 'stamp', rowhouse.stamp_of(name),
      'sets', (select json_agg(json_build_object('appId', app_id, 'hash', hash,
          'unusedS', extract(epoch from now() - unused_since)::float8))
        from rowhouse.column_sets where table_name = name)) order by name), '[]')
  from rowhouse.tables where name in (select table_name from rowhouse.column_sets
    where unused_since < now() - make_interval(secs => unused_s))
$$;

-- The name of a generated function of a column set.
create function rowhouse.function_name(table_name text, hash text, endpoint text) returns name
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select (left(table_name, 32) || '__' || hash || '_' || endpoint)::name
$$;

-- For one table or all: the column sets, the views, and their existing functions; and everything
-- that apps with rules declare, because a view depends on several tables.
create function rowhouse.read_generated(wanted text, endpoints text[]) returns json
language sql stable set search_path = pg_catalog, pg_temp set quote_all_identifiers = off as $$
  with concerned as (
    select name, definition from rowhouse.tables where name = wanted or wanted is null
  ), sets as (
    select distinct on (table_name, hash) table_name, hash, definition
    from rowhouse.column_sets where table_name in (select name from concerned)
  ), named as (
    select rowhouse.function_name(table_name, hash, endpoint) as function_name
    from (select table_name, hash from sets union all select table_name, hash from rowhouse.views
      where table_name in (select name from concerned)) as generated, unnest(endpoints) as endpoint
  )
  select json_build_object(
    'dialect', rowhouse.dialect(),
    -- For processes of 0.1.
    'previews', (select to_json(features) from rowhouse.release),
    'tables', (select coalesce(json_agg(json_build_object('name', name,
        'stamp', rowhouse.stamp_of(name), 'definition', definition,
        'sets', (select coalesce(json_agg(sets.definition order by hash), '[]')
          from sets where table_name = name),
        'views', (select coalesce(json_agg(json_build_object('appId', app_id, 'hash', hash)), '[]')
          from rowhouse.views where table_name = name)) order by name), '[]') from concerned),
    'uses', (select coalesce(json_agg(json_build_object('appId', app_id,
        'definition', definition)), '[]') from rowhouse.registrations
      where app_id in (select app_id from rowhouse.registrations
        where definition ? 'rules' and (wanted is null or table_name = wanted))),
    'functions', (select coalesce(json_agg(json_build_object('name', proname,
        'arguments', oidvectortypes(proargtypes),
        'digest', md5(trim(both E'\n' from prosrc)))), '[]')
      from pg_proc
      where pronamespace = (select oid from pg_namespace where nspname = 'api')
        and proname in (select function_name from named)))
$$;

-- The tables with a missing generated function, or with other arguments than these: a list of
-- {endpoint, arguments}. For a table that was pushed since an upgrade, the functions that only the
-- earlier release calls are missing: there, only their requests fail.
create function rowhouse.find_uncallable_tables(wanted jsonb) returns setof text
language sql stable set search_path = pg_catalog, pg_temp set quote_all_identifiers = off as $$
  select distinct table_name from rowhouse.column_sets
  where unused_since is null and exists (
    select from jsonb_to_recordset(wanted) as called (endpoint text, arguments text)
    where endpoint !~ '^(${FORMER_NAMES})$' and not exists (select from pg_proc
      where pronamespace = (select oid from pg_namespace where nspname = 'api')
        and proname = rowhouse.function_name(table_name, hash, endpoint)
        and oidvectortypes(proargtypes) = arguments))
  order by table_name
$$;
grant execute on function rowhouse.dialect, rowhouse.stamp_of, rowhouse.function_name,
  rowhouse.read_generated, rowhouse.find_uncallable_tables
  to rowhouse_tables, rowhouse_service, rowhouse_data;
grant execute on function rowhouse.read_catalog to rowhouse_service, rowhouse_data;
grant execute on function rowhouse.joined_records, rowhouse.read_rule_users,
  rowhouse.read_function_sizes, rowhouse.find_large_apps, rowhouse.read_push_state
  to rowhouse_tables;
