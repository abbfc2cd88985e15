-- The guard's results. One process checks the whole database for all; the others read the stored
-- result. No login can store a forged result: the function that stores the result computes it.

grant select on rowhouse.release
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- A digest of the names and bodies of all functions of apps' tables.
create function rowhouse.digest_bodies() returns text language sql stable
set search_path = pg_catalog, pg_temp set quote_all_identifiers = off as $$
  select md5(coalesce(string_agg(line, E'\n' order by line collate "C"), '')) from (
    select proname || '(' || oidvectortypes(proargtypes) || ') '
      || md5(trim(both E'\n' from prosrc)) as line
    from pg_proc where pronamespace = 'api'::regnamespace) as functions
$$;

-- The same functions, each with a digest of its body.
create function rowhouse.read_bodies() returns json language sql stable
set search_path = pg_catalog, pg_temp set quote_all_identifiers = off as $$
  select coalesce(json_agg(json_build_object(
    'signature', proname || '(' || oidvectortypes(proargtypes) || ')',
    'digest', md5(trim(both E'\n' from prosrc)))), '[]')
  from pg_proc where pronamespace = 'api'::regnamespace
$$;
grant execute on function rowhouse.read_bodies
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- A digest of the versions of the functions' rows: bodies are read only when it changes, because
-- reading them is half of the work.
create function rowhouse.digest_marks() returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select md5(coalesce(string_agg(concat_ws(' ', oid, xmin, ctid), ',' order by oid), ''))
  from pg_proc where pronamespace = 'api'::regnamespace
$$;

-- Functions that no push recorded.
create function rowhouse.find_unrecorded() returns setof text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select 'Function api.' || proname || ' must be one that a push recorded' from pg_proc
  where pronamespace = 'api'::regnamespace
    and regexp_replace(proname,
      '_(list|get|create|create_many|create_group|update|update_many|delete|query|groups|walk'
        '|related|children|upsert|update_where|delete_where|changes)$', '') not in (
      select left(table_name, 32) || '__' || hash from rowhouse.column_sets
      union all select left(table_name, 32) || '__' || hash from rowhouse.views)
$$;

-- The issues and their age: at most max_age_s, or a sixth of max_age_s after a push. While another
-- process checks, the previous result stays valid for another max_age_s.
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
      known.issues := rowhouse.find_issues();
      marks_now := rowhouse.digest_marks();
      if marks_now <> known.marks then
        known.bodies := rowhouse.digest_bodies();
      end if;
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
