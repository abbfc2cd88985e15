-- Lists with conditions, an order or a selection: builds the text of the only statement that is
-- not fixed when a push generates the functions. A generated function calls these functions with
-- its own constants and a plan of numbers. No name, operator or value from a caller becomes part
-- of the text: columns and values are selected by number, operators by name from the list below.
-- Any other name in a plan raises RH022.
--
-- The statement has the parameters $1 app, $2 values, $3 rows wanted, $4 max rows visited.

-- A value of the plan as an expression of this type.
create function rowhouse.query_value(ordinal int4, type text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select format('($2[%s])::%s', ordinal, type)
$$;

-- The name of an operator as SQL; null for any other name.
create function rowhouse.query_operator(name text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case name
    when 'eq' then ' operator(pg_catalog.=) '
    when 'neq' then ' operator(pg_catalog.<>) '
    when 'lt' then ' operator(pg_catalog.<) '
    when 'lte' then ' operator(pg_catalog.<=) '
    when 'gt' then ' operator(pg_catalog.>) '
    when 'gte' then ' operator(pg_catalog.>=) '
    when 'like' then ' operator(pg_catalog.~~) '
    -- A regular expression that lists the cases of each letter.
    when 'ilike' then ' operator(pg_catalog.~) '
  end
$$;

-- A condition as SQL: ["eq", column, value], ["in", column, first value, last value],
-- ["null", column], ["and", condition, …], ["or", condition, …] or ["not", condition].
create function rowhouse.query_condition(columns text[], types text[], condition jsonb)
returns text language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  name constant text := condition ->> 0;
  target text;
  type text;
  rendered text;
begin
  if name in ('and', 'or') then
    select format('(%s)', string_agg(
      rowhouse.query_condition(columns, types, part), format(' %s ', name) order by ordinal))
    into rendered
    from jsonb_array_elements(condition) with ordinality as parts (part, ordinal) where ordinal > 1;
  elsif name = 'not' then
    rendered := format('(not %s)', rowhouse.query_condition(columns, types, condition -> 1));
  else
    target := columns[(condition ->> 1)::int4];
    type := types[(condition ->> 1)::int4];
    if target is not null then
      rendered := case name
        when 'null' then format('(%s is null)', target)
        when 'in' then format('(%s operator(pg_catalog.=) any (($2[%s:%s])::%s[]))', target,
          (condition ->> 2)::int4, (condition ->> 3)::int4, type)
        else '(' || target || rowhouse.query_operator(name)
          || rowhouse.query_value((condition ->> 2)::int4, type) || ')'
      end;
    end if;
  end if;
  if rendered is null then
    raise exception 'no such condition' using errcode = 'RH022';
  end if;
  return rendered;
end
$$;

-- Compares columns with values in the order of an index: {"op", "values"}; the values belong to
-- the first columns of the walk.
create function rowhouse.query_bound(targets text[], types text[], bound jsonb) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select ' and (' || string_agg(targets[ordinal], ', ' order by ordinal) || ')'
    || rowhouse.query_operator(bound ->> 'op')
    || '('
    || string_agg(rowhouse.query_value(value::int4, types[ordinal]), ', ' order by ordinal)
    || ')'
  from jsonb_array_elements_text(bound -> 'values') with ordinality as listed (value, ordinal)
$$;

-- The statement of a plan. It returns the ids of the rows in order, whether it stopped at the max
-- number of visited rows, and the number of matching rows, if requested.
--
-- "walk": the columns of the index that orders the visited rows. "start" and "stop" bound the
-- walk; "at" continues an earlier walk instead of "start". PostgreSQL drops the condition "is
-- not null" on a required column, and then cannot use a partial index on rows with a value. So a
-- walk always has "stop", and its first column is compared again. "ids": the walk visits these
-- rows instead of a range.
--
-- "sort": the order, if it differs from the walk's. Every row of the walk is visited then.
create function rowhouse.query_statement(
  source text, columns text[], keys text[], types text[], plan jsonb) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  walk constant int4[] := array(
    select ordinal::int4 from jsonb_array_elements_text(plan -> 'walk') as listed (ordinal));
  targets constant text[] := array(
    select columns[ordinal] from unnest(walk) with ordinality as listed (ordinal, n) order by n);
  target_types constant text[] := array(
    select types[ordinal] from unnest(walk) with ordinality as listed (ordinal, n) order by n);
  way constant text := case when (plan ->> 'isDescending')::bool then ' desc' else '' end;
  matches text := case when plan ? 'filter'
    then rowhouse.query_condition(columns, types, plan -> 'filter') || ' is true' else 'true' end;
  is_after constant text := case when plan ? 'after'
    then rowhouse.query_condition(keys, types, plan -> 'after') || ' is true' else 'true' end;
  start text := case when plan ? 'start'
    then rowhouse.query_bound(targets, target_types, plan -> 'start') else '' end;
  stop text;
  rows_of text;
  page text;
  total text := 'null::pg_catalog.int8';
begin
  if plan ? 'index' and (
    select indisvalid from pg_index
    where indexrelid = to_regclass('data.' || quote_ident(plan ->> 'index'))) is not true then
    raise exception 'no such index' using errcode = 'RH021';
  end if;
  rows_of := format('from %s as "$t" where "$t"."app_id" operator(pg_catalog.=) $1', source);
  if plan ? 'ids' then
    stop := ' and ' || rowhouse.query_condition(columns, types, plan -> 'ids');
  else
    stop := rowhouse.query_bound(targets, target_types, plan -> 'stop')
      || case when jsonb_array_length(plan -> 'stop' -> 'values') > 1
        then rowhouse.query_bound(targets, target_types, jsonb_build_object(
          'op', case when way = '' then 'lte' else 'gte' end,
          'values', jsonb_build_array(plan -> 'stop' -> 'values' -> 0))) else '' end
      || ' order by ' || (
        select string_agg(target || way, ', ' order by n)
        from unnest(targets) with ordinality as listed (target, n));
  end if;
  if (plan ->> 'isCounted')::bool then
    total := format('(select case when pg_catalog.count(*) operator(pg_catalog.<=) $4'
      ' then pg_catalog.count(*) filter (where "$m") end'
      ' from (select %s as "$m" %s limit $4 operator(pg_catalog.+) 1) as "$v")',
      matches, rows_of || start || stop);
  end if;
  if plan ? 'sort' then
    page := (
      select format('with "$v" as materialized ('
        'select "$t"."id" as "$id", %s as "$m", %s as "$a", %s %s'
        ' limit $4 operator(pg_catalog.+) 1)'
        ' select array(select "$id" from "$v" where "$m" and "$a" order by %s limit $3),'
        ' (select pg_catalog.count(*) operator(pg_catalog.>) $4 from "$v"), %s',
        matches, is_after,
        string_agg(format('%s as "$k%s"', keys[(key ->> 0)::int4], n), ', ' order by n),
        rows_of || start || stop,
        string_agg(format('"$k%s"%s', n,
          case when (key ->> 1)::bool then ' desc nulls last' else '' end), ', ' order by n),
        total)
      from jsonb_array_elements(plan -> 'sort') with ordinality as listed (key, n));
  else
    if plan ? 'at' then
      -- The start can be after the position of a cursor from another query.
      matches := matches || start;
      start := rowhouse.query_bound(targets, target_types, plan -> 'at');
    end if;
    -- Every visited row matches: PostgreSQL plans this much faster without numbering.
    if matches = 'true' then
      return format('select pg_catalog.array_agg("$id"),'
        ' pg_catalog.count(*) operator(pg_catalog.=) $4, %s'
        ' from (select "$t"."id" as "$id" %s limit least($3, $4)) as "$v"',
        total, rows_of || start || stop);
    end if;
    page := format('select pg_catalog.array_agg("$id" order by "$n"),'
      ' coalesce(pg_catalog.bool_or("$n" operator(pg_catalog.=) $4), false), %s from ('
      'select "$id", "$n" from (select "$id", "$m", pg_catalog.row_number() over () as "$n" from ('
      'select "$t"."id" as "$id", (%s) as "$m" %s limit $4) as "$v") as "$v"'
      ' where "$m" or "$n" operator(pg_catalog.=) $4 limit $3) as "$v"',
      total, matches, rows_of || start || stop);
  end if;
  if page is null then
    raise exception 'no such query' using errcode = 'RH022';
  end if;
  return page;
end
$$;

grant execute on function rowhouse.query_value, rowhouse.query_operator, rowhouse.query_condition,
  rowhouse.query_bound, rowhouse.query_statement to rowhouse_tenant;
