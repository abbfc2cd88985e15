-- Related rows of a page. Apps that share the columns of one table can differ in those of another,
-- so a plan names the set of each relation ("set"): the functions here read its terms, and look for
-- a proof of the caller for it. A plan numbers columns: no name or value of it becomes part of a
-- statement.

-- A relation's columns as members of an object, in the table's order, as an expression of "$t".
create function rowhouse.render_members(columns jsonb, picked int4[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce(string_agg(
      rowhouse.render_member(item ->> 'name', rowhouse.column_term(item, 'sent')), ' || '','' || '
      order by (item ->> 'place')::int4), '''''')
    from jsonb_array_elements(columns) with ordinality as listed (item, n) where n = any (picked);
end
$$;

-- The bytes of a relation's unbounded values, without decompression; null without such a column.
create function rowhouse.render_sizes(columns jsonb, picked int4[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return string_agg(format('coalesce(%s, 0)::int8', size), ' + ')
    from jsonb_array_elements(columns) with ordinality as listed (item, n),
      lateral (select rowhouse.column_term(item, 'size') offset 0) as term (size)
    where n = any (picked) and size is not null;
end
$$;

-- The references of "$t", numbered as in plans.
create function rowhouse.render_references(columns jsonb) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return format('array[%s]::uuid[]', coalesce(
      string_agg(rowhouse.column_term(item, 'reference'), ', ' order by n), 'null'))
    from jsonb_array_elements(columns) with ordinality as listed (item, n);
end
$$;

-- For each row its members with related rows, such as "project":{…},"todos":{…}: an empty text
-- without relations, null if the related rows are too large. A relation has the name of the member
-- ("name"), and for a reference its number ("of"). "refs" has the references of each row.
create function rowhouse.find_related(app uuid, proof bytea, relations jsonb, ids uuid[],
  refs uuid[]) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  members text[] := array_fill(''::text, array[coalesce(cardinality(ids), 0)]);
  relation jsonb;
  called uuid[];
  keys uuid[];
  texts text[];
begin
  if ids is null or relations is null then
    return members;
  end if;
  for relation in
    select value from jsonb_array_elements(relations) with ordinality order by ordinality
  loop
    if relation ? 'of' then
      keys := array(select unnest(refs[:][(relation ->> 'of')::int4:(relation ->> 'of')::int4]));
      -- Each row once, in the order of the page, so that the first rows fit.
      called := array(select key from unnest(keys) with ordinality as listed (key, n)
        where key is not null group by key order by min(n));
      texts := rowhouse.read_related(app, proof, called, relation);
      texts := array(select case when listed.key is null then 'null' else found.text end
        from unnest(keys) with ordinality as listed (key, n)
        left join unnest(called, texts) as found (key, text) on found.key = listed.key
        order by n);
    else
      texts := rowhouse.read_children(app, proof, ids, relation);
    end if;
    members := array(
      select member || case when member = '' then '' else ',' end
        || to_json(relation ->> 'name')::text || ':' || text
      from unnest(members, texts) with ordinality as listed (member, text, n) order by n);
  end loop;
  return members;
end
$$;

-- The statement for the rows of a relation: their parents, their ids, their texts, and their
-- references. "places" joins a source of "$i", with the parent "$of" and the order "$n" of each
-- row, to the row that "matching" finds. A text is null if the rows up to it are larger than the
-- relation's bytes.
create function rowhouse.related_statement(terms jsonb, relation jsonb, places text, matching text)
returns text language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  columns constant jsonb := terms -> 'queried';
  picked constant int4[] := coalesce(translate(relation ->> 'picked', '[]', '{}'), '{}');
begin
  return format('select array_agg("$of" order by "$n"), array_agg("id" order by "$n"),'
    ' array_agg(case when "$size" <= %s then %s end order by "$n"),'
    ' array_agg(%s order by "$n") from (select "$i".*, "$t".*,'
    ' sum(%s) over (rows unbounded preceding) as "$size" from %s lateral'
    ' (select * from data.%I as "$t" where "$t"."app_id" = $1 and %s and (%s) offset 0) as "$t"'
    ' on true) as "$t"',
    coalesce((relation ->> 'bytes')::int8, 0), rowhouse.render_members(columns, picked),
    rowhouse.render_references(columns),
    coalesce(rowhouse.render_sizes(columns, picked), '0::int8'), places, terms ->> 'table',
    matching, terms ->> 'read');
end
$$;

-- The row of each id.
create function rowhouse.read_related(app uuid, proof bytea, wanted uuid[], relation jsonb)
returns text[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  entered record;
  owners int4[];
  row_ids uuid[];
  texts text[];
  refs uuid[];
begin
  select * into entered from rowhouse.enter_set(app, proof, relation ->> 'set', 1::smallint);
  if (cardinality(wanted) <= ${MAX_ROWS}) is not true then
    raise exception 'too many rows' using errcode = 'RH022';
  end if;
  execute rowhouse.related_statement(entered.terms, relation,
    '(select 0 as "$of", * from unnest($3) with ordinality as "$i" ("$id", "$n")) as "$i"'
    ' left join',
    '"$t"."id" = "$i"."$id"')
  into owners, row_ids, texts, refs using app, entered.person, wanted;
  return rowhouse.join_members(row_ids, texts,
    rowhouse.find_related(app, proof, relation -> 'related', row_ids, refs));
end
$$;

-- The first children of each row, in an order, as a list. "by" numbers the reference.
create function rowhouse.read_children(app uuid, proof bytea, wanted uuid[], relation jsonb)
returns text[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  most constant int4 := (relation ->> 'limit')::int4;
  picked constant int4[] := coalesce(translate(relation ->> 'picked', '[]', '{}'), '{}');
  entered record;
  columns jsonb;
  members text;
  sizes text;
  owners int4[];
  places tid[];
  longer int4[];
  row_ids uuid[];
  texts text[];
  refs uuid[];
  parents int4[];
  lists text[];
begin
  select * into entered from rowhouse.enter_set(app, proof, relation ->> 'set', 1::smallint);
  if (most >= 0 and cardinality(wanted) * most <= ${MAX_ROWS}
    and cardinality(wanted) <= ${MAX_ROWS}) is not true then
    raise exception 'too many rows' using errcode = 'RH022';
  end if;
  columns := entered.terms -> 'queried';
  select * into owners, places, longer
    from find.children(app, entered.person, wanted, most, entered.terms ->> 'table',
      entered.terms ->> 'read', rowhouse.sort_term(columns, (relation ->> 'by')::int4),
      rowhouse.render_order(columns, relation -> 'sort'));
  if not relation ? 'related' then
    -- If all rows are short, they are together not larger than allowed.
    members := rowhouse.render_members(columns, picked);
    sizes := rowhouse.render_sizes(columns, picked);
    -- Sorted by parent first, so that no plan sorts again, which could change the order.
    texts := array(select concat('{"rows":[],"hasMore":',
      case when n = any (longer) then 'true}' else 'false}' end)
      from generate_series(1, cardinality(wanted)) as listed (n) order by n);
    execute format('select array_agg("$of"), array_agg("$list") from (select "$of",'
      ' case when count(*) = count("$text") then string_agg("$text", '','') end as "$list"'
      ' from (select "$i"."$of", "$t"."$text"'
      ' from rows from (unnest($3), unnest($4)) with ordinality as "$i" ("$of", "$place", "$n")'
      ' cross join lateral (select ''{'' || %s || ''}'' as "$text" from data.%I as "$t"'
      ' where "$t"."ctid" = "$i"."$place" and "$t"."app_id" = $1 and (%s) offset 0) as "$t"'
      ' order by "$i"."$of", "$i"."$n") as "$t" group by "$of") as "$t"',
      case when sizes is null then members else format('case when %s <= %s then %s end', sizes,
        coalesce((relation ->> 'bytes')::int8 / ${MAX_ROWS}, 0), members) end,
      entered.terms ->> 'table', entered.terms ->> 'read')
    into parents, lists using app, entered.person, owners, places;
    if array_position(lists, null) is null then
      for n in 1..coalesce(cardinality(parents), 0) loop
        texts[parents[n]] := concat('{"rows":[', lists[n], substr(texts[parents[n]], 10));
      end loop;
      return texts;
    end if;
  end if;
  execute rowhouse.related_statement(entered.terms, relation, 'rows from (unnest($3), unnest($4))'
    ' with ordinality as "$i" ("$of", "$place", "$n") join', '"$t"."ctid" = "$i"."$place"')
  into owners, row_ids, texts, refs using app, entered.person, owners, places;
  return rowhouse.join_children(cardinality(wanted), owners, rowhouse.join_members(row_ids, texts,
    rowhouse.find_related(app, proof, relation -> 'related', row_ids, refs)), longer);
end
$$;

-- The text of each row from its columns and its members with related rows: null if either is. A
-- reference without a row is the JSON null.
create function rowhouse.join_members(found uuid[], texts text[], members text[]) returns text[]
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select array_agg(case when id is null then 'null' else '{' || text
    || case when text = '' or member = '' then '' else ',' end || member || '}' end order by n)
  from unnest(found, texts, members) with ordinality as listed (id, text, member, n)
$$;

-- The list of children of each of these many parents: the rows with the parent's number, and
-- whether it has more. Null if the text of a row is.
create function rowhouse.join_children(parents int4, owners int4[], texts text[], longer int4[])
returns text[] language sql immutable set search_path = pg_catalog, pg_temp as $$
  select array_agg(case when is_whole is not false then concat('{"rows":[', rows, '],"hasMore":',
    case when n = any (longer) then 'true' else 'false' end, '}') end order by n)
  from generate_series(1, parents) as listed (n)
  left join (
    select owner, string_agg(text, ',' order by position) as rows,
      bool_and(text is not null) as is_whole
    from unnest(owners, texts) with ordinality as children (owner, text, position) group by owner
  ) as lists on owner = n
$$;

grant execute on function rowhouse.render_members, rowhouse.render_sizes,
  rowhouse.render_references, rowhouse.find_related,
  rowhouse.related_statement, rowhouse.read_related, rowhouse.read_children, rowhouse.join_members,
  rowhouse.join_children to rowhouse_tenant;
