-- How an operator's commands count and delete apps' rows. Whoever pushes owns the tables, and what
-- it may have planted there, such as a trigger or a view in a table's place, runs with the rights
-- of whoever touches it: never an administrator's. So these functions run as `rowhouse_rows`, which
-- may do no more than a push.

-- How many rows an app has of a table.
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

-- Deletes an app's rows of tables in one statement: references between them are checked at its end,
-- when all rows are gone. How many there were, in the order of the names.
create function rowhouse.delete_rows(names text[], app uuid) returns bigint[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  row_counts bigint[];
begin
  perform rowhouse.enter_app(app);
  execute (
    select format('with %s select array[%s]',
      string_agg(format('gone_%s as (delete from data.%I where app_id = $1 returning 1)',
        place, name), ', '),
      string_agg(format('(select count(*) from gone_%s)', place), ', ' order by place))
    from unnest(names) with ordinality as listed (name, place)
  ) into row_counts using app;
  return row_counts;
end
$$;

-- Deletes at most so many of an app's rows of tables, or takes as many references from them, which
-- stand in the way: one bounded step; "changed" is 0 once nothing is left. Tables that none refers
-- to go first. In a circle of references the optional ones are set to null before; where all are
-- required, what is left goes in one statement.
create function rowhouse.delete_some_rows(names text[], app uuid, most integer, out changed bigint,
  out deleted bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  one text;
  ref record;
  is_there boolean;
  filled text[] := '{}';
  referred_to text[] := '{}';
  loose_child text;
  loose_via text;
begin
  changed := 0;
  deleted := 0;
  perform rowhouse.enter_app(app);
  foreach one in array names loop
    execute format('select exists (select from data.%I where app_id = $1)', one) into is_there
      using app;
    if is_there then
      filled := filled || one;
    end if;
  end loop;
  for ref in
    select tables.name as child, declared.one ->> 'name' as via, declared.one ->> 'table' as parent,
      (declared.one ->> 'required')::boolean as is_required
    from rowhouse.tables, jsonb_array_elements(definition -> 'columns') as declared (one)
    where tables.name = any (filled) and declared.one ->> 'table' = any (filled)
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
  select name into one from unnest(filled) as listed (name) where name <> all (referred_to) limit 1;
  if one is not null then
    execute format('delete from data.%1$I as whole using (select id from data.%1$I
      where app_id = $1 limit $2) as part
      where whole.app_id = $1 and whole.id = part.id', one) using app, most;
    get diagnostics deleted = row_count;
    changed := deleted;
  elsif loose_via is not null then
    execute format('update data.%1$I as whole set %2$I = null
      from (select id from data.%1$I where app_id = $1 and %2$I is not null limit $2) as part
      where whole.app_id = $1 and whole.id = part.id', loose_child, loose_via) using app, most;
    get diagnostics changed = row_count;
  elsif filled <> '{}' then
    select sum(row_count) into deleted
      from unnest(rowhouse.delete_rows(filled, app)) as gone (row_count);
    changed := deleted;
  end if;
end
$$;

grant execute on function rowhouse.enter_app(uuid) to rowhouse_rows;
grant create on schema rowhouse to rowhouse_rows;
alter function rowhouse.count_rows(text, uuid) owner to rowhouse_rows;
alter function rowhouse.delete_rows(text[], uuid) owner to rowhouse_rows;
alter function rowhouse.delete_some_rows(text[], uuid, integer) owner to rowhouse_rows;
revoke create on schema rowhouse from rowhouse_rows;
