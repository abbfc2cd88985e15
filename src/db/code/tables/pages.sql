-- Pages of rows, for all tables. Row security applies. rowhouse.find_rows applies the rule of a
-- person; callers of the others pass only ids that the person sees.

-- The values of a cursor in the order of these columns of "$t", as SQL.
create function rowhouse.render_keys(columns jsonb, names text[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  name text;
  keys text[] := '{}';
begin
  foreach name in array names loop
    keys := keys || coalesce(rowhouse.column_term(columns, name, 'cursor'), 'null');
  end loop;
  return format('array[%s]::text[]', array_to_string(keys, ', '));
end
$$;

-- The text of a row with these columns, and for its place "$n" the members with related
-- rows in $4, as SQL. Of a whole row, "$o" has what responses contain.
create function rowhouse.render_row(columns jsonb, picked text[], is_whole bool, has_members bool)
returns text language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if is_whole then
    return 'row_to_json("$o")::text';
  end if;
  return format('concat(''{'', %s, ''}'')', case when has_members then format(
      'concat_ws('','', nullif(%s, ''''), $4["$n"])', rowhouse.render_members(columns, picked))
    else rowhouse.render_members(columns, picked) end);
end
$$;

-- The texts of the first "returned" rows within a limit of bytes, and their count: in one step or,
-- if "size" is large, one after another. The page ends after the row that exceeds the limit, and
-- before a row that is larger than the limit; an error names the row if it is the first. "keys" are
-- the values of the cursor at the first row after the page, by the names of columns.
create function rowhouse.build_page(app uuid, terms jsonb, picked text[], names text[],
  members text[], ids uuid[], returned int4, size int8, max_bytes int4,
  out page text, out count int4, out keys text[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  columns constant jsonb := terms -> 'queried';
  is_whole constant bool := picked = '{}' and members is null;
  row_text constant text := format(case when is_whole
    then '(select %s from (select %s) as "$o")' else '%s' end,
    rowhouse.render_row(columns, picked, is_whole, members is not null), terms ->> 'outputs');
  -- "offset 0" makes PostgreSQL look up each row by its id, regardless of the table's statistics.
  source constant text := format(
    '(select "$i"."$n", "$t".* from unnest($2) with ordinality as "$i" ("$id", "$n")'
    ' cross join lateral (select * from data.%I as "$t" where "$t"."app_id" = $1'
    ' and "$t"."id" = "$i"."$id" offset 0) as "$t" order by "$i"."$n" offset 0) as "$t"',
    terms ->> 'table');
  texts text[] := '{}';
  bytes int8 := 0;
  built refcursor;
begin
  if size <= ${SINGLE_STEP_BYTES} then
    execute format('select string_agg(%s, '',''), count(*) from %s', row_text, source)
    into page, count using app, ids[1:returned], max_bytes, members;
  end if;
  if size > ${SINGLE_STEP_BYTES} or octet_length(page) > max_bytes then
    count := 0;
    -- A row that is too large must not be built only to be measured.
    open built for execute format('select case when %s <= $3 then %s end from %s', coalesce(
        rowhouse.render_sizes(columns, case when is_whole
          then array(select jsonb_object_keys(columns)) else picked end), '0'),
      row_text, source) using app, ids[1:returned], max_bytes, members;
    while count < returned and bytes <= max_bytes loop
      fetch built into page;
      if page is null or octet_length(page) > max_bytes then
        if count = 0 then
          page := rowhouse.reject_row(ids[1]);
        end if;
        exit;
      end if;
      texts := array_append(texts, page);
      count := count + 1;
      bytes := bytes + octet_length(page);
    end loop;
    close built;
    page := array_to_string(texts, ',');
  end if;
  if cardinality(ids) > count then
    execute format('select %s from data.%I as "$t" where "$t"."app_id" = $1 and "$t"."id" = $2',
      rowhouse.render_keys(columns, names), terms ->> 'table')
    into keys using app, ids[count + 1];
  end if;
end
$$;

-- The same for a list: "states" has its rows and the next one.
create function rowhouse.build_list(app uuid, terms jsonb, states bytea, max_rows int4, size int8,
  max_bytes int4, out page text, out count int4)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  select built.page, built.count into page, count from rowhouse.build_page(app, terms, '{}', '{}',
    null, array(select encode(substring(states, n, ${ID_BYTES}), 'hex')::uuid
      from generate_series(1, least(octet_length(states), max_rows * ${STATE_BYTES}),
        ${STATE_BYTES}) as starts (n) order by n), max_rows, size, max_bytes) as built;
end
$$;

-- The tag of a page, followed by the rows unless the caller has that tag. All reads see one state
-- of the table: the function is stable.
create function rowhouse.find_rows(app uuid, proof bytea, set_name text, plan text, given text[],
  max_bytes int4, known text) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  asked constant jsonb := plan::jsonb;
  max_rows constant int4 := (asked ->> 'limit')::int4;
  skipped constant int4 := (asked ->> 'offset')::int4;
  picked constant text[] := coalesce(translate(asked ->> 'picked', '[]', '{}')::text[], '{}');
  names constant text[] := coalesce(translate(asked ->> 'order', '[]', '{}')::text[], '{}');
  related constant jsonb := asked -> 'related';
  is_short bool;
  is_whole constant bool := picked = '{}' and related is null;
  columns jsonb;
  filled text[] := given;
  entered record;
  ids uuid[];
  total int8;
  states bytea;
  size int8;
  refs uuid[];
  keys text[];
  texts text[];
  members text[];
  returned int4;
  tag text;
  page text;
  row_count int4;
  next text := 'null';
begin
  entered := rowhouse.enter_set(app, proof, set_name, 1::smallint);
  columns := entered.terms -> 'queried';
  if asked ? 'sets' then
    filled := rowhouse.find_referenced(app, proof, asked -> 'sets', filled);
  end if;
  select matching.ids, matching.total into ids, total from find.page(app, entered.person,
    entered.terms, null, asked, filled, skipped + max_rows + 1, null) as matching;
  -- Up to this many rows and bytes, rows are built as they are found.
  is_short := known = '' and cardinality(ids) <= skipped + ${FOUND_ROWS} + 1;
  -- The list of sources keeps the order of the ids.
  execute format('select array_agg("$t"."id"), string_agg("$t"."$state", ''''::bytea),'
    ' coalesce(sum("$t"."$size"), 0), %1$s, min("$t"."$keys"), array_agg("$t"."$text")'
    ' from unnest($3) with ordinality as "$i" ("$id", "$n") cross join lateral (select "$t"."id",'
    ' uuid_send("$t"."id") || xidsend("$t"."xmin") || tidsend("$t"."ctid") as "$state",'
    ' %2$s as "$size", %3$s as "$refs", case when "$i"."$n" > $4 then %4$s end as "$keys",'
    ' %5$s from data.%6$I as "$t"%7$s where "$t"."app_id" = $1 and "$t"."id" = "$i"."$id"'
    ' and (%8$s) offset 0) as "$t"',
    case when related is null then 'null' else 'array_agg("$t"."$refs")' end,
    entered.terms ->> 'size',
    case when related is null then 'null' else rowhouse.render_references(columns) end,
    rowhouse.render_keys(columns, names),
    case when is_short then format(
      'case when "$i"."$n" <= $4 and %s <= ${FOUND_ROW_BYTES} then %s end as "$text"',
      entered.terms ->> 'size', rowhouse.render_row(columns, picked, is_whole, false))
      else 'null::text as "$text"' end,
    entered.terms ->> 'table',
    case when is_short and is_whole then format(' cross join lateral (select %s) as "$o"',
      entered.terms ->> 'outputs') end,
    entered.terms ->> 'read')
  into ids, states, size, refs, keys, texts using app, entered.person, ids[skipped + 1:], max_rows;
  returned := least(max_rows, coalesce(cardinality(ids), 0));
  if related is not null and returned > 0 then
    members := rowhouse.find_related(app, proof, related, ids[1:returned], refs[1:returned]);
    -- The page ends before a row whose related rows are larger than a response.
    returned := coalesce(array_position(members, null) - 1, returned);
    if returned = 0 then
      return rowhouse.reject_row(ids[1]);
    end if;
    members := members[:returned];
    texts := rowhouse.insert_members(texts[:returned], members);
    size := size + octet_length(array_to_string(members, ','));
  end if;
  tag := left(encode(sha256((select value from rowhouse.tag_seed where is_only)
    || timestamptz_send(pg_postmaster_start_time()) || right(set_name, 16)::bytea
    || convert_to(concat_ws(' ', plan, given::text, max_bytes, total,
      array_to_string(members, ','), entered.person), 'UTF8')
    || coalesce(states, '')), 'hex'), ${TAG_LENGTH});
  if tag = any (string_to_array(known, ',')) then
    return tag;
  end if;
  texts := texts[:returned];
  if is_short and array_position(texts, null) is null then
    page := coalesce(array_to_string(texts, ','), '');
    row_count := returned;
  end if;
  if page is null or octet_length(page) > max_bytes then
    select built.page, built.count, built.keys into page, row_count, keys
      from rowhouse.build_page(app, entered.terms, picked, names, members, ids, returned, size,
        max_bytes) as built;
  end if;
  if cardinality(ids) > row_count then
    next := concat('"', translate(encode(convert_to(
      to_json(array_prepend(asked ->> 'cursor', keys))::text, 'UTF8'), 'base64'),
      E'+/=\n', '-_'), '"');
  end if;
  return concat(tag, '{"rows":[', page, '],"limit":', max_rows, ',"offset":', skipped,
    ',"hasMore":', case when next <> 'null' then 'true' else 'false' end, ',"next":', next,
    case when asked ? 'counted' then concat(',"count":', coalesce(total::text, 'null')) end, '}');
end
$$;

grant execute on function rowhouse.render_keys, rowhouse.render_row, rowhouse.build_page,
  rowhouse.build_list to rowhouse_tenant;
grant create on schema rowhouse to rowhouse_tenant;
alter function rowhouse.find_rows owner to rowhouse_tenant;
revoke create on schema rowhouse from rowhouse_tenant;
grant execute on function rowhouse.find_rows to rowhouse_service, rowhouse_data;
