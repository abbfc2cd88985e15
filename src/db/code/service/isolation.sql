-- The guard's results. One process checks the whole database for all; the others read the stored
-- result. No login can store a forged result: the function that stores the result computes it.

grant select on rowhouse.release, rowhouse.verified_sets, rowhouse.kept_bodies
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- The functions of apps' tables whose names match a pattern, of these or of all, each with a digest
-- of its body. Those of an earlier release that are as they were recorded are left out. A body is
-- read only if the version of its row has changed since it was read, unless `is_reread`: reading
-- all is most of the work.
create function rowhouse.list_bodies(pattern text, wanted oid[], is_reread boolean,
  out function oid, out signature text, out digest text) returns setof record language plpgsql
stable set search_path = pg_catalog, pg_temp set quote_all_identifiers = off
set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
begin
  return query select found.* from (
    select pg_proc.oid, proname || '(' || oidvectortypes(proargtypes) || ')',
      case when not is_reread and known.mark = concat_ws(' ', pg_proc.xmin, pg_proc.ctid)
        then known.digest else md5(trim(both E'\n' from prosrc)) end
    from pg_proc left join rowhouse.body_digests as known using (oid)
    where pronamespace = 'api'::regnamespace and (pattern = '' or proname ~ pattern)
      and (wanted is null or pg_proc.oid = any (wanted)))
    as found (function, signature, digest)
  where not exists (select from rowhouse.kept_bodies as kept
    where kept.signature = found.signature and kept.digest = found.digest
      and kept.endpoint ~ '^(${FORMER_NAMES})$');
end
$$;

-- The version of a function's row.
create function rowhouse.mark_of(function oid) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select concat_ws(' ', xmin, ctid) from pg_proc where oid = function
$$;

-- The tables, of these or of all, whose finders have a text that no table's finder has. A text is
-- made again only if the version of its row, or of the function that makes it, has changed since
-- that was done; with `is_reread` also if it is not the text of then.
create function rowhouse.find_false_finders(wanted text[], is_reread boolean) returns setof text
language plpgsql stable
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  maker constant text := rowhouse.mark_of('rowhouse.finder_body'::regproc);
begin
  return query select left(proname, -8)
    from pg_proc left join rowhouse.body_digests as known using (oid)
    where pronamespace = 'find'::regnamespace and right(proname, 8) = '__finder'
      and (wanted is null
        or proname = any (array(select (name || '__finder')::name from unnest(wanted) as name)))
      and not case when known.mark = concat_ws(' ', pg_proc.xmin, pg_proc.ctid, maker)
          and (not is_reread or known.digest = md5(prosrc))
        then known.digest <> '' else rowhouse.is_finder(prosrc) end;
end
$$;

-- The functions of these sets, by the start of their names; null without sets. Each set is a search
-- by an index: as a join, PostgreSQL can compare each set with all functions.
create function rowhouse.find_functions(set_names text[]) returns oid[] language sql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
  select case when set_names is not null then array(
    select found.oid from unnest(set_names) as sets (set_name), lateral (
      select pg_proc.oid from pg_proc where pronamespace = 'api'::regnamespace
        and proname >= (set_name || '_')::name and proname < (set_name || '`')::name
      offset 0) as found) end
$$;

-- A digest of the functions of each set, by the start of their names: of these sets, or of all.
create function rowhouse.digest_sets(wanted text[], is_reread boolean, out set_name text,
  out digest text) returns setof record language sql stable
set search_path = pg_catalog, pg_temp as $$
  select named.set_name, md5(string_agg(line, E'\n' order by line collate "C"))
  from (
    -- The last two underscores of a name are before a hash of 16 digits.
    select left(signature, length(signature) - strpos(reverse(signature), '__') + 17),
      signature || ' ' || digest
    from rowhouse.list_bodies('', rowhouse.find_functions(wanted), is_reread)
  ) as named (set_name, line)
  group by named.set_name
$$;

-- A digest of the functions of all sets.
create function rowhouse.digest_bodies(set_names text[], digests text[]) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select md5(coalesce(string_agg(concat_ws(' ', set_name, digest), E'\n'
    order by set_name collate "C"), ''))
  from unnest(set_names, digests) as sets (set_name, digest)
$$;

-- For these recorded tables or all, a digest of everything that their functions are generated from,
-- and of the functions that they have.
create function rowhouse.digest_tables(release text, wanted text[], set_names text[],
  digests text[], out table_name text, out digest text) returns setof record language plpgsql
stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
begin
  return query with existing as materialized (
    select * from unnest(set_names, digests) as sets (set_name, digest)
  ), sets as (
    select table_name, string_agg(concat_ws(' ', source, hash, existing.digest), E'\n'
      order by source collate "C", hash) as lines
    from (
      select distinct table_name, hash, definition::text as source from rowhouse.column_sets
      where wanted is null or table_name = any (wanted)
      union all
      select table_name, hash, app_id::text from rowhouse.views
      where wanted is null or table_name = any (wanted)
    ) as recorded
    left join existing on set_name = left(table_name, 32) || '__' || hash
    group by table_name
  ), ruled as (
    select table_name, app_id from rowhouse.registrations
    where definition ? 'rules' and (wanted is null or table_name = any (wanted))
  ), uses as (
    select app_id, md5(string_agg(definition::text, E'\n' order by table_name)) as digest
    from rowhouse.registrations where app_id in (select app_id from ruled) group by app_id
  ), rules as (
    select table_name,
      string_agg(concat_ws(' ', app_id, uses.digest), E'\n' order by app_id) as lines
    from ruled join uses using (app_id) group by table_name
  )
  select name, md5(concat_ws(E'\n\n', release, rowhouse.dialect(), definition, sets.lines,
      rules.lines))
    from rowhouse.tables left join sets on sets.table_name = name
    left join rules on rules.table_name = name
    where wanted is null or name = any (wanted);
end
$$;

-- The names of the sets of these tables, whose functions have names that begin with them.
create function rowhouse.find_set_names(tables text[]) returns text[] language sql stable
set search_path = pg_catalog, pg_temp as $$
  select array(
    select left(table_name, 32) || '__' || hash from rowhouse.column_sets
    where table_name = any (tables)
    union select left(table_name, 32) || '__' || hash from rowhouse.views
    where table_name = any (tables))
$$;

-- These recorded tables, or all, except those of which `rowhouse migrate` has recorded that the
-- functions are the output of this release: a digest for each, and one of all functions.
create function rowhouse.find_unverified(release text, wanted text[], is_reread boolean)
returns json language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with sets as materialized (
    select coalesce(array_agg(set_name), '{}') as names,
      coalesce(array_agg(digest), '{}') as digests
    from rowhouse.digest_sets(
      case when wanted is not null then rowhouse.find_set_names(wanted) end, is_reread)
  ), tables as materialized (
    select digested.*, digested.digest in (select digest from rowhouse.verified_sets)
      and table_name not in (select rowhouse.find_false_finders(wanted, is_reread)) as is_verified
    from sets, rowhouse.digest_tables(release, wanted, names, digests) as digested
  )
  select json_build_object(
    'bodies', (select rowhouse.digest_bodies(names, digests) from sets),
    'tables', (select coalesce(json_agg(json_build_object('name', table_name, 'digest', digest)
      order by table_name), '[]') from tables where not is_verified),
    'hasOthers', (select count(*) from rowhouse.verified_sets)
      > (select count(*) from tables where is_verified))
$$;

-- These tables as pushes recorded them, with their functions and digests, and with a finder only if
-- its text is false. Adds everything that apps with rules for them declare, because a view depends
-- on several tables.
create function rowhouse.read_generated_tables(release text, wanted text[], is_reread boolean)
returns json language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with recorded as materialized (
    select table_name, left(table_name, 32) || '__' || hash as set_name from (
      select table_name, hash from rowhouse.column_sets where table_name = any (wanted)
      union select table_name, hash from rowhouse.views where table_name = any (wanted)) as named
  ), sets as materialized (
    select coalesce(array_agg(set_name), '{}') as names,
      coalesce(array_agg(digest), '{}') as digests
    from rowhouse.digest_sets(rowhouse.find_set_names(wanted), is_reread)
  ), functions as (
    select table_name, json_agg(json_build_object('signature', signature, 'digest', digest)) as list
    from (
      select table_name, signature, digest
      from rowhouse.list_bodies('', rowhouse.find_functions(rowhouse.find_set_names(wanted)),
        is_reread)
      join recorded
        on set_name = left(signature, length(signature) - strpos(reverse(signature), '__') + 17)
      union all
      select table_name, concat('find.', table_name, '__finder'), ''
      from rowhouse.find_false_finders(wanted, is_reread) as table_name) as listed
    group by table_name
  ), columns as (
    select table_name, json_agg(definition order by hash) as list from (
      select distinct on (table_name, hash) table_name, hash, definition
      from rowhouse.column_sets where table_name = any (wanted)) as distinct_sets
    group by table_name
  ), seen as (
    select table_name, json_agg(json_build_object('appId', app_id, 'hash', hash)) as list
    from rowhouse.views where table_name = any (wanted) group by table_name
  )
  select json_build_object(
    'dialect', rowhouse.dialect(),
    'tables', (select coalesce(json_agg(json_build_object('name', name, 'digest', digested.digest,
        'stamp', rowhouse.stamp_of(name), 'definition', definition,
        'sets', coalesce(columns.list, '[]'), 'views', coalesce(seen.list, '[]'),
        'functions', coalesce(functions.list, '[]')) order by name), '[]')
      from rowhouse.tables
      join (select digested.*
        from sets, rowhouse.digest_tables(release, wanted, names, digests) as digested)
        as digested on digested.table_name = name
      left join columns on columns.table_name = name
      left join seen on seen.table_name = name
      left join functions on functions.table_name = name
      where name = any (wanted)),
    'uses', (select coalesce(json_agg(json_build_object('appId', app_id,
        'definition', definition)), '[]') from rowhouse.registrations
      where app_id in (select app_id from rowhouse.registrations
        where definition ? 'rules' and table_name = any (wanted))))
$$;
grant execute on function rowhouse.find_unverified, rowhouse.read_generated_tables
  to rowhouse_tables, rowhouse_service, rowhouse_data;

-- Records tables, by their digests, whose functions are the output of this release.
create function rowhouse.record_verified(verified text[]) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  insert into rowhouse.verified_sets select distinct unnest(verified) on conflict do nothing
$$;

-- Forgets tables and functions as they were before.
create function rowhouse.forget_former_digests(release text) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  with sets as materialized (
    select coalesce(array_agg(set_name), '{}') as names,
      coalesce(array_agg(digest), '{}') as digests
    from rowhouse.digest_sets(null, false)
  )
  delete from rowhouse.verified_sets where not exists (
    select from sets, rowhouse.digest_tables(release, null, names, digests) as digested
    where digested.digest = verified_sets.digest)
$$;

-- Reads bodies that have changed, and whatever their versions say, a thousand of those that were
-- not read for a day: at most so many, or all. Returns how many. One process reads at a time. The
-- digest of a finder with a false text is empty. The version of a finder includes the version of
-- the function that makes the text.
create function rowhouse.refresh_bodies(max_bodies integer) returns integer language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  maker constant text := rowhouse.mark_of('rowhouse.finder_body'::regproc);
  read integer;
begin
  perform from rowhouse.isolation_checks for update;
  -- All changes are listed first: for a few of them, PostgreSQL would compare each with all.
  with bodies as (
    select oid, concat_ws(' ', xmin, ctid,
      case when pronamespace = 'find'::regnamespace then maker end) as mark
    from pg_proc where pronamespace = 'api'::regnamespace
      or (pronamespace = 'find'::regnamespace and right(proname, 8) = '__finder')
  ), changed as materialized (
    select oid, bodies.mark
    from bodies left join rowhouse.body_digests as earlier using (oid)
    where earlier.mark is distinct from bodies.mark
      or oid in (select due.oid from rowhouse.body_digests as due
        where read_at < now() - interval '1 day' order by read_at limit 1000)
  )
  insert into rowhouse.body_digests as known (oid, mark, digest, read_at)
    select oid, mark, case when pronamespace = 'api'::regnamespace
      then md5(trim(both E'\n' from prosrc))
      when rowhouse.is_finder(prosrc) then md5(prosrc) else '' end, now()
    from (select * from changed limit max_bodies) as slice join pg_proc using (oid)
    on conflict (oid) do update
      set mark = excluded.mark, digest = excluded.digest, read_at = excluded.read_at;
  get diagnostics read = row_count;
  if max_bodies is null or read < max_bodies then
    delete from rowhouse.body_digests where not exists (select from pg_proc
      where pg_proc.oid = body_digests.oid
        and pronamespace in ('api'::regnamespace, 'find'::regnamespace));
  end if;
  return read;
end
$$;
comment on function rowhouse.refresh_bodies is 'idempotent';

-- A digest of the versions of the rows of functions, and of the maker of finders.
create function rowhouse.digest_marks() returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select md5(coalesce(string_agg(concat_ws(' ', oid, xmin, ctid), ',' order by oid), ''))
  from pg_proc where pronamespace in ('api'::regnamespace, 'find'::regnamespace)
    or oid = 'rowhouse.finder_body'::regproc
$$;

-- Functions that no push recorded.
create function rowhouse.find_unrecorded() returns setof text language sql stable
set search_path = pg_catalog, pg_temp set quote_all_identifiers = off as $$
  with named as (
    select proname, proargtypes, left(proname, set_length) as set_name,
      substr(proname, set_length + 1) as ending
    from (
      -- The last two underscores of a name are before a hash of 16 digits.
      select proname, proargtypes, length(proname) - strpos(reverse(proname), '__') + 17
      from pg_proc where pronamespace = 'api'::regnamespace
    ) as measured (proname, proargtypes, set_length)
  )
  select 'Function api.' || proname || ' must be one that a push recorded'
  from named left join (
    select left(table_name, 32) || '__' || hash as known_name from rowhouse.column_sets
    union select left(table_name, 32) || '__' || hash from rowhouse.views
  ) as recorded on known_name = set_name
  where known_name is null
    or ending <> all (string_to_array(
      replace('|${ENDPOINT_NAMES}|${FORMER_NAMES}', '|', '|_'), '|'))
    or (ending = any (string_to_array(replace('|${FORMER_NAMES}', '|', '|_'), '|'))
      and proname || '(' || oidvectortypes(proargtypes) || ')' not in (
        select signature from rowhouse.kept_bodies))
$$;

-- Drops the functions of an earlier release that are not as they were recorded, and returns their
-- signatures.
create function rowhouse.drop_changed_former() returns setof text language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  changed text;
begin
  for changed in select function::regprocedure
    from rowhouse.list_bodies('__[0-9a-f]{16}_(${FORMER_NAMES})$', null, false)
  loop
    execute 'drop function if exists ' || changed;
    return next changed;
  end loop;
end
$$;

-- The issues and their age: at most max_age_s, or a sixth of max_age_s after a push. While another
-- process checks, the previous result stays valid for another max_age_s. An infinite age: only
-- bodies were read, and more are left.
create function rowhouse.check_isolation(max_age_s double precision, out issues jsonb,
  out bodies text, out release text, out age_s double precision)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  known rowhouse.isolation_checks;
  moment timestamptz := clock_timestamp();
  catalog_now bigint := (select version from rowhouse.versions where name = 'catalog');
  is_ours boolean;
  marks_now text;
begin
  select * into known from rowhouse.isolation_checks;
  -- Absolute: after the clock was set back, a result from the future must not count.
  age_s := abs(extract(epoch from moment - known.checked_at));
  if age_s >= max_age_s or (known.catalog_version <> catalog_now and age_s >= max_age_s / 6) then
    perform from rowhouse.isolation_checks for update skip locked;
    is_ours := found;
    if is_ours then
      select * into known from rowhouse.isolation_checks;
      age_s := abs(extract(epoch from moment - known.checked_at));
    end if;
    if (is_ours and (age_s >= max_age_s
        or (known.catalog_version <> catalog_now and age_s >= max_age_s / 6)))
      or age_s >= 2 * max_age_s
    then
      marks_now := rowhouse.digest_marks();
      if marks_now <> known.marks or exists (
        select from rowhouse.body_digests where read_at < moment - interval '1 day')
      then
        if is_ours and rowhouse.refresh_bodies(${BODIES_AT_ONCE}) = ${BODIES_AT_ONCE} then
          -- The caller asks again: no statement reads many bodies.
          issues := known.issues;
          bodies := known.bodies;
          age_s := 'Infinity';
          return;
        end if;
        known.bodies := (select rowhouse.digest_bodies(
            coalesce(array_agg(set_name), '{}'), coalesce(array_agg(digest), '{}'))
          from rowhouse.digest_sets(null, false));
      end if;
      known.issues := rowhouse.find_issues();
      age_s := 0;
      if is_ours then
        update rowhouse.isolation_checks set checked_at = moment, catalog_version = catalog_now,
          issues = known.issues, bodies = known.bodies, marks = marks_now;
      end if;
    end if;
  end if;
  issues := known.issues;
  bodies := known.bodies;
  release := (select name from rowhouse.release);
end
$$;
grant execute on function rowhouse.check_isolation
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- Raises an error while there are issues: no table or function of an app is dropped then.
create function rowhouse.reject_issues() returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if rowhouse.find_issues() <> '[]' then
    raise exception 'the database does not isolate apps' using errcode = 'RH017';
  end if;
end
$$;
