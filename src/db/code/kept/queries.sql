-- The planner of lists with conditions that the functions of 0.1 call: the text of a statement that
-- searches indexes below row security, by leakproof operators, and visits a limited number of rows.
-- Processes of 0.1 call these functions until the contract step.
--
-- The statement has the parameters $1 app, $2 values, $3 rows wanted, $4 max rows visited, $5 max
-- work of comparing texts.

-- A value of the plan as an expression of this type.
create function rowhouse.query_value(ordinal int4, type text) returns text
language sql immutable
return pg_catalog.format('($2[%s])::%s', ordinal, type);

-- The name of an operator as SQL; null for any other name.
create function rowhouse.query_operator(name text) returns text
language sql immutable
return case name
  when 'eq' then ' operator(pg_catalog.=) '
  when 'neq' then ' operator(pg_catalog.<>) '
  when 'lt' then ' operator(pg_catalog.<) '
  when 'lte' then ' operator(pg_catalog.<=) '
  when 'gt' then ' operator(pg_catalog.>) '
  when 'gte' then ' operator(pg_catalog.>=) '
  when 'like' then ' operator(pg_catalog.~~) '
  -- A regular expression that lists the cases of each letter.
  when 'ilike' then ' operator(pg_catalog.~) '
end;

-- The ids that a value of the plan lists as an array of this type.
create function rowhouse.query_set(ordinal int4, type text) returns text
language sql immutable
return pg_catalog.format('pg_catalog.string_to_array($2[%s], '','')::%s[]', ordinal, type);

-- A condition as SQL: ["eq", column, value], ["in", column, first value, last value],
-- ["set", column, value], ["null", column], ["and", condition, …], ["or", condition, …] or
-- ["not", condition].
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
        when 'set' then format('(%s operator(pg_catalog.=) any (%s))', target,
          rowhouse.query_set((condition ->> 2)::int4, type))
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
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  ordinals constant int4[] := translate(bound ->> 'values', '[]', '{}');
  compared text;
  given text;
begin
  if bound is null then
    return '';
  end if;
  for n in 1..coalesce(cardinality(ordinals), 0) loop
    compared := case n when 1 then targets[n] else compared || ', ' || targets[n] end;
    given := case n when 1 then '' else given || ', ' end
      || rowhouse.query_value(ordinals[n], types[n]);
  end loop;
  if compared || given || rowhouse.query_operator(bound ->> 'op') is null then
    raise exception 'no such bound' using errcode = 'RH022';
  end if;
  return ' and (' || compared || ')' || rowhouse.query_operator(bound ->> 'op') || '(' || given
    || ')';
end
$$;

-- The values of a plan with its sets: the ids of the rows of other tables that meet conditions. A
-- set has the function of the other table ("call"), its plan and values, and the number of the
-- value that becomes the ids ("at").
create function rowhouse.fill_sets(app uuid, proof bytea, sets jsonb, given text[]) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  filled text[] := given;
  part jsonb;
  ids text;
begin
  for part in select value from jsonb_array_elements(sets) loop
    if (part ->> 'call' ~ '_query$' and part -> 'plan' ? 'set'
      and (part ->> 'at')::int4 between 1 and cardinality(given)) is not true then
      raise exception 'no such set' using errcode = 'RH022';
    end if;
    execute format('select api.%I($1, $2, $3, $4, 0, null)', part ->> 'call') into ids
    using app, proof, (part -> 'plan')::text,
      array(select jsonb_array_elements_text(part -> 'values'));
    filled[(part ->> 'at')::int4] := ids;
  end loop;
  return filled;
end
$$;

-- The plan, or the plan "large" if the walk would search an index for more than the ids in "most".
create function rowhouse.choose_plan(plan jsonb, filled text[]) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when plan ? 'large' and coalesce(cardinality(string_to_array(
      filled[(plan -> 'in' -> 0 ->> 0)::int4], ',')) > (plan ->> 'most')::int4, true)
    then plan -> 'large' else plan end
$$;

-- The visited rows of a plan as a query: "$id" in the order of "$n"; whether the row matches
-- ("$q"); and why the visits end before this row, if they do ("$cut"). "rows_of" is the rows of the
-- walk, in two parts if nulls come last; "matches" and "is_within" are conditions on them; "more"
-- are values for an order, "$k1" and so on, of the columns that the plan passes on.
--
-- The visits end after $4 rows, and before a row whose texts would exceed the work $5. "text" of
-- the plan has the conditions that read texts ("filter") and for each text that is read [column,
-- work per byte, max bytes read, whether the walk reads it in each row] ("reads"). PostgreSQL knows
-- the length of a text without decompression, so only texts within $5 are read. The texts of the
-- first row are always read.
create function rowhouse.query_visits(columns text[], types text[], plan jsonb,
  rows_of text[], matches text, is_within text, more text[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  ordinals constant int4[] := coalesce(translate(plan ->> 'passed', '[]', '{}'), '{}');
  passed text[] := array_fill(null::text, array[cardinality(columns)]);
  compared text := '"$m"';
  texts text := '';
  ended text := '';
  work text := '0';
  walk text := '';
  numbered text;
  values_of text := '';
  ordinal int4;
  part text;
begin
  foreach ordinal in array ordinals loop
    if columns[ordinal] is null then
      raise exception 'no such column' using errcode = 'RH022';
    end if;
    passed[ordinal] := format('"$c%s"', ordinal);
    texts := texts || format(', %s as %s', columns[ordinal], passed[ordinal]);
  end loop;
  if plan ? 'merged' then
    texts := texts || ', "$i"."$e"';
    ended := ' or "$e"';
  end if;
  if plan -> 'text' ? 'filter' then
    compared := format('"$m" and case when "$w" operator(pg_catalog.<=) $5 then %s is true end',
      rowhouse.query_condition(passed, types, plan -> 'text' -> 'filter'));
  end if;
  if plan ? 'text' then
    -- A comparison costs about as much as the comparison of 64 bytes, even of an empty text. A row
    -- without the text costs nothing: "least" ignores nulls.
    select format('least(case when %s then %s else 0 end operator(pg_catalog.+) %s, $5)'
      '::pg_catalog.int4', matches,
      coalesce(string_agg(units, ' operator(pg_catalog.+) ') filter (where not is_walked), '0'),
      coalesce(string_agg(units, ' operator(pg_catalog.+) ') filter (where is_walked), '0'))
    into work
    from (
      select coalesce((read ->> 3)::bool, false) as is_walked,
        format('(least(coalesce(pg_catalog.octet_length(%s), -64), %s)'
          ' operator(pg_catalog.+) 64)::pg_catalog.int8 operator(pg_catalog.*) %s',
          columns[(read ->> 0)::int4], (read ->> 2)::int4, (read ->> 1)::int4) as units
      from jsonb_array_elements(plan -> 'text' -> 'reads') as listed (read)) as listed;
  end if;
  foreach part in array rows_of loop
    part := format('select "$t"."id" as "$id", (%s) as "$m", (%s) is true as "$b",'
      ' %s as "$x"%s %s limit $4 operator(pg_catalog.+) 1', matches, is_within, work, texts, part);
    -- The end of one part is not the end of the next.
    walk := walk || case walk when '' then '' else ' union all ' end
      || format(case when is_within = 'true' or cardinality(rows_of) = 1 then '(%s)'
        else '(select * from (select *, pg_catalog.count(*) filter (where not "$b")'
          ' over (rows unbounded preceding) as "$e" from (%s) as "$v") as "$v"'
          ' where "$e" operator(pg_catalog.<=) 0)' end, part);
  end loop;
  numbered := format('select *, pg_catalog.row_number() over "$o" as "$n"%s'
    ' from (select * from (%s) as "$v" limit $4 operator(pg_catalog.+) 1) as "$v"'
    ' window "$o" as (rows unbounded preceding)',
    case when plan ? 'text' then ', pg_catalog.sum("$x") over "$o" as "$w"'
      when is_within <> 'true'
        then ', pg_catalog.count(*) filter (where not "$b") over "$o" as "$z"' else '' end,
    walk);
  if plan ? 'text' then
    -- The walk also reads each longer text for its MD5, so it must not continue after the work.
    numbered := format('select *, pg_catalog.count(*) filter (where not "$b"'
      ' or "$w" operator(pg_catalog.-) "$x" operator(pg_catalog.>) $5)'
      ' over (rows unbounded preceding) as "$z" from (%s) as "$v"', numbered);
  end if;
  for n in 1..cardinality(more) loop
    values_of := values_of || format(', %s as "$k%s"', more[n], n);
  end loop;
  return format('select "$id", "$n", %s as "$q",'
    ' case when "$n" operator(pg_catalog.>) $4 %s then ''visits''%s end as "$cut"%s'
    ' from (%s) as "$v" where %s',
    compared, ended,
    case when plan ? 'text' then ' when "$w" operator(pg_catalog.>) $5 then ''text''' else '' end,
    values_of, numbered,
    -- "$z" counts the rows after the end: PostgreSQL stops at the first of them.
    case when plan ? 'text' or is_within <> 'true' then '"$z" operator(pg_catalog.<=) 0'
      else 'true' end);
end
$$;

-- The rows with one of several values, for each value in the order of an index: "in" of the plan
-- has the first and the last value of each column of the walk, or the value that lists ids. The row
-- comparison and the order leave PostgreSQL only that index. The first row after a value ends its
-- visits.
create function rowhouse.query_each(source text, targets text[], types text[], plan jsonb)
returns text language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return (select format('from (select distinct * from rows from (%1$s) as "$i" (%2$s)) as "$i"'
    ' cross join lateral (select * from ('
    'select *, pg_catalog.count(*) filter (where (%3$s) operator(pg_catalog.>) (%4$s))'
    ' over (rows unbounded preceding) as "$z" from (select * from %5$s as "$t"'
    ' where "$t"."app_id" operator(pg_catalog.=) $1'
    ' and (%3$s) operator(pg_catalog.>=) (%4$s) and %6$s operator(pg_catalog.<=) "$i"."$a1"'
    ' order by %3$s limit $4 operator(pg_catalog.+) 1) as "$t") as "$t"'
    ' where "$z" operator(pg_catalog.<=) 0) as "$t"',
    string_agg(format('pg_catalog.unnest(%s)', case when range ->> 1 is null
      then rowhouse.query_set((range ->> 0)::int4, types[n])
      else format('($2[%s:%s])::%s[]', (range ->> 0)::int4, (range ->> 1)::int4, types[n]) end),
      ', ' order by n),
    string_agg(format('"$a%s"', n), ', ' order by n),
    string_agg(targets[n], ', ' order by n),
    string_agg(format('"$i"."$a%s"', n), ', ' order by n),
    source, targets[1])
  from jsonb_array_elements(plan -> 'in') with ordinality as listed (range, n));
end
$$;

-- The rows of an ascending walk before rows without a value in its last column. PostgreSQL before
-- 18 reads those too, and rows that a bound skips are not visits. So a search from the end finds
-- the last two rows ("$e"), and the walk ends at the first of them: a window reads one row more.
create function rowhouse.query_before_nulls(rows_of text, targets text[], start text, stop text)
returns text language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return format('from (select array(select "$t"."id" from ('
    'select * %1$s%2$s order by %3$s limit 2) as "$t" where true%4$s) as "$e" limit 1) as "$e"'
    ' cross join lateral (select * from (select *,'
    ' pg_catalog.count(*) filter (where "$t"."id" operator(pg_catalog.=) "$e"[2])'
    ' over (rows unbounded preceding) as "$z" from (select * %1$s%4$s%2$s and "$e"[2] is not null'
    ' order by %5$s limit $4 operator(pg_catalog.+) 1) as "$t") as "$t"'
    ' where "$z" operator(pg_catalog.<=) 0%6$s) as "$t"',
    rows_of, stop, array_to_string(targets, ' desc, ') || ' desc', start,
    array_to_string(targets, ', '), (
      select string_agg(format(' union all select *, 0::pg_catalog.int8 %s'
        ' and "$t"."id" operator(pg_catalog.=) "$e"[%s]', rows_of, n), '' order by n desc)
      from generate_series(1, 2) as listed (n)));
end
$$;

-- The rows of several walks, each once: of each alternative of a rule the rows with its values, in
-- the order of ids. A walk has these texts: the name of its index; a query of the references "$ref"
-- of the person's memberships "$m" if the walk is for each of these; its rows, without an end; the
-- columns of the index that have values, without the id if it is next, and the values; the end of
-- the walk by the first of them, upwards and downwards; both orders; the condition that a found row
-- is one of the walk; "id" if that is the next column; and both orders of the found rows.
--
-- A walk compares these columns and the id as one row, and has them all in its order, so that only
-- its index serves it, whatever the statistics are: rows after the walk are the last of those that
-- the limit allows. The references share the visits: where the walk of one is cut short, further
-- rows are not known, so that this row ("$e") is the last. "starts" and "stops" are bounds of the
-- id.
--
-- The last text is a condition that leaves out rows of the walk which the rest of the alternative
-- removes. So they count for no limit, and what ends the visits never depends on a row that the
-- person does not see. Rows after the walk fulfill it: they must count, to end the search.
create function rowhouse.rule_rows(walks text[], source text, type text, starts jsonb, stops jsonb,
  way text)
returns text language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  by_id constant text := ' order by "$t"."id"' || way;
  ids constant text[] := array['"$t"."id"'];
  bound constant text := rowhouse.query_bound(ids, array[type], starts)
    || rowhouse.query_bound(ids, array[type], stops);
  -- The number of the value from which the walks begin.
  ordinal constant int4 := (starts -> 'values' ->> 0)::int4;
  -- A row that the start excludes must not count for the limit.
  after text;
  united text;
  targets text;
  given text;
  most text;
begin
  for n in 1..array_length(walks, 1) loop
    targets := nullif(walks[n][4], '');
    given := walks[n][5];
    after := rowhouse.query_operator(case way when '' then 'gte' else 'lte' end);
    if walks[n][11] = 'id' and ordinal is not null then
      targets := concat_ws(', ', targets, ids[1]);
      given := concat_ws(', ', nullif(given, ''), rowhouse.query_value(ordinal, type));
      after := rowhouse.query_operator(starts ->> 'op');
    end if;
    most := case when walks[n][2] is null then '$4' else '"$m"."$l"' end;
    targets := format('(select "$t"."id"%s from (%s%s%s%s order by %s'
      ' limit %s operator(pg_catalog.+) 1) as "$t" where true%s%s order by %s)',
      case when walks[n][2] is null then ', false as "$e"'
        else ', pg_catalog.row_number() over () operator(pg_catalog.>) "$m"."$l" as "$e"' end,
      walks[n][3], coalesce(' and (' || targets || ')' || after || '(' || given || ')', ''),
      walks[n][case way when '' then 6 else 7 end], coalesce(walks[n][14], ''),
      walks[n][case way when '' then 8 else 9 end],
      most, walks[n][10], bound, walks[n][case way when '' then 12 else 13 end]);
    if walks[n][2] is not null then
      targets := format('(select "$w".* from (select *, greatest(1, $4 operator(pg_catalog./)'
        ' pg_catalog.count(*) over ()) as "$l" from (%s) as "$o") as "$m"'
        ' cross join lateral %s as "$w")', walks[n][2], targets);
    end if;
    united := case when united is null then '' else united || ' union all ' end || targets;
  end loop;
  return format('from (select * from (select *,'
    ' pg_catalog.count(*) filter (where "$e")'
    ' over (%3$s rows between unbounded preceding and 1 preceding) as "$z" from ('
    'select "$t"."id", pg_catalog.bool_or("$t"."$e") as "$e" from (%1$s) as "$t"'
    ' group by "$t"."id" %3$s) as "$t" %3$s) as "$t" where "$z" operator(pg_catalog.<=) 0'
    ' %3$s) as "$i"'
    ' cross join lateral (select * from %2$s as "$t" where "$t"."app_id" operator(pg_catalog.=) $1'
    ' and "$t"."id" operator(pg_catalog.=) "$i"."id" offset 0) as "$t" %4$s',
    united, source, by_id, ' order by "$i"."id"' || way);
end
$$;

-- A condition on an enum: ["is", column, label], ["null", column] or ["present", column]. The label
-- is a literal, which proves what rows a partial index has; it is read from the column's type.
create function rowhouse.query_label(columns text[], types text[], test jsonb) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  target constant text := columns[(test ->> 1)::int4];
  type constant text := types[(test ->> 1)::int4];
  rendered text;
begin
  if target is not null then
    rendered := case test ->> 0
      when 'null' then format(' and %s is null', target)
      when 'present' then format(' and %s is not null', target)
      when 'is' then (
        select format(' and %s operator(pg_catalog.=) %L::%s', target, enumlabel, type)
        from pg_enum where enumtypid = to_regtype(type) and enumlabel = test ->> 2)
    end;
  end if;
  if rendered is null then
    raise exception 'no such condition' using errcode = 'RH022';
  end if;
  return rendered;
end
$$;

-- The columns that a person sees, with the keys of those along which a plan walks: a table has the
-- key of a column only if an index needs it. No other column has a name with #.
create function rowhouse.with_keys(source text, targets text[]) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case when starts_with(source, '(select ') then '(select ' || coalesce((
      select string_agg(distinct found[1] || ', ', '')
      from unnest(targets) as listed (target),
        regexp_matches(target, '"[$]t"[.]"#[^"]*"', 'g') as found
    ), '') || substr(source, 9) else source end
$$;

-- Whether the branches have all rows of an enum: a branch for each label of its type, unless its
-- value was dropped, and one for nulls, unless the column is required.
create function rowhouse.query_covers(source text, type text, branches jsonb) returns bool
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (select count(*) filter (where branch -> 1 ->> 0 = 'is') = (
      select count(*) from pg_enum where enumtypid = to_regtype(type)
        and enumlabel not like 'dropped by migration %')
    and (bool_or(branch -> 1 ->> 0 = 'null') or (
      select bool_and(attnotnull) from pg_attribute where attrelid = to_regclass(source)
        and atttypid = to_regtype(type) and not attisdropped))
    from jsonb_array_elements(branches) as listed (branch));
end
$$;

-- A part of a value in an order: 0 for the value, and for a text 1 for its first 63 bytes and 2 for
-- the MD5 of a longer text.
create function rowhouse.sorted_part(target text, part int4) returns text
language sql immutable
return case part
  when 0 then target
  when 1 then pg_catalog.format(
    '(pg_catalog.left(%s, 63)::pg_catalog.name collate pg_catalog."C")', target)
  else pg_catalog.format('(case when pg_catalog.octet_length(%1$s) operator(pg_catalog.<=) 63'
    ' then '''' else pg_catalog.md5(%1$s) end collate pg_catalog."C")', target)
end;

-- The statement of a plan. It returns the ids of the rows in order, why the visits ended early
-- ("visits" or "text"), and the number of matching rows, if requested. If the visits of a walk
-- ended early, the last id is the first row that was not compared.
--
-- A plan numbers the columns, then the starts of their values, then the rests. "keys" are these
-- parts as indexes contain them, null for a column that has none; "types" are the types of all.
-- Only "tie" also has the SHA-256 of texts, after these.
--
-- "walk": the columns of the index that orders the visited rows. "start" and "stop" bound the
-- walk; "at" continues an earlier walk instead of "start", from the rows on that fulfill "tie".
-- PostgreSQL drops the condition "is not null" on a required column, and then cannot use a partial
-- index on rows with a value. So a walk always has "stop", and its first column is compared again.
-- "in": the walk visits the rows with these values instead of a range. "nulls": the walk visits
-- the rows without a value in the first column of the index after the others ("last"), or "only"
-- them; "at" of a walk that is among these rows ("isAmongNulls") has the values after the parts of
-- that column. "isBeforeNulls": the walk ends before rows without a value in a later column.
--
-- "branches": the indexes whose rows the walk visits one after the other, with the conditions that
-- each requires: [name, condition of rowhouse.query_label, …]. Only a sort has several. "covered":
-- the enum of which they must have all rows.
--
-- "sort": the order, if it differs from the walk's. Every row of the walk is visited then.
--
-- "total": the plan of the count, if it visits other rows than the page ("isTotal" inside).
--
-- "source" is the table, or for a person a query of its columns that the person sees; "seen" is
-- then the condition on "$t" for the rows that the person sees. Other rows are no visits: no
-- condition is evaluated on them, and no order, limit or error depends on them. Otherwise a person
-- could find the values of other people by what ends a page.
--
-- "merged": the walk by id visits only the rows of "walks" of rowhouse.rule_rows. Rows that the
-- person reads are all of these. Without their indexes, or if these rows are not known (null), the
-- walk reads all rows of the app.
create function rowhouse.view_statement(relation text, source text, seen text, walks text[],
  columns text[], keys text[], types text[], plan jsonb) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  size constant int4 := cardinality(columns);
  numbered constant text[] := columns || keys;
  walk constant int4[] := coalesce(translate(plan ->> 'walk', '[]', '{}'), '{}');
  targets text[] := '{}';
  target_types text[] := '{}';
  way constant text := case when (plan ->> 'isDescending')::bool then ' desc' else '' end;
  nulls constant text := coalesce(plan ->> 'nulls', '');
  is_before_nulls constant bool := plan ? 'isBeforeNulls'
    and current_setting('server_version_num')::int4 < 180000;
  -- The parts of the first column.
  first int4 := 0;
  no_value text := '';
  matches text := case when plan ? 'filter'
    then rowhouse.query_condition(numbered, types, plan -> 'filter') || ' is true' else 'true' end;
  start text;
  stop text := '';
  is_within text := 'true';
  in_order text := '';
  sorted text[];
  needed text[];
  unbuilt text;
  rows_of text;
  branches text[];
  parts text[] := '{}';
  most_counted constant int4 := case when seen = 'true' then (plan ->> 'counted')::int4
    else greatest((plan ->> 'counted')::int4, ${MAX_VISITS}) end;
  ordinal int4;
  target text;
  page text;
  rows_source text;
  total text := 'null::pg_catalog.int8';
  count_plan jsonb;
begin
  needed := case when plan ? 'branches' then array(
    select branch ->> 0 from jsonb_array_elements(plan -> 'branches') as listed (branch))
    else array_remove(array[plan ->> 'index'], null) end;
  foreach target in array needed loop
    if (select indisvalid from pg_index
      where indexrelid = to_regclass('data.' || quote_ident(target))) is not true then
      unbuilt := target;
      exit;
    end if;
  end loop;
  if unbuilt is null and plan ? 'covered' and rowhouse.query_covers(
    relation, types[(plan ->> 'covered')::int4], plan -> 'branches') is not true then
    unbuilt := plan -> 'branches' -> 0 ->> 0;
  end if;
  if unbuilt is not null then
    raise exception 'no such index' using errcode = 'RH021', detail = unbuilt;
  end if;
  for n in 1..cardinality(walk) loop
    ordinal := walk[n];
    target := numbered[ordinal];
    targets := targets || target;
    target_types := target_types || types[ordinal];
    in_order := in_order || case n when 1 then ' order by ' else ', ' end || target || way;
    if (ordinal - walk[1]) % size = 0 then
      first := n;
      -- Without the collation, as in the condition of the index.
      no_value := no_value
        || format(' and %s is null', replace(target, ' collate pg_catalog."C"', ''));
    end if;
  end loop;
  if walk = '{}' or array_position(targets, null) is not null then
    raise exception 'no such walk' using errcode = 'RH022';
  end if;
  if plan ? 'merged' and (walks is null or not (plan ->> 'merged')::bool or exists (
    select from generate_subscripts(walks, 1) as listed (n) where walks[n][1] <> '' and not exists (
      select from pg_index where indisvalid
        and indexrelid = to_regclass('data.' || quote_ident(walks[n][1]))))) then
    plan := plan - 'merged';
  end if;
  if plan ? 'merged' and (targets <> array['"$t"."id"'] or nulls <> '' or plan ? 'in'
    or plan ? 'branches') then
    raise exception 'no such walk' using errcode = 'RH022';
  end if;
  start := rowhouse.query_bound(targets, target_types, plan -> 'start');
  rows_source := rowhouse.with_keys(source, targets);
  if plan ? 'merged' then
    -- A row that the person reads but may not write can be the end of a walk.
    matches := case when seen = 'true' then matches when matches = 'true' then seen
      else seen || ' and ' || matches end;
  elsif seen <> 'true' then
    -- With "case" the rule leads to no other index or join than those of the walk.
    rows_source := format('(select * from %s as "$t" where case when %s then true end)',
      rows_source, seen);
  end if;
  rows_of := format('from %s as "$t" where "$t"."app_id" operator(pg_catalog.=) $1', rows_source);
  if plan ? 'in' then
    in_order := '';
    rows_of := rowhouse.query_each(rows_source, targets, target_types, plan);
  else
    if nulls <> 'only' then
      stop := rowhouse.query_bound(targets, target_types, plan -> 'stop');
      if jsonb_array_length(plan -> 'stop' -> 'values') > 1 then
        -- Before PostgreSQL 18, only the first column of a row comparison ends a scan, and rows
        -- that the scan skips are not visits. So these versions compare the rest of the stop
        -- after the visit.
        if not is_before_nulls and current_setting('server_version_num')::int4 < 180000 then
          is_within := 'true' || stop;
          stop := '';
        end if;
        stop := stop || rowhouse.query_bound(targets, target_types, jsonb_build_object(
          'op', case when way = '' then 'lte' else 'gte' end,
          'values', jsonb_build_array(plan -> 'stop' -> 'values' -> 0)));
      end if;
    end if;
  end if;
  branches := case when plan ? 'branches' then array(
    select rows_of || coalesce((
      select string_agg(rowhouse.query_label(columns, types, test), '' order by tests.n)
      from jsonb_array_elements(branch) with ordinality as tests (test, n) where tests.n > 1), '')
    from jsonb_array_elements(plan -> 'branches') with ordinality as listed (branch, n)
    order by listed.n) else array[rows_of] end;
  rows_of := branches[1];
  foreach target in array branches loop
    parts := parts || case when is_before_nulls
      then rowhouse.query_before_nulls(target, targets, start, stop)
      else target || case when nulls = 'only' then no_value else start || stop end || in_order end;
  end loop;
  if nulls = 'last' then
    parts := parts || (rows_of || no_value || in_order);
  end if;
  if plan ? 'merged' then
    parts := array[rowhouse.rule_rows(
      walks, rows_source, target_types[1], plan -> 'start', plan -> 'stop', way)];
  end if;
  if plan ? 'grouped' then
    -- The visits for groups, with the columns in "grouped".
    return (select format('(select "$q", "$cut"%s from (%s) as "$v")',
      coalesce(string_agg(format(', "$k%s" as "$c%s"', n, number), '' order by n), ''),
      rowhouse.query_visits(columns, types, plan, parts, matches, is_within,
        coalesce(array_agg(format('"$c%s"', number) order by n), '{}')))
      from jsonb_array_elements_text(plan -> 'grouped') with ordinality as listed (number, n));
  end if;
  if (plan ->> 'isCounted')::bool then
    if plan ? 'total' then
      count_plan := (plan -> 'total') - 'total' - 'grouped'
        || '{"isCounted": true, "isTotal": true}';
      total := rowhouse.view_statement(
        relation, source, seen, walks, columns, keys, types, count_plan);
    else
      total := format('(select case when pg_catalog.count("$cut") operator(pg_catalog.=) 0'
        ' then pg_catalog.count(*) filter (where "$q") end from (%s) as "$v")',
        rowhouse.query_visits(columns, types, plan, parts, matches, is_within, '{}'));
      if plan ? 'counted' then
        -- A count has its own limit of visits. The label of an enum in the text can contain "$4".
        total := replace(
          replace(total, '$4 operator(', format('%s operator(', most_counted)),
          'operator(pg_catalog.>) $4 ',
          format('operator(pg_catalog.>) %s ', most_counted));
      end if;
    end if;
    if plan ? 'isTotal' then
      return total;
    end if;
  end if;
  if plan ? 'sort' then
    -- The parts of a passed text. Its start needs no decompression of the rest. A row that does not
    -- match, or whose texts exceed the work, has no place in the order.
    sorted := array_fill(null::text, array[3 * size]);
    for ordinal in
      select (key ->> 0)::int4 from jsonb_array_elements(plan -> 'sort') as listed (key)
    loop
      if ordinal between 1 and 3 * size is not true then
        raise exception 'no such column' using errcode = 'RH022';
      end if;
      target := format('"$c%s"', (ordinal - 1) % size + 1);
      sorted[(ordinal - 1) % size + 1] := target;
      if ordinal > size then
        sorted[ordinal] := rowhouse.sorted_part(target, (ordinal - 1) / size);
        if ordinal > 2 * size then
          sorted[ordinal] := format(
            '(case when "$m" and "$w" operator(pg_catalog.<=) $5 then %s end)', sorted[ordinal]);
        end if;
      end if;
    end loop;
    page := (
      select format('with "$v" as materialized (%s)'
        ' select array(select "$id" from "$v" where "$q" and "$k1" order by %s limit $3),'
        ' (select pg_catalog.max("$cut") from "$v"), %s',
        rowhouse.query_visits(columns, types, plan, parts, matches, is_within,
          case when plan ? 'after'
            then rowhouse.query_condition(sorted, types, plan -> 'after') || ' is true'
            else 'true' end
          || array_agg(sorted[(key ->> 0)::int4] order by n)),
        string_agg(format('"$k%s"%s', n + 1,
          case when (key ->> 1)::bool then ' desc nulls last' else '' end), ', ' order by n),
        total)
      from jsonb_array_elements(plan -> 'sort') with ordinality as listed (key, n));
  else
    if plan ? 'at' then
      -- The start can be after the position of a cursor from another query.
      if nulls = '' then
        matches := matches || start;
      end if;
      if plan ? 'tie' then
        matches := matches || ' and ' || rowhouse.query_condition(
          numbered || array(
            select format('pg_catalog.sha256(pg_catalog.convert_to(%s, ''UTF8''))', listed)
            from unnest(columns) as listed),
          types || array_fill('pg_catalog.bytea'::text, array[size]), plan -> 'tie');
      end if;
      if nulls = 'only' or plan ? 'isAmongNulls' then
        parts := array[rows_of || no_value
          || rowhouse.query_bound(targets[first + 1:], target_types[first + 1:], plan -> 'at')
          || in_order];
      else
        start := rowhouse.query_bound(targets, target_types, plan -> 'at');
        parts[1] := case when plan ? 'merged' then rowhouse.rule_rows(walks, rows_source,
            target_types[1], plan -> 'at', plan -> 'stop', way)
          when is_before_nulls
          then rowhouse.query_before_nulls(rows_of, targets, start, stop)
          else rows_of || start || stop || in_order end;
      end if;
    end if;
    -- Every visited row matches: PostgreSQL plans this much faster without numbering.
    if matches = 'true' and is_within = 'true' and not plan ? 'text' then
      return format('select pg_catalog.array_agg("$id"),'
        ' case when pg_catalog.count(*) operator(pg_catalog.>) $4 then ''visits'' end, %s'
        ' from (select "$id" from (%s) as "$v" limit least($3, $4 operator(pg_catalog.+) 1))'
        ' as "$v"',
        total, (
          select string_agg(format('(select "$t"."id" as "$id" %s'
            ' limit least($3, $4 operator(pg_catalog.+) 1))', part), ' union all ' order by n)
          from unnest(parts) with ordinality as listed (part, n)));
    end if;
    page := format('select pg_catalog.array_agg("$id" order by "$n"), pg_catalog.max("$cut"), %s'
      ' from (select "$id", "$n", "$cut" from (%s) as "$v"'
      ' where "$q" or "$cut" is not null limit $3) as "$v"',
      total, rowhouse.query_visits(columns, types, plan, parts, matches, is_within, '{}'));
  end if;
  if page is null then
    raise exception 'no such query' using errcode = 'RH022';
  end if;
  return page;
end
$$;

-- The statement of a plan of an API key.
create function rowhouse.query_statement(
  source text, columns text[], keys text[], types text[], plan jsonb) returns text
language sql stable
return rowhouse.view_statement(source, source, 'true', null, columns, keys, types, plan);

grant execute on function rowhouse.query_value, rowhouse.query_set, rowhouse.query_operator,
  rowhouse.query_condition, rowhouse.query_bound, rowhouse.fill_sets, rowhouse.choose_plan,
  rowhouse.query_visits, rowhouse.query_each, rowhouse.query_before_nulls, rowhouse.rule_rows,
  rowhouse.query_label, rowhouse.with_keys, rowhouse.query_covers, rowhouse.sorted_part,
  rowhouse.view_statement, rowhouse.query_statement to rowhouse_tenant;
