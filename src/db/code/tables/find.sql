-- Finds rows by conditions and in an order: builds the text of the only statements that are not
-- fixed, and runs them as rowhouse_reader, so that PostgreSQL can use every index and operator. Row
-- security hides no row from that role: each statement has the rows of its app in a subquery that
-- no condition can escape. It returns ids or places. The functions of all tables, which are the
-- only callers, read the rows there under forced row security.
--
-- They call with the terms of a set, which have its columns, and with a plan. No name, operator or
-- value of a request becomes part of the text: columns are selected by name from the terms,
-- operators by name from the list below, values by number. Any other name raises RH022.
--
-- The statements have the parameters $1 app, $2 person, $3 values, $4 rows wanted, $5 the only ids
-- that count.

-- The name of an operator as SQL; null for any other name.
create function rowhouse.render_operator(name text) returns text
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

-- A condition as SQL: ["eq", column, value], ["in", column, first value, last value], ["set",
-- column, value], ["null", column], ["first", column], ["row", operator, columns, values], ["and",
-- condition, …], ["or", condition, …] or ["not", condition]. The value of "set" is a list of ids,
-- "first" is true for each value of an enum, and "row" compares columns in the order of an index.
create function rowhouse.render_condition(columns jsonb, condition jsonb) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  name constant text := condition ->> 0;
  target text;
  type text;
  rendered text;
begin
  if name in ('and', 'or') then
    for n in 1 .. jsonb_array_length(condition) - 1 loop
      rendered := concat_ws(format(' %s ', name), rendered,
        rowhouse.render_condition(columns, condition -> n));
    end loop;
    rendered := '(' || rendered || ')';
  elsif name = 'not' then
    rendered := '(not ' || rowhouse.render_condition(columns, condition -> 1) || ')';
  elsif name = 'row' then
    select format('(%s)', string_agg(term, ', ' order by n))
        || rowhouse.render_operator(condition ->> 1)
        || format('(%s)', string_agg(format('($3[%s])::%s', value::int4,
          rowhouse.term_type(columns, listed.name)), ', ' order by n))
    into rendered
    from rows from (jsonb_array_elements_text(condition -> 2),
      jsonb_array_elements_text(condition -> 3)) with ordinality as listed (name, value, n),
      lateral (select rowhouse.sort_term(columns, listed.name) offset 0) as terms (term)
    having bool_and(term is not null and value is not null);
  else
    target := rowhouse.sort_term(columns, condition ->> 1);
    if target is not null then
      type := rowhouse.term_type(columns, condition ->> 1);
      rendered := case name
        when 'null' then format('(%s is null)', replace(target, ' collate pg_catalog."C"', ''))
        when 'first' then format('(%s >= enum_first(null::%s))', target, type)
        when 'set' then format('(%s = any (string_to_array($3[%s], '','')::%s[]))', target,
          (condition ->> 2)::int4, type)
        when 'in' then format('(%s = any (($3[%s:%s])::%s[]))', target,
          (condition ->> 2)::int4, (condition ->> 3)::int4, type)
        else '(' || target || rowhouse.render_operator(name)
          || format('($3[%s])::%s)', (condition ->> 2)::int4, type)
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
create function rowhouse.render_conditions(columns jsonb, plan jsonb) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return case when plan ? 'where'
    then rowhouse.render_condition(columns, plan -> 'where') else 'true' end;
end
$$;

-- The condition of a write in the terms of a set ("from" or "delete"); "true" for reads.
create function rowhouse.rule_term(terms jsonb, rule text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return case when rule is null then 'true' else coalesce(terms ->> rule, 'false') end;
end
$$;

-- The rows that the caller sees, and for a write those that fulfill its rule, as "$t". PostgreSQL
-- plans those that a rule leaves by themselves ("offset 0"), and nothing of a plan reaches them: no
-- condition or order is evaluated on a row that the person does not see, and no value of a request
-- chooses an index.
--
-- PostgreSQL estimates the rows of an average app. Of the id itself ("isOwn" of the plan) it knows
-- how many rows the last statistics counted: for an app that has grown since, one, so that a scan
-- of all its rows would seem as cheap as a search. But only so it uses an index that has only the
-- rows of the app.
create function rowhouse.seen_rows(terms jsonb, rule text, plan jsonb, in_order text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  allowed constant text := rowhouse.rule_term(terms, rule);
  is_fenced constant bool := terms ? 'seen' or allowed <> 'true';
  rows_of text := coalesce(terms ->> 'seen', format(
    'select * from data.%I as "$t" where "$t"."app_id" = %s', terms ->> 'table',
    case when plan ? 'isOwn' and not is_fenced then '$1' else '(select $1)' end));
begin
  if allowed <> 'true' then
    rows_of := format('select * from (%s) as "$t" where (%s)', rows_of, allowed);
  end if;
  return format('(%s%s) as "$t"', rows_of, case when is_fenced then in_order || ' offset 0' end);
end
$$;

-- The statement of a page. It returns the ids in order, and the number of rows that match, null
-- above "counted", if the plan asks for it. "where" is the condition of all rows. The rows of a
-- page are those of its "parts", one after the other: each with a condition of its own and its
-- order. "byId" is whether the order is only that of the ids, and how. "has_ids" is whether only
-- the rows with the ids $5 count.
create function rowhouse.find_statement(terms jsonb, rule text, plan jsonb, has_ids bool)
returns text language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  columns constant jsonb := terms -> 'queried';
  source constant text := rowhouse.seen_rows(terms, rule, plan,
    case plan ->> 'byId' when 'asc' then ' order by "$t"."id"'
      when 'desc' then ' order by "$t"."id" desc' else '' end);
  matches constant text := rowhouse.render_conditions(columns, plan)
    || case when has_ids then ' and "$t"."id" = any ($5)' else '' end;
  total text := 'null::int8';
  count constant int4 := coalesce(jsonb_array_length(plan -> 'parts'), 0);
  part jsonb;
  page text;
begin
  for n in 0 .. count - 1 loop
    part := plan -> 'parts' -> n;
    page := concat_ws(' union all ', page, format(
      '(select "$t"."id" from %s where %s and %s%s limit $4)', source, matches,
      rowhouse.render_conditions(columns, part),
      case when part ? 'sort' then rowhouse.render_order(columns, part -> 'sort') end));
  end loop;
  if count > 1 then
    page := format('select "$p"."id" from (%s) as "$p" limit $4', page);
  end if;
  if plan ? 'counted' then
    total := format('(select case when count(*) <= %1$s then count(*) end'
      ' from (select from %2$s where %3$s limit %1$s + 1) as "$t")',
      (plan ->> 'counted')::int4, rowhouse.seen_rows(terms, rule, plan, ''), matches);
  end if;
  if page is null then
    raise exception 'no such page' using errcode = 'RH022';
  end if;
  return format('select array(%s), %s', page, total);
end
$$;

-- Finds at most this many ids of rows that match, and that a write may change by this rule; with
-- "among" only of these. "isOrdered" of the plan says that an index has exactly the rows, in their
-- order. A caller reads or writes only those that rowhouse.keep_seen leaves.
create function find.page(app uuid, who uuid, terms jsonb, rule text, plan jsonb, given text[],
  wanted int4, among uuid[], out ids uuid[], out total int8)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- Statistics can be old, and a sort would then seem cheap. The function's end undoes this.
  perform set_config('enable_sort', case when plan ? 'isOrdered' then 'off' else 'on' end, true);
  execute rowhouse.find_statement(terms, rule, plan, among is not null)
  into ids, total using app, who, given, wanted, among;
end
$$;

-- The ids of rows that the caller sees, and that a write may change by this rule, whatever was
-- found, sorted.
create function rowhouse.keep_seen(app uuid, person uuid, terms jsonb, rule text, ids uuid[])
returns uuid[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  seen uuid[];
begin
  execute format('select array(select "$t"."id" from data.%I as "$t" where "$t"."app_id" = $1'
    ' and "$t"."id" = any ($3) and (%s) and (%s) order by "$t"."id")', terms ->> 'table',
    terms ->> 'read', rowhouse.rule_term(terms, rule))
  into seen using app, person, ids;
  return seen;
end
$$;

-- The values of a plan with its sets: the ids of the rows of other tables that meet conditions. A
-- set of ids has the name of a column set ("of"), its plan and values, the path of the reference,
-- and the number of the value that becomes the ids ("at").
create function rowhouse.find_referenced(app uuid, proof bytea, sets jsonb, given text[])
returns text[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  filled text[] := given;
  part jsonb;
  asked jsonb;
  entered record;
  own text[];
  max_rows int4;
  found_ids uuid[];
begin
  for part in select value from jsonb_array_elements(sets) loop
    if ((part ->> 'at')::int4 between 1 and cardinality(given)) is not true then
      raise exception 'no such set' using errcode = 'RH022';
    end if;
    select * into entered from rowhouse.enter_set(app, proof, part ->> 'of', 1::smallint);
    asked := part -> 'plan';
    max_rows := (asked ->> 'limit')::int4;
    own := array(select jsonb_array_elements_text(part -> 'values'));
    if asked ? 'sets' then
      own := rowhouse.find_referenced(app, proof, asked -> 'sets', own);
    end if;
    select page.ids into found_ids
      from find.page(app, entered.person, entered.terms, null, asked, own, max_rows + 1, null)
      as page;
    found_ids := rowhouse.keep_seen(app, entered.person, entered.terms, null, found_ids);
    if cardinality(found_ids) > max_rows then
      raise exception 'too many rows' using errcode = 'RH020',
        detail = concat('${TOO_MANY_REFERENCED}', part ->> 'path');
    end if;
    filled[(part ->> 'at')::int4] := array_to_string(found_ids, ',');
  end loop;
  return filled;
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

-- Ends a list that would walk the rows of too many memberships.
create function rowhouse.reject_members() returns bool language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'too many rows' using errcode = 'RH020', detail = 'members';
end
$$;

grant execute on function rowhouse.keep_seen, rowhouse.find_referenced, rowhouse.rule_term,
  rowhouse.reject_members to rowhouse_tenant;
grant execute on function rowhouse.kind_term, rowhouse.column_term, rowhouse.sort_term,
  rowhouse.term_type, rowhouse.render_order, rowhouse.render_operator, rowhouse.render_condition,
  rowhouse.render_conditions, rowhouse.rule_term, rowhouse.seen_rows, rowhouse.find_statement
  to rowhouse_reader;

alter function find.page owner to rowhouse_reader;
grant execute on function find.page to rowhouse_tenant;
alter function find.children owner to rowhouse_reader;
grant execute on function find.children to rowhouse_tenant;
alter function find.existing owner to rowhouse_reader;
grant execute on function find.existing to rowhouse_tenant;
