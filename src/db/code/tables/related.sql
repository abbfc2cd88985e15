-- Related rows of a page. Apps that share the columns of one table can differ in those of another,
-- so a plan names the set of each relation ("set"): the functions here read its terms, and look for
-- a proof of the caller for it. No name or value of a plan becomes part of a statement.

-- A relation's columns as members of an object, in the table's order, as an expression of "$t".
create function rowhouse.render_members(columns jsonb, picked text[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce(string_agg(
      rowhouse.render_member(name, rowhouse.column_term(columns, name, 'sent')), ' || '','' || '
      order by (columns -> name ->> 'place')::int4), '''''')
    from jsonb_object_keys(columns) as listed (name) where name = any (picked);
end
$$;

-- The bytes of a relation's unbounded values, without decompression; null without such a column.
create function rowhouse.render_sizes(columns jsonb, picked text[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return string_agg(format('coalesce(%s, 0)::int8', size), ' + ')
    from jsonb_object_keys(columns) as listed (name),
      lateral (select rowhouse.column_term(columns, name, 'size') offset 0) as term (size)
    where name = any (picked) and size is not null;
end
$$;

-- The references of "$t", in the order of their names.
create function rowhouse.render_references(columns jsonb) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return format('array[%s]::uuid[]', coalesce(
      string_agg(rowhouse.column_term(columns, name, 'reference'), ', '
        order by name collate "C"), 'null'))
    from jsonb_object_keys(columns) as listed (name);
end
$$;

-- For each row its members with related rows, such as "project":{…},"todos":{…}: null if the
-- related rows are too large, and for pages without relations. A relation has the name of the
-- member ("name"), and for a reference its number ("of"). "refs" has the references of each row.
create function rowhouse.find_related(app uuid, proof bytea, relations jsonb, ids uuid[],
  refs uuid[]) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  members text[];
  relation jsonb;
  label text;
  called uuid[];
  keys uuid[];
  texts text[];
begin
  if ids is null then
    return null;
  end if;
  for nth in 0 .. coalesce(jsonb_array_length(relations), 0) - 1 loop
    relation := relations -> nth;
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
    label := case when nth = 0 then '' else ',' end || to_json(relation ->> 'name')::text || ':';
    members := array(select case when nth = 0 then '' else member end || label || text
      from unnest(members, texts) as listed (member, text));
  end loop;
  return members;
end
$$;

-- The rows of a relation at these values of "place", in their order: their texts, and for relations
-- of these rows their ids and references. A text is null if the rows up to it are larger than the
-- relation's bytes, and the JSON null for a row that the caller does not see.
create function rowhouse.read_relation(app uuid, person uuid, terms jsonb, relation jsonb,
  place text, at anyarray, out texts text[], out ids uuid[], out refs uuid[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  columns constant jsonb := terms -> 'queried';
  picked constant text[] := coalesce(translate(relation ->> 'picked', '[]', '{}'), '{}');
  max_bytes constant int8 := coalesce((relation ->> 'bytes')::int8, 0);
  statement constant text := format('select array_agg(case when "$t"."id" is null then ''null'''
    ' when "$t"."$size" <= $4 then %s end), array_agg("$t"."$size"), %s'
    ' from unnest($3) as "$i" ("$at") left join lateral (select *, %s as "$size"'
    ' from data.%I as "$t" where "$t"."app_id" = $1 and "$t".%s = "$i"."$at" and (%s) offset 0)'
    ' as "$t" on true',
    rowhouse.render_row(columns, picked, false, false),
    case when relation ? 'related' then format('array_agg("$t"."id"), array_agg(%s)',
      rowhouse.render_references(columns)) else 'null, null' end,
    coalesce(rowhouse.render_sizes(columns, picked), '0::int8'), terms ->> 'table', place,
    terms ->> 'read');
  sizes int8[];
  fitting int4;
begin
  -- If all rows are short, they are together not larger than allowed.
  execute statement into texts, sizes, ids, refs using app, person, at, max_bytes / ${MAX_ROWS};
  if array_position(texts, null) is not null then
    fitting := (select count(*) from (select sum(size) over (rows unbounded preceding) as size
      from unnest(sizes) as listed (size)) as summed where coalesce(size, 0) <= max_bytes);
    execute statement into texts using app, person, at[:fitting], max_bytes;
    texts := texts || array_fill(null::text, array[cardinality(at) - fitting]);
  end if;
end
$$;

-- The row of each id.
create function rowhouse.read_related(app uuid, proof bytea, wanted uuid[], relation jsonb)
returns text[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  entered record;
  related record;
begin
  entered := rowhouse.enter_set(app, proof, relation ->> 'set', 1::smallint);
  if (cardinality(wanted) <= ${MAX_ROWS}) is not true then
    raise exception 'too many rows' using errcode = 'RH022';
  end if;
  related := rowhouse.read_relation(app, entered.person, entered.terms, relation, '"id"', wanted);
  return rowhouse.insert_members(related.texts,
    rowhouse.find_related(app, proof, relation -> 'related', related.ids, related.refs));
end
$$;

-- The first children of each row, in an order, as a list. "by" is the reference.
create function rowhouse.read_children(app uuid, proof bytea, wanted uuid[], relation jsonb)
returns text[] language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  most constant int4 := (relation ->> 'limit')::int4;
  entered record;
  columns jsonb;
  children record;
  related record;
begin
  entered := rowhouse.enter_set(app, proof, relation ->> 'set', 1::smallint);
  if (most >= 0 and cardinality(wanted) * most <= ${MAX_ROWS}
    and cardinality(wanted) <= ${MAX_ROWS}) is not true then
    raise exception 'too many rows' using errcode = 'RH022';
  end if;
  columns := entered.terms -> 'queried';
  children := find.children(app, entered.person, wanted, most, entered.terms ->> 'table',
    entered.terms ->> 'read', rowhouse.sort_term(columns, relation ->> 'by'),
    rowhouse.render_order(columns, relation -> 'sort'));
  related := rowhouse.read_relation(app, entered.person, entered.terms, relation, '"ctid"',
    children.places);
  return rowhouse.list_children(cardinality(wanted), children.owners,
    rowhouse.insert_members(related.texts,
      rowhouse.find_related(app, proof, relation -> 'related', related.ids, related.refs)),
    children.longer);
end
$$;

-- The text of each row with its members with related rows: null if it or they are too large.
create function rowhouse.insert_members(texts text[], members text[]) returns text[]
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return case when members is null then texts else array(
    select case text when 'null' then text when '{}' then '{' || member || '}'
      else left(text, -1) || ',' || member || '}' end
    from unnest(texts, members) as listed (text, member)) end;
end
$$;

-- The list of children of each of these many parents: the rows that the caller sees with the
-- parent's number, and whether it has more. Null if the text of a row is.
create function rowhouse.list_children(parents int4, owners int4[], texts text[], longer int4[])
returns text[] language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return array(
    select case when is_whole then concat('{"rows":[', rows, '],"hasMore":',
      case when owner = any (longer) then 'true' else 'false' end, '}') end
    from (
      select owner, string_agg(text, ',' order by n) filter (where text <> 'null') as rows,
        bool_and(text is not null) as is_whole
      from (select * from unnest(owners, texts) with ordinality as children (owner, text, n)
        union all select parent, 'null', 0 from generate_series(1, parents) as listed (parent))
        as listed
      group by owner
    ) as lists order by owner);
end
$$;

grant execute on function rowhouse.render_members, rowhouse.render_sizes,
  rowhouse.render_references, rowhouse.find_related,
  rowhouse.read_relation, rowhouse.read_related, rowhouse.read_children, rowhouse.insert_members,
  rowhouse.list_children to rowhouse_tenant;
