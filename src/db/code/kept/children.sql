-- The statement that finds children: for each row the number of its parent, its id, its columns as
-- text, and its references; then the numbers of the parents with more rows. It has the parameters
-- $1 app, $2 parents, $3 max rows of each, $4 max bytes, $5 the highest value of the first column
-- of the order.
--
-- "walk" numbers the reference and then the order, as an index has them. Only this index has the
-- whole order, so PostgreSQL cannot choose another; it ends at the limit. There is no comparison
-- by "=", which would let it walk along another index. Nulls sort last. If the order is
-- descending, the index has them first ("nulls"): then the rows with a value precede those
-- without, which are among the first rows of the index.
--
-- "members" has each column as a member of an object, "sizes" its bytes, null if it is short.
--
-- "seen" is the condition on "$t" for the rows that a person sees, $6 is the person. Only they are
-- counted. If the person does not see all children of a parent ("areSeen" of the relation), all of
-- them are read: the time of a walk that ends early would tell where others have values.
create function rowhouse.view_children_statement(source text, seen text, targets text[],
  types text[], members text[], sizes text[], refs text, relation jsonb) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  walk constant text[] := array(
    select targets[value::int4] from jsonb_array_elements_text(relation -> 'walk') with ordinality
    order by ordinality);
  all_source constant text := rowhouse.with_keys(source, walk);
  -- With "case" the rule leads to no other index or join than those of the walk.
  rows_source constant text := case when seen = 'true' then all_source else format(
    '(select * from %s as "$t" where case when %s then true end)', all_source, seen) end;
  ends_early constant bool := seen = 'true' or coalesce((relation ->> 'areSeen')::bool, false);
  second constant text := types[(relation -> 'walk' ->> 1)::int4];
  way constant text := case when (relation ->> 'isDescending')::bool then ' desc' else '' end;
  picked constant int4[] := array(select value::int4
    from jsonb_array_elements_text(relation -> 'picked') with ordinality order by ordinality);
  in_order constant text := ' order by ' || (
    select string_agg(target || way, ', ' order by n)
    from unnest(walk) with ordinality as listed (target, n));
  part constant text := format('(select * from %s as "$t" where "$t"."app_id"'
    ' operator(pg_catalog.=) $1 and %s operator(pg_catalog.>=) "$i"."$id"', rows_source, walk[1]);
  bound constant text := format(' and %s operator(pg_catalog.<=) "$i"."$id"', walk[1]);
  in_limit constant text := in_order || case when ends_early
    then ' limit $3 operator(pg_catalog.+) 1)' else ')' end;
  rows_of text;
  page text;
begin
  if (select indisvalid from pg_index
    where indexrelid = to_regclass('data.' || quote_ident(relation ->> 'index'))) is not true then
    raise exception 'no such index' using errcode = 'RH021', detail = relation ->> 'index';
  end if;
  rows_of := part || bound || in_limit;
  if relation ? 'nulls' then
    rows_of := format('%s and (%s, %s) operator(pg_catalog.<=) ("$i"."$id", $5::%s)%s'
      ' union all (select * from %s as "$t" where %s is null)',
      part, walk[1], walk[2], second, in_limit, rows_of, walk[2]);
  end if;
  if not ends_early then
    -- The count reads all rows before the first.
    rows_of := format('select "$r".* from (select "$id" from (select "$t"."id" as "$id",'
      ' pg_catalog.count(*) over () as "$all" from (%s) as "$t") as "$t"'
      ' where "$all" operator(pg_catalog.>) 0 limit $3 operator(pg_catalog.+) 1) as "$k"'
      ' cross join lateral (select * from %s as "$t" where "$t"."app_id" operator(pg_catalog.=) $1'
      ' and "$t"."id" operator(pg_catalog.=) "$k"."$id" offset 0) as "$r"', rows_of, all_source);
  end if;
  page := format('select pg_catalog.array_agg("$n") filter (where "$m" operator(pg_catalog.<=) $3),'
    ' pg_catalog.array_agg("$id") filter (where "$m" operator(pg_catalog.<=) $3),'
    ' pg_catalog.array_agg("$text") filter (where "$m" operator(pg_catalog.<=) $3),'
    ' pg_catalog.array_agg("$refs") filter (where "$m" operator(pg_catalog.<=) $3),'
    ' pg_catalog.array_agg("$n") filter (where "$m" operator(pg_catalog.>) $3)'
    ' from (select "$n", "$m", "$id", "$refs", case when "$bytes" operator(pg_catalog.<=) $4'
    ' then pg_catalog.array_to_string(array[%s]::pg_catalog.text[], '','') end as "$text"'
    ' from (select *,'
    ' pg_catalog.sum((%s)::pg_catalog.int8) over (rows unbounded preceding) as "$bytes" from ('
    'select "$i"."$n", "$t".*, "$t"."id" as "$id", %s as "$refs"'
    ' from pg_catalog.unnest($2) with ordinality as "$i" ("$id", "$n") cross join lateral ('
    'select *, pg_catalog.row_number() over () as "$m" from (%s) as "$t"'
    ' limit $3 operator(pg_catalog.+) 1) as "$t") as "$t") as "$t") as "$t"',
    coalesce((select string_agg(members[n], ', ' order by ordinal)
      from unnest(picked) with ordinality as listed (n, ordinal)), ''),
    coalesce((select string_agg(sizes[n], ' operator(pg_catalog.+) ')
      from unnest(picked) as listed (n)), '0'),
    refs, rows_of);
  if page is null then
    raise exception 'no such relation' using errcode = 'RH022';
  end if;
  return page;
end
$$;

create function rowhouse.children_statement(source text, targets text[], types text[],
  members text[], sizes text[], refs text, relation jsonb) returns text
language sql stable
return rowhouse.view_children_statement(source, 'true', targets, types, members, sizes, refs,
  relation);

grant execute on function rowhouse.children_statement, rowhouse.view_children_statement
  to rowhouse_tenant;

-- Of pages: for each row its members with related rows, such as "project":{…},"todos":{…}: an empty
-- text without relations, null if the related rows are too large. A relation has the function
-- ("call"), the name of the member ("name"), and for a reference its number ("of"). "refs" has the
-- references of each row.
create function rowhouse.related_members(app uuid, proof bytea, relations jsonb, ids uuid[],
  refs uuid[]) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  members text[] := array_fill(''::text, array[coalesce(cardinality(ids), 0)]);
  targets constant text := 'select api.%I($1, $2, $3, $4)::text[]';
  relation jsonb;
  called uuid[];
  keys uuid[];
  texts text[];
begin
  if coalesce(cardinality(ids), 0) = 0 or relations is null then
    return members;
  end if;
  for relation in
    select value from jsonb_array_elements(relations) with ordinality order by ordinality
  loop
    if (relation ->> 'call' ~ '_(related|children_of|children)$') is not true then
      raise exception 'no such function' using errcode = 'RH022';
    end if;
    keys := ids;
    called := ids;
    if relation ? 'of' then
      keys := array(select unnest(refs[:][(relation ->> 'of')::int4:(relation ->> 'of')::int4]));
      -- Each row once, in the order of the page, so that the first rows fit.
      called := array(select key from unnest(keys) with ordinality as listed (key, n)
        where key is not null group by key order by min(n));
    end if;
    execute format(targets, relation ->> 'call') into texts
    using app, proof, called, relation::text;
    if relation ? 'of' then
      texts := array(select case when listed.key is null then 'null' else found.text end
        from unnest(keys) with ordinality as listed (key, n)
        left join unnest(called, texts) as found (key, text) on found.key = listed.key
        order by n);
    end if;
    members := array(
      select member || case when member = '' then '' else ',' end
        || to_json(relation ->> 'name')::text || ':' || text
      from unnest(members, texts) with ordinality as listed (member, text, n) order by n);
  end loop;
  return members;
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

grant execute on function rowhouse.related_members, rowhouse.join_members, rowhouse.join_children
  to rowhouse_tenant;
