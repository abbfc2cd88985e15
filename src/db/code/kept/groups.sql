-- The statement of groups of rows, from the visited rows of a query. It has the parameters of that
-- query, and returns why there is no result ("visits", "text", "groups" or "key"), and the groups
-- as JSON objects, sorted by their keys with nulls last.
--
-- "visits" has "$q", whether a row matches, "$cut", why the visits end before it, and the columns
-- that the groups use, "$c1" and so on. The others are numbers of columns: of the keys, and of the
-- values that are computed. "shown" renders "$value" as a JSON member with the name of the column,
-- "summed" renders a sum; they are null for a column that has none. "$scale" is the most digits
-- after the point of a key: equal decimals can have different digits. No text comes from a caller.
create function rowhouse.group_statement(visits text, texts bool[], shown text[], summed text[],
  by_columns int4[], sums int4[], averages int4[], lowest int4[], highest int4[]) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  key_columns constant int4[] := coalesce(by_columns, '{}');
  is_long constant text := coalesce((
    select string_agg(format('coalesce(pg_catalog.octet_length("$c%s") operator(pg_catalog.>)'
      ' ${MAX_GROUP_KEY_BYTES}, false)', key), ' or ')
    from unnest(key_columns) as listed (key) where texts[key]), 'false');
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
    numbers := case kind when 'by' then key_columns when 'sum' then sums when 'avg' then averages
      when 'min' then lowest else highest end;
    if kind <> 'by' and numbers <> '{}' then
      members := members || format(', '',"%s":{''', kind);
    end if;
    place := 0;
    foreach number in array coalesce(numbers, '{}') loop
      n := n + 1;
      place := place + 1;
      template := (case when kind in ('sum', 'avg') then summed else shown end)[number];
      if template is null then
        raise exception 'no such value of a group' using errcode = 'RH022';
      end if;
      value := format('"$g%s"', n);
      if kind in ('min', 'max') and template like '%"$scale"%' then
        -- As a row has it: the value with the most digits among equal ones, not among all.
        totals := totals || format(', (pg_catalog.%1$s('
          'array["$c%2$s", %3$spg_catalog.scale("$c%2$s")])'
          ' filter (where "$q" and "$c%2$s" is not null))[1] as %4$s',
          kind, number, case kind when 'min' then '0 operator(pg_catalog.-) ' else '' end, value);
        template := replace(template, '"$scale"', 'pg_catalog.scale("$value")');
      elsif kind <> 'by' then
        totals := totals || format(', pg_catalog.%s("$c%s") filter (where "$q") as %s',
          kind, number, value);
      end if;
      if template like '%"$scale"%' then
        totals := totals || format(
          ', pg_catalog.max(pg_catalog.scale("$c%s")) filter (where "$q") as "$s%s"', number, n);
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
  return format('with "$g" as materialized (select * from (select %s as "$cut"%s,'
    ' pg_catalog.count(*) filter (where "$q") as "$count",'
    ' pg_catalog.bool_or("$q" and (%s)) as "$long"%s'
    ' from %s as "$v" where "$q" or "$cut" is not null%s) as "$v" limit %s)'
    ' select case when pg_catalog.max("$cut") is not null then pg_catalog.max("$cut")'
    ' when pg_catalog.count(*) operator(pg_catalog.>) ${MAX_GROUPS} then ''groups'''
    ' when pg_catalog.bool_or("$long") then ''key'' end,'
    ' pg_catalog.string_agg(pg_catalog.concat(%s, ''}''), '',''%s) from "$g"',
    case when key_columns = '{}' then 'pg_catalog.max("$cut")' else '"$cut"' end,
    case when key_columns = '{}' then '' else (
      select string_agg(format(', case when "$cut" is null%s then "$c%s" end as "$g%s"',
        case when is_long = 'false' then '' else format(' and not (%s)', is_long) end,
        key, ordinal), '' order by ordinal)
      from unnest(key_columns) with ordinality as listed (key, ordinal)) end,
    is_long, totals, visits,
    (select ' group by 1' || string_agg(format(', %s', ordinal + 1), '' order by ordinal)
      from unnest(key_columns) with ordinality as listed (key, ordinal)),
    -- One more group than allowed, and the group of the first row after the visits.
    ${MAX_GROUPS} + 2,
    members,
    (select ' order by ' || string_agg(format('"$g%s"', ordinal), ', ' order by ordinal)
      from unnest(key_columns) with ordinality as listed (key, ordinal)));
end
$$;

grant execute on function rowhouse.group_statement to rowhouse_tenant;
