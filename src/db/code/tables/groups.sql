-- Groups of the rows that match conditions, for all tables: their keys, numbers and aggregates.

-- A member of an object with the name of a column, as SQL.
create function rowhouse.render_member(name text, value text) returns text
language sql immutable
return quote_literal('"' || name || '":') || ' || coalesce(to_json(' || value
  || ')::text, ''null'')';

-- The groups of the rows that match, as JSON objects, sorted by their keys with nulls last; or the
-- limit that they exceed: "groups", or "key" for a text of a key that is too long.
--
-- "by" of the plan and the names of aggregates list columns, whose aliases have their places. The
-- terms "shown" (a value of a group) and "summed" (a sum) are null for a kind without them.
-- "$scale" is the most digits after the point of a key: equal decimals can have different digits.
create function rowhouse.groups_of(terms jsonb, plan jsonb) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  columns constant jsonb := terms -> 'queried';
  key_columns constant text[] := coalesce(translate(plan ->> 'by', '[]', '{}'), '{}');
  is_long constant text := coalesce((
    select string_agg(format('coalesce(octet_length("$c%s") > ${MAX_GROUP_KEY_BYTES}, false)',
      columns -> key ->> 'place'), ' or ')
    from unnest(key_columns) as listed (key)
    where rowhouse.kind_term(columns, key, 'isUnbounded') is not null), 'false');
  used text[] := key_columns;
  members text := '''{"by":{''';
  totals text := '';
  kind text;
  names text[];
  name text;
  place text;
  template text;
  value text;
  n int4 := 0;
  nth int4;
begin
  foreach kind in array array['by', 'sum', 'avg', 'min', 'max'] loop
    names := coalesce(translate(plan ->> kind, '[]', '{}'), '{}');
    used := used || names;
    if kind <> 'by' and names <> '{}' then
      members := members || format(', '',"%s":{''', kind);
    end if;
    nth := 0;
    foreach name in array names loop
      n := n + 1;
      nth := nth + 1;
      place := columns -> name ->> 'place';
      template := rowhouse.kind_term(columns, name,
        case when kind in ('sum', 'avg') then 'summed' else 'shown' end);
      if template is null then
        raise exception 'no such value of a group' using errcode = 'RH022';
      end if;
      template := rowhouse.render_member(name, template);
      value := format('"$g%s"', n);
      if kind in ('min', 'max') and template like '%"$scale"%' then
        -- As a row has it: the value with the most digits among equal ones, not among all.
        totals := totals || format(', (%1$s(array["$c%2$s", %3$sscale("$c%2$s")])'
          ' filter (where "$c%2$s" is not null))[1] as %4$s',
          kind, place, case kind when 'min' then '0 - ' else '' end, value);
        template := replace(template, '"$scale"', 'scale("$value")');
      elsif kind <> 'by' then
        totals := totals || format(', %s("$c%s") as %s', kind, place, value);
      end if;
      if template like '%"$scale"%' then
        totals := totals || format(', max(scale("$c%s")) as "$s%s"', place, n);
      end if;
      members := members || case when nth > 1 then ', '',''' else '' end || ', '
        || replace(replace(template, '"$scale"', format('"$s%s"', n)), '"$value"',
          case when kind = 'avg' then format('trim_scale(%s)', value) else value end);
    end loop;
    if kind = 'by' then
      members := members || ', ''},"count":'', "$count"';
    elsif names <> '{}' then
      members := members || ', ''}''';
    end if;
  end loop;
  return format('with "$g" as materialized (select %scount(*) as "$count", bool_or(%s) as "$long"%s'
    ' from (select %s from %s where %s) as "$v"%s limit %s)'
    ' select case when count(*) > ${MAX_GROUPS} then ''groups'''
    ' when bool_or("$long") then ''key'' end,'
    ' string_agg(concat(%s, ''}''), '',''%s) from "$g"',
    (select string_agg(format('case when not (%s) then "$c%s" end as "$g%s", ', is_long,
      columns -> key ->> 'place', ordinal), '' order by ordinal)
      from unnest(key_columns) with ordinality as listed (key, ordinal)),
    is_long, totals,
    (select string_agg(format('%s as "$c%s"', rowhouse.sort_term(columns, key),
        columns -> key ->> 'place'), ', ')
      from (select distinct unnest(used)) as listed (key)),
    rowhouse.seen_rows(terms, null, plan, ''), rowhouse.render_conditions(columns, plan),
    (select ' group by ' || string_agg(ordinal::text, ', ' order by ordinal)
      from generate_series(1, cardinality(key_columns)) as listed (ordinal)),
    -- One more group than allowed.
    ${MAX_GROUPS} + 1,
    members,
    (select ' order by ' || string_agg(format('"$g%s"', ordinal), ', ' order by ordinal)
      from generate_series(1, cardinality(key_columns)) as listed (ordinal)));
end
$$;

create function find.groups(app uuid, who uuid, terms jsonb, plan jsonb, given text[],
  out cut text, out members text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  execute rowhouse.groups_of(terms, plan) into cut, members using app, who, given;
end
$$;

-- The tag of the groups, a hash of their text, followed by the text unless the caller has that tag.
create function rowhouse.find_groups(app uuid, proof bytea, set_name text, plan text, given text[],
  max_bytes int4, known text) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  asked constant jsonb := plan::jsonb;
  filled text[] := given;
  entered record;
  too_large text;
  page text;
  tag text;
begin
  select * into entered from rowhouse.enter_set(app, proof, set_name, 1::smallint);
  if asked ? 'sets' then
    filled := rowhouse.find_referenced(app, proof, asked -> 'sets', filled);
  end if;
  select cut, concat('{"groups":[', members, ']}') into too_large, page
    from find.groups(app, entered.person, entered.terms, asked, filled);
  if too_large is null and octet_length(page) > max_bytes then
    too_large := 'bytes';
  end if;
  if too_large is not null then
    raise exception 'too many rows' using errcode = 'RH020', detail = too_large;
  end if;
  tag := left(encode(sha256(convert_to(page, 'UTF8')), 'hex'), ${TAG_LENGTH});
  return case when tag = any (string_to_array(known, ',')) then tag else tag || page end;
end
$$;

grant execute on function rowhouse.groups_of, rowhouse.render_member to rowhouse_reader;
grant execute on function rowhouse.render_member to rowhouse_tenant;
alter function find.groups owner to rowhouse_reader;
grant execute on function find.groups to rowhouse_tenant;
grant create on schema rowhouse to rowhouse_tenant;
alter function rowhouse.find_groups owner to rowhouse_tenant;
revoke create on schema rowhouse from rowhouse_tenant;
grant execute on function rowhouse.find_groups to rowhouse_service, rowhouse_data;
