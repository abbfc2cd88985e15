-- The guard's results. One process checks the whole database for all; the others read the stored
-- result. No login can store a forged result: the function that stores the result computes it.

grant select on rowhouse.release, rowhouse.verified_sets, rowhouse.kept_bodies
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- The functions of apps' tables whose names match a pattern, each with a digest of its body. Those
-- of an earlier release that are as they were recorded are left out. A body is read only if the
-- version of its row has changed since it was read: reading all is most of the work.
create function rowhouse.list_bodies(pattern text, out function oid, out signature text,
  out digest text) returns setof record language sql stable
set search_path = pg_catalog, pg_temp set quote_all_identifiers = off as $$
  select found.* from (
    select pg_proc.oid, proname || '(' || oidvectortypes(proargtypes) || ')',
      case when known.mark = concat_ws(' ', pg_proc.xmin, pg_proc.ctid) then known.digest
        else md5(trim(both E'\n' from prosrc)) end
    from pg_proc left join rowhouse.body_digests as known using (oid)
    where pronamespace = 'api'::regnamespace and proname ~ pattern)
    as found (function, signature, digest)
  where not exists (select from rowhouse.kept_bodies as kept
    where kept.signature = found.signature and kept.digest = found.digest
      and kept.endpoint ~ '^(${FORMER_NAMES})$')
$$;

-- A digest of the names and bodies of all functions of apps' tables.
create function rowhouse.digest_bodies() returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select md5(coalesce(string_agg(line, E'\n' order by line collate "C"), ''))
  from (select signature || ' ' || digest as line from rowhouse.list_bodies('')) as functions
$$;

-- The same functions as JSON.
create function rowhouse.read_bodies() returns json language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select coalesce(json_agg(json_build_object('signature', signature, 'digest', digest)), '[]')
  from rowhouse.list_bodies('')
$$;
grant execute on function rowhouse.read_bodies
  to rowhouse_tables, rowhouse_service, rowhouse_gateway, rowhouse_data, rowhouse_identity;

-- Reads the bodies that have changed, and in slices, whatever their versions say, those that were
-- not read for a day.
create function rowhouse.refresh_bodies() returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  delete from rowhouse.body_digests
    where oid not in (select oid from pg_proc where pronamespace = 'api'::regnamespace);
  insert into rowhouse.body_digests as known (oid, mark, digest, read_at)
    select oid, concat_ws(' ', pg_proc.xmin, pg_proc.ctid), md5(trim(both E'\n' from prosrc)), now()
    from pg_proc left join rowhouse.body_digests as earlier using (oid)
    where pronamespace = 'api'::regnamespace and (
      earlier.mark is distinct from concat_ws(' ', pg_proc.xmin, pg_proc.ctid)
      or oid in (select due.oid from rowhouse.body_digests as due
        where read_at < now() - interval '1 day' order by read_at limit 1000))
    on conflict (oid) do update
      set mark = excluded.mark, digest = excluded.digest, read_at = excluded.read_at;
end
$$;

-- A digest of the versions of the functions' rows.
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
    and (regexp_replace(proname, '_(${ENDPOINT_NAMES}|${FORMER_NAMES})$', '') not in (
        select left(table_name, 32) || '__' || hash from rowhouse.column_sets
        union all select left(table_name, 32) || '__' || hash from rowhouse.views)
      or (proname ~ '__[0-9a-f]{16}_(${FORMER_NAMES})$'
        and proname || '(' || oidvectortypes(proargtypes) || ')' not in (
          select signature from rowhouse.kept_bodies)))
$$;

-- Drops the functions of an earlier release that are not as they were recorded, and returns their
-- signatures.
create function rowhouse.drop_changed_former() returns setof text language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  changed text;
begin
  for changed in select function::regprocedure
    from rowhouse.list_bodies('__[0-9a-f]{16}_(${FORMER_NAMES})$')
  loop
    execute 'drop function if exists ' || changed;
    return next changed;
  end loop;
end
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
      if marks_now <> known.marks or exists (
        select from rowhouse.body_digests where read_at < moment - interval '1 day')
      then
        if is_ours then
          perform rowhouse.refresh_bodies();
        end if;
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
