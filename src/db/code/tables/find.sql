-- Finds rows by conditions and in an order: builds the text of the only statements that are not
-- fixed when a push generates the functions, and runs them as rowhouse_reader, so that PostgreSQL
-- can use every index and operator. Row security hides no row from that role: each statement has
-- the rows of its app in a subquery that no condition can escape. It returns ids. The generated
-- functions, which are the only callers, read the rows by these ids under forced row security.
--
-- A generated function calls with its own constants, which name its columns, and with a plan of
-- numbers. No name, operator or value of a request becomes part of the text: columns and values are
-- selected by number, operators by name from the list below. Any other name raises RH022.
--
-- The statements have the parameters $1 app, $2 values, $3 rows wanted, $4 the only ids that count,
-- $5 the person.

-- A value of the plan as an expression of this type.
create function rowhouse.query_value(ordinal int4, type text) returns text
language sql immutable
return pg_catalog.format('($2[%s])::%s', ordinal, type);

-- The ids that a value of the plan lists as an array of this type.
create function rowhouse.query_set(ordinal int4, type text) returns text
language sql immutable
return pg_catalog.format('pg_catalog.string_to_array($2[%s], '','')::%s[]', ordinal, type);

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

-- A condition as SQL: ["eq", column, value], ["in", column, first value, last value],
-- ["set", column, value], ["null", column], ["first", column], ["row", operator, columns, values],
-- ["and", condition, …], ["or", condition, …] or ["not", condition]. "first" is true for each value
-- of an enum, and "row" compares columns in the order of an index.
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
  elsif name = 'row' then
    select format('(%s)', string_agg(columns[listed.number::int4], ', ' order by n))
        || rowhouse.query_operator(condition ->> 1)
        || format('(%s)', string_agg(
          rowhouse.query_value(listed.value::int4, types[listed.number::int4]), ', ' order by n))
    into rendered
    from rows from (jsonb_array_elements_text(condition -> 2),
      jsonb_array_elements_text(condition -> 3)) with ordinality as listed (number, value, n)
    having bool_and(columns[listed.number::int4] is not null and listed.value is not null);
  else
    target := columns[(condition ->> 1)::int4];
    type := types[(condition ->> 1)::int4];
    if target is not null then
      rendered := case name
        when 'null' then format('(%s is null)', replace(target, ' collate pg_catalog."C"', ''))
        when 'first' then format(
          '(%s operator(pg_catalog.>=) pg_catalog.enum_first(null::%s))', target, type)
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

-- The condition in "where", if there is one.
create function rowhouse.query_conditions(columns text[], types text[], plan jsonb) returns text
language sql immutable
return case when plan ? 'where'
  then rowhouse.query_condition(columns, types, plan -> 'where') else 'true' end;

-- The rows that the caller sees, as "$t": "rows_of" is a query of them. PostgreSQL plans that of a
-- person whose rule removes rows by itself ("offset 0"), and nothing of a plan reaches it: no
-- condition or order is evaluated on a row that the person does not see, and no value of a request
-- chooses an index.
create function rowhouse.seen_source(rows_of text, is_fenced bool, in_order text) returns text
language sql immutable
return pg_catalog.format('(%s%s) as "$t"', rows_of,
  case when is_fenced then pg_catalog.concat(in_order, ' offset 0') end);

-- The rows of an app in a query without the rule of a person, by the id itself ("isOwn" of the
-- plan): only so PostgreSQL uses an index that has only the rows of the app.
create function rowhouse.own_rows(rows_of text, is_fenced bool, plan jsonb) returns text
language sql immutable
return case when plan ? 'isOwn' and not is_fenced
  then pg_catalog.replace(rows_of, '(select $1)', '$1') else rows_of end;

-- An order as SQL: a list of [column, whether it descends, whether its nulls are then last].
create function rowhouse.query_order(columns text[], keys jsonb) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  rendered text;
begin
  select ' order by ' || string_agg(columns[(key ->> 0)::int4]
      || case when (key ->> 1)::bool then ' desc' else '' end
      || case when (key ->> 2)::bool then ' nulls last' else '' end, ', ' order by n)
    into rendered
    from jsonb_array_elements(keys) with ordinality as listed (key, n)
    having bool_and(columns[(key ->> 0)::int4] is not null);
  if rendered is null then
    raise exception 'no such order' using errcode = 'RH022';
  end if;
  return rendered;
end
$$;

-- The statement of a page. It returns the ids in order, and the number of rows that match, null
-- above "counted", if the plan asks for it. "isOrdered" says that an index has exactly the rows in
-- their order. "where" is the condition of all rows. The rows of a page are those of its "parts",
-- one after the other: each with a condition of its own and its order. "byId" is whether the order
-- is only that of the ids, and how.
--
-- "columns" are the columns, then the parts of their values that an index contains. "has_ids" is
-- whether only the rows with the ids $4 count.
create function rowhouse.find_statement(rows_of text, is_fenced bool, columns text[], types text[],
  plan jsonb, has_ids bool) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  source constant text := rowhouse.seen_source(rows_of, is_fenced,
    case plan ->> 'byId' when 'asc' then ' order by "$t"."id"'
      when 'desc' then ' order by "$t"."id" desc' else '' end);
  matches constant text := rowhouse.query_conditions(columns, types, plan)
    || case when has_ids then ' and "$t"."id" operator(pg_catalog.=) any ($4)' else '' end;
  total text := 'null::pg_catalog.int8';
  page text;
begin
  select string_agg(format('(select "$t"."id" from %s where %s%s%s limit $3)', source, matches,
      ' and ' || rowhouse.query_conditions(columns, types, part),
      case when part ? 'sort' then rowhouse.query_order(columns, part -> 'sort') end),
      ' union all ' order by n)
    into page from jsonb_array_elements(plan -> 'parts') with ordinality as listed (part, n);
  if plan ? 'counted' then
    total := format('(select case when pg_catalog.count(*) operator(pg_catalog.<=) %1$s'
      ' then pg_catalog.count(*) end from (select from %2$s where %3$s'
      ' limit %1$s operator(pg_catalog.+) 1) as "$t")',
      (plan ->> 'counted')::int4, rowhouse.seen_source(rows_of, is_fenced, ''), matches);
  end if;
  if page is null then
    raise exception 'no such page' using errcode = 'RH022';
  end if;
  return format('select array(select "$p"."id" from (%s) as "$p" limit $3), %s', page, total);
end
$$;

-- "isOrdered" of the plan: an index has exactly the rows, in their order.
create function find.page(app uuid, rows_of text, is_fenced bool, columns text[],
  types text[], plan jsonb, given text[], wanted int4, ids_of uuid[], who uuid,
  out ids uuid[], out total int8)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- Statistics can be old, and a sort would then seem cheap. The function's end undoes this.
  perform set_config('enable_sort', case when plan ? 'isOrdered' then 'off' else 'on' end, true);
  execute rowhouse.find_statement(rowhouse.own_rows(rows_of, is_fenced, plan), is_fenced, columns,
    types, plan, ids_of is not null)
  into ids, total using app, given, wanted, ids_of, who;
end
$$;

-- The groups of the rows that match, as JSON objects, sorted by their keys with nulls last; or the
-- limit that they exceed: "groups", or "key" for a text of a key that is too long.
--
-- "by" of the plan and the names of aggregates number columns. "shown" renders "$value" as a JSON
-- member with the name of the column, "summed" renders a sum; they are null for a column that has
-- none. "$scale" is the most digits after the point of a key: equal decimals can have different
-- digits. "texts" are the columns whose keys have a limit.
create function rowhouse.groups_of(rows_of text, is_fenced bool, columns text[], types text[],
  plan jsonb, texts bool[], shown text[], summed text[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  key_columns constant int4[] := coalesce(translate(plan ->> 'by', '[]', '{}'), '{}');
  is_long constant text := coalesce((
    select string_agg(format('coalesce(pg_catalog.octet_length("$c%s") operator(pg_catalog.>)'
      ' ${MAX_GROUP_KEY_BYTES}, false)', key), ' or ')
    from unnest(key_columns) as listed (key) where texts[key]), 'false');
  used int4[] := key_columns;
  members text := '''{"by":{''';
  totals text := '';
  kind text;
  numbers int4[];
  number int4;
  template text;
  value text;
  n int4 := 0;
  place int4;
begin
  foreach kind in array array['by', 'sum', 'avg', 'min', 'max'] loop
    numbers := coalesce(translate(plan ->> kind, '[]', '{}'), '{}');
    used := used || numbers;
    if kind <> 'by' and numbers <> '{}' then
      members := members || format(', '',"%s":{''', kind);
    end if;
    place := 0;
    foreach number in array numbers loop
      n := n + 1;
      place := place + 1;
      template := (case when kind in ('sum', 'avg') then summed else shown end)[number];
      if template is null or columns[number] is null then
        raise exception 'no such value of a group' using errcode = 'RH022';
      end if;
      value := format('"$g%s"', n);
      if kind in ('min', 'max') and template like '%"$scale"%' then
        -- As a row has it: the value with the most digits among equal ones, not among all.
        totals := totals || format(', (pg_catalog.%1$s('
          'array["$c%2$s", %3$spg_catalog.scale("$c%2$s")])'
          ' filter (where "$c%2$s" is not null))[1] as %4$s',
          kind, number, case kind when 'min' then '0 operator(pg_catalog.-) ' else '' end, value);
        template := replace(template, '"$scale"', 'pg_catalog.scale("$value")');
      elsif kind <> 'by' then
        totals := totals || format(', pg_catalog.%s("$c%s") as %s', kind, number, value);
      end if;
      if template like '%"$scale"%' then
        totals := totals || format(
          ', pg_catalog.max(pg_catalog.scale("$c%s")) as "$s%s"', number, n);
      end if;
      members := members || case when place > 1 then ', '',''' else '' end || ', '
        || replace(replace(template, '"$scale"', format('"$s%s"', n)), '"$value"',
          case when kind = 'avg' then format('pg_catalog.trim_scale(%s)', value) else value end);
    end loop;
    if kind = 'by' then
      members := members || ', ''},"count":'', "$count"';
    elsif numbers <> '{}' then
      members := members || ', ''}''';
    end if;
  end loop;
  return format('with "$g" as materialized (select %spg_catalog.count(*) as "$count",'
    ' pg_catalog.bool_or(%s) as "$long"%s from (select %s from %s where %s) as "$v"%s limit %s)'
    ' select case when pg_catalog.count(*) operator(pg_catalog.>) ${MAX_GROUPS} then ''groups'''
    ' when pg_catalog.bool_or("$long") then ''key'' end,'
    ' pg_catalog.string_agg(pg_catalog.concat(%s, ''}''), '',''%s) from "$g"',
    (select string_agg(format('case when not (%s) then "$c%s" end as "$g%s", ', is_long, key,
      ordinal), '' order by ordinal)
      from unnest(key_columns) with ordinality as listed (key, ordinal)),
    is_long, totals,
    (select string_agg(format('%s as "$c%s"', columns[listed.number], listed.number), ', ')
      from (select distinct unnest(used)) as listed (number)),
    rowhouse.seen_source(rows_of, is_fenced, ''), rowhouse.query_conditions(columns, types, plan),
    (select ' group by ' || string_agg(ordinal::text, ', ' order by ordinal)
      from generate_series(1, cardinality(key_columns)) as listed (ordinal)),
    -- One more group than allowed.
    ${MAX_GROUPS} + 1,
    members,
    (select ' order by ' || string_agg(format('"$g%s"', ordinal), ', ' order by ordinal)
      from generate_series(1, cardinality(key_columns)) as listed (ordinal)));
end
$$;

create function find.groups(app uuid, rows_of text, is_fenced bool, columns text[],
  types text[], plan jsonb, given text[], who uuid, texts bool[], shown text[], summed text[],
  out cut text, out members text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  execute rowhouse.groups_of(rowhouse.own_rows(rows_of, is_fenced, plan), is_fenced, columns, types,
    plan, texts, shown, summed)
  into cut, members using app, given, null::int4, null::uuid[], who;
end
$$;

-- The first children of each parent, in an order: the number of its parent and its place, and the
-- numbers of the parents with more. "by_reference" is the reference, "seen" the condition for the
-- rows that the caller sees: it is compared before the order and the limit. "$2" is the person. The
-- functions in the list of sources keep the order of the parents and of their children.
create function find.children(app uuid, who uuid, parents uuid[], most int4, name text, seen text,
  by_reference text, in_order text, out owners int4[], out places tid[], out longer int4[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  rows_of text := format('select "$t".*, "$t"."ctid" as "$place" from data.%I as "$t"'
    ' where "$t"."app_id" = (select $1) and %s = "$i"."$id"', name, by_reference);
begin
  if seen <> 'true' then
    rows_of := format('select * from (%s offset 0) as "$t" where %s offset 0', rows_of, seen);
  end if;
  execute format('select array_agg("$i"."$n"::int4) filter (where "$p"."$m" <= $4),'
    ' array_agg("$p"."$place") filter (where "$p"."$m" <= $4),'
    ' array_agg("$i"."$n"::int4) filter (where "$p"."$m" > $4)'
    ' from unnest($3) with ordinality as "$i" ("$id", "$n"), unnest(array(select "$t"."$place"'
    ' from (%s) as "$t"%s limit $4 + 1)) with ordinality as "$p" ("$place", "$m")',
    rows_of, in_order)
  into owners, places, longer using app, who, parents, most;
end
$$;

-- The rows of a list that exist: their ids, and their positions in the list, in the order of the
-- ids. "match" is the condition that "$t" has the values of "$own", which have these types, in an
-- index with these rows. The limit makes PostgreSQL search the index for each row of the list,
-- whatever its statistics.
create function find.existing(app uuid, source text, types text, rows text, match text, list jsonb,
  out met uuid[], out known int4[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  execute format('select coalesce(pg_catalog.array_agg("$met"."id" order by "$met"."id"), ''{}''),'
    ' pg_catalog.array_agg("$own"."$nth"::pg_catalog.int4 order by "$met"."id")'
    ' from (select "$one"."$nth", "$values".* from pg_catalog.jsonb_array_elements($2)'
    ' with ordinality as "$one" ("$body", "$nth")'
    ' cross join lateral pg_catalog.jsonb_to_record("$one"."$body") as "$values" (%s) offset 0)'
    ' as "$own" cross join lateral (select "$t"."id" from %s as "$t"'
    ' where "$t"."app_id" operator(pg_catalog.=) $1 and %s and %s limit 1) as "$met"',
    types, source, rows, match)
  into met, known using app, list;
end
$$;

-- The values of a plan with its sets: the ids of the rows of other tables that meet conditions. A
-- set has the function of the other table ("call"; functions of 0.1 call a query), its plan and
-- values, and the number of the value that becomes the ids ("at").
create function rowhouse.find_sets(app uuid, proof bytea, sets jsonb, given text[]) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  filled text[] := given;
  part jsonb;
  ids text;
begin
  for part in select value from jsonb_array_elements(sets) loop
    if (part ->> 'call' ~ '_(find|query)$' and part -> 'plan' ? 'set'
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

-- Ends a statement that would walk the rows of too many memberships: a service calls again, for
-- rowhouse.found_statement.
create function rowhouse.reject_members() returns bool language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'too many rows' using errcode = 'RH020', detail = 'members';
end
$$;

grant execute on function rowhouse.find_sets, rowhouse.reject_members to rowhouse_tenant;
grant execute on function rowhouse.query_value, rowhouse.query_set, rowhouse.query_operator,
  rowhouse.query_condition, rowhouse.query_conditions, rowhouse.seen_source, rowhouse.query_order,
  rowhouse.own_rows,
  rowhouse.find_statement, rowhouse.groups_of to rowhouse_reader;
-- The planner of 0.1 uses these, too.
grant execute on function rowhouse.query_value, rowhouse.query_set, rowhouse.query_operator,
  rowhouse.query_condition to rowhouse_tenant;

alter function find.page owner to rowhouse_reader;
grant execute on function find.page to rowhouse_tenant;
alter function find.groups owner to rowhouse_reader;
grant execute on function find.groups to rowhouse_tenant;
alter function find.children owner to rowhouse_reader;
grant execute on function find.children to rowhouse_tenant;

alter function find.existing owner to rowhouse_reader;
grant execute on function find.existing to rowhouse_tenant;
