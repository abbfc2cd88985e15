-- Lists with conditions, an order or a selection: builds the text of the only statement that is
-- not fixed when a push generates the functions. A generated function calls these functions with
-- its own constants and a plan of numbers. No name, operator or value from a caller becomes part
-- of the text: columns and values are selected by number, operators by name from the list below.
-- Any other name in a plan raises RH022.
--
-- The statement has the parameters $1 app, $2 values, $3 rows wanted, $4 max rows visited, $5 max
-- work of comparing texts.

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

-- The visited rows of a plan as a query: "$id" in the order of "$n"; whether the row matches
-- ("$q"); and why the visits end before this row, if they do ("$cut"). "rows_of" is the rows of the
-- walk; "matches" and "is_within" are conditions on them; "more" are values for an order, "$k1" and
-- so on.
--
-- The visits end after $4 rows, and before a row whose texts would exceed the work $5. "text" of
-- the plan has the conditions that read texts ("filter"), all of their columns, and for each text
-- that they read [column, work per byte, max bytes read] ("reads"). PostgreSQL knows the length of
-- a text without decompression, so only texts within $5 are read. The texts of the first row are
-- always read.
create function rowhouse.query_visits(columns text[], types text[], plan jsonb,
  rows_of text, matches text, is_within text, more text[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  passed constant text[] := array(
    select format('"$c%s"', n) from generate_series(1, cardinality(columns)) as listed (n));
  compared text := '"$m"';
  texts text := '';
  work text := '0';
begin
  if plan ? 'text' then
    compared := format('"$m" and case when "$w" operator(pg_catalog.<=) $5 then %s is true end',
      rowhouse.query_condition(passed, types, plan -> 'text' -> 'filter'));
    select string_agg(format(', %s as %s', columns[n::int4], passed[n::int4]), '') into texts
    from jsonb_array_elements_text(plan -> 'text' -> 'columns') as listed (n);
    -- A comparison costs about as much as the comparison of 64 bytes, even of an empty text.
    select format('case when %s then least(%s, $5)::pg_catalog.int4 else 0 end', matches,
      string_agg(format('coalesce(least(pg_catalog.octet_length(%s), %s)'
        ' operator(pg_catalog.+) 64, 0)::pg_catalog.int8 operator(pg_catalog.*) %s',
        columns[(read ->> 0)::int4],
        (read ->> 2)::int4, (read ->> 1)::int4), ' operator(pg_catalog.+) ')) into work
    from jsonb_array_elements(plan -> 'text' -> 'reads') as listed (read);
  end if;
  return format('select "$id", "$n", %s as "$q",'
    ' case when "$n" operator(pg_catalog.>) $4 then ''visits'''
    ' when "$w" operator(pg_catalog.>) $5 then ''text'' end as "$cut"%s'
    -- "$z" counts the rows after the end: PostgreSQL stops at the first of them.
    ' from (select *, pg_catalog.row_number() over "$o" as "$n",'
    ' pg_catalog.sum("$x") over "$o" as "$w",'
    ' pg_catalog.count(*) filter (where not "$b") over "$o" as "$z"'
    ' from (select "$t"."id" as "$id", (%s) as "$m", (%s) is true as "$b", %s as "$x"%s%s %s'
    ' limit $4 operator(pg_catalog.+) 1) as "$v" window "$o" as (rows unbounded preceding)) as "$v"'
    ' where "$z" operator(pg_catalog.<=) 0'
    ' and "$w" operator(pg_catalog.-) "$x" operator(pg_catalog.<=) $5',
    compared,
    (select string_agg(format(', "$k%s"', n), '' order by n)
      from generate_series(1, cardinality(more)) as listed (n)),
    matches, is_within, work, texts,
    (select string_agg(format(', %s as "$k%s"', value, n), '' order by n)
      from unnest(more) with ordinality as listed (value, n)),
    rows_of);
end
$$;

-- The statement of a plan. It returns the ids of the rows in order, why the visits ended early
-- ("visits" or "text"), and the number of matching rows, if requested. If the visits of a walk
-- ended early, the last id is the first row that was not compared.
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
  is_within text := 'true';
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
    stop := rowhouse.query_bound(targets, target_types, plan -> 'stop');
    if jsonb_array_length(plan -> 'stop' -> 'values') > 1 then
      -- Before PostgreSQL 18, only the first column of a row comparison ends a scan, and rows
      -- that the scan skips are not visits. So these versions compare the rest of the stop after
      -- the visit.
      if current_setting('server_version_num')::int4 < 180000 then
        is_within := 'true' || stop;
        stop := '';
      end if;
      stop := stop || rowhouse.query_bound(targets, target_types, jsonb_build_object(
        'op', case when way = '' then 'lte' else 'gte' end,
        'values', jsonb_build_array(plan -> 'stop' -> 'values' -> 0)));
    end if;
    stop := stop || ' order by ' || (
      select string_agg(target || way, ', ' order by n)
      from unnest(targets) with ordinality as listed (target, n));
  end if;
  if (plan ->> 'isCounted')::bool then
    total := format('(select case when pg_catalog.count("$cut") operator(pg_catalog.=) 0'
      ' then pg_catalog.count(*) filter (where "$q") end from (%s) as "$v")',
      rowhouse.query_visits(
        columns, types, plan, rows_of || start || stop, matches, is_within, '{}'));
  end if;
  if plan ? 'sort' then
    page := (
      select format('with "$v" as materialized (%s)'
        ' select array(select "$id" from "$v" where "$q" and "$k1" order by %s limit $3),'
        ' (select pg_catalog.max("$cut") from "$v"), %s',
        rowhouse.query_visits(columns, types, plan, rows_of || start || stop, matches, is_within,
          is_after || array_agg(keys[(key ->> 0)::int4] order by n)),
        string_agg(format('"$k%s"%s', n + 1,
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
    if matches = 'true' and is_within = 'true' and not plan ? 'text' then
      return format('select pg_catalog.array_agg("$id"),'
        ' case when pg_catalog.count(*) operator(pg_catalog.>) $4 then ''visits'' end, %s'
        ' from (select "$t"."id" as "$id" %s'
        ' limit least($3, $4 operator(pg_catalog.+) 1)) as "$v"',
        total, rows_of || start || stop);
    end if;
    page := format('select pg_catalog.array_agg("$id" order by "$n"), pg_catalog.max("$cut"), %s'
      ' from (select "$id", "$n", "$cut" from (%s) as "$v"'
      ' where "$q" or "$cut" is not null limit $3) as "$v"',
      total, rowhouse.query_visits(
        columns, types, plan, rows_of || start || stop, matches, is_within, '{}'));
  end if;
  if page is null then
    raise exception 'no such query' using errcode = 'RH022';
  end if;
  return page;
end
$$;

grant execute on function rowhouse.query_value, rowhouse.query_operator, rowhouse.query_condition,
  rowhouse.query_bound, rowhouse.query_visits, rowhouse.query_statement to rowhouse_tenant;
