-- Counts and deletes apps' rows. Anyone with the pushing login owns the tables and can inject code,
-- which runs in every session that reads, writes or only plans a statement on them. So no
-- administrator's session does: commands use a login that is a member of `rowhouse_rows` only. The
-- Console stores a job, and the data service executes it.

grant select, update (counts, is_emptied, earlier) on rowhouse.row_jobs to rowhouse_rows;
grant select (id, created_at, ended_at) on rowhouse.row_jobs to rowhouse_service, rowhouse_data;

-- The number of an app's rows in a table.
create function rowhouse.count_rows(wanted_table text, app uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  row_count bigint;
begin
  perform rowhouse.enter_app(app);
  execute format('select count(*) from data.%I where app_id = $1', wanted_table) into row_count
    using app;
  return row_count;
end
$$;
comment on function rowhouse.count_rows is 'idempotent';

-- Deletes an app's rows of tables in one statement: references between them are checked at its
-- end, after all rows are deleted. Returns the counts, in the order of the names.
create function rowhouse.delete_rows(names text[], app uuid) returns bigint[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  row_counts bigint[];
begin
  perform rowhouse.enter_app(app);
  execute (
    select format('with %s select array[%s]',
      string_agg(format('removed_%s as (delete from data.%I where app_id = $1 returning 1)',
        ordinal, name), ', '),
      string_agg(format('(select count(*) from removed_%s)', ordinal), ', ' order by ordinal))
    from unnest(names) with ordinality as listed (name, ordinal)
  ) into row_counts using app;
  return row_counts;
end
$$;

-- One bounded step: deletes at most max_rows of an app's rows, or sets at most max_rows blocking
-- references to null. "changed" is 0 when nothing is left. "counts" are the deleted rows in
-- the order of the names. Starts with tables that no table references. In a circle, optional
-- references are set to null first; if all are required, the remaining rows are deleted in one
-- statement.
create function rowhouse.delete_some_rows(
  names text[], app uuid, max_rows integer, out changed bigint, out counts bigint[])
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  current_table text;
  ref record;
  is_there boolean;
  filled text[] := '{}';
  referred_to text[] := '{}';
  loose_child text;
  loose_via text;
begin
  changed := 0;
  counts := array_fill(0::bigint, array[cardinality(names)]);
  perform rowhouse.enter_app(app);
  foreach current_table in array names loop
    execute format('select exists (select from data.%I where app_id = $1)', current_table)
      into is_there
      using app;
    if is_there then
      filled := filled || current_table;
    end if;
  end loop;
  for ref in
    select tables.name as child, declared.item ->> 'name' as via,
      declared.item ->> 'table' as parent,
      (declared.item ->> 'required')::boolean as is_required
    from rowhouse.tables, jsonb_array_elements(definition -> 'columns') as declared (item)
    where tables.name = any (filled) and declared.item ->> 'table' = any (filled)
  loop
    execute format('select exists (select from data.%I where app_id = $1 and %I is not null)',
      ref.child, ref.via)
    into is_there using app;
    if is_there then
      referred_to := referred_to || ref.parent;
      if not ref.is_required then
        loose_child := ref.child;
        loose_via := ref.via;
      end if;
    end if;
  end loop;
  select name into current_table from unnest(filled) as listed (name)
  where name <> all (referred_to) limit 1;
  if current_table is not null then
    execute format('delete from data.%1$I as whole using (select id from data.%1$I
      where app_id = $1 limit $2) as part
      where whole.app_id = $1 and whole.id = part.id', current_table) using app, max_rows;
    get diagnostics changed = row_count;
    counts[array_position(names, current_table)] := changed;
  elsif loose_via is not null then
    execute format('update data.%1$I as whole set %2$I = null
      from (select id from data.%1$I where app_id = $1 and %2$I is not null limit $2) as part
      where whole.app_id = $1 and whole.id = part.id', loose_child, loose_via) using app, max_rows;
    get diagnostics changed = row_count;
  elsif filled <> '{}' then
    select sum(row_count), array_agg(coalesce(row_count, 0) order by ordinal) into changed, counts
      from unnest(names) with ordinality as listed (name, ordinal)
      left join unnest(filled, rowhouse.delete_rows(filled, app))
        as removed (removed_name, row_count)
        on removed_name = name;
  end if;
end
$$;

-- The current transactions of other serving sessions.
create function rowhouse.list_transactions() returns text[] language sql volatile
set search_path = pg_catalog, pg_temp as $$
  select array(select virtualtransaction from pg_locks join pg_stat_activity using (pid)
    where locktype = 'virtualxid' and pid <> pg_backend_pid() and datname = current_database()
      and exists (select from pg_auth_members where member = usesysid
        and roleid in ('rowhouse_service'::regrole, 'rowhouse_data'::regrole)))
$$;
grant execute on function rowhouse.list_transactions to rowhouse_rows;

-- The current transactions of other sessions whose logins can write apps' rows, with their begin if
-- the caller may know it.
create function rowhouse.list_writers()
returns table (id text, pid integer, login text, began_at text) language sql volatile
set search_path = pg_catalog, pg_temp as $$
  select virtualtransaction, pid, usename::text, rowhouse.utc_text(xact_start)
  from pg_locks join pg_stat_activity using (pid)
  where locktype = 'virtualxid' and virtualxid = virtualtransaction and pid <> pg_backend_pid()
    and datname = current_database()
    and exists (select from unnest(array['rowhouse_service', 'rowhouse_data', 'rowhouse_tables',
      'rowhouse_rows']) as writing (role) where pg_has_role(usesysid, role, 'member'))
  order by xact_start
$$;
comment on function rowhouse.list_writers is 'idempotent; null began_at';

-- proves: admin; idempotent
create function rowhouse.console_list_writers() returns text[] as $$
begin
  return array(select id from rowhouse.list_writers());
end
$$;

-- One step of a job; returns whether it is complete, or null if another session works on it, or
-- a transaction that began before the job can still store a row.
create function rowhouse.run_rows_job(job uuid, max_rows integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  work rowhouse.row_jobs;
  step record;
  running text[];
  may_end boolean;
begin
  select * into work from rowhouse.row_jobs where id = job for update skip locked;
  if work.id is null and not exists (select from rowhouse.row_jobs where id = job) then
    raise exception 'no such job' using errcode = 'RH016';
  end if;
  if work.id is null or work.is_emptied then
    return work.is_emptied;
  end if;
  -- Before the rows are read: a transaction that ends now can have stored one.
  running := rowhouse.list_transactions();
  work.earlier := coalesce(work.earlier, running);
  may_end := not work.earlier && running;
  select * into step from rowhouse.delete_some_rows(work.tables, work.app_id, max_rows);
  update rowhouse.row_jobs set is_emptied = step.changed = 0 and may_end, earlier = work.earlier,
    counts = array(select before + now_removed
      from unnest(work.counts, step.counts) as summed (before, now_removed))
  where id = job;
  return case when step.changed > 0 then false when may_end then true end;
end
$$;

comment on function rowhouse.run_rows_job is 'null result';

grant execute on function rowhouse.enter_app to rowhouse_rows;
grant create on schema rowhouse to rowhouse_rows;
alter function rowhouse.count_rows owner to rowhouse_rows;
alter function rowhouse.delete_rows owner to rowhouse_rows;
alter function rowhouse.delete_some_rows owner to rowhouse_rows;
alter function rowhouse.run_rows_job owner to rowhouse_rows;
revoke create on schema rowhouse from rowhouse_rows;
grant execute on function rowhouse.run_rows_job to rowhouse_service, rowhouse_data;
