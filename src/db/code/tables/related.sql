-- Related rows of a page. The functions of a table know only its columns, because apps that share
-- the columns of one table can differ in those of another. So each calls the functions of other
-- tables by name: "related" finds rows by their ids, "children_of" the rows that refer to given
-- rows. Each of these checks the proof and sets the tenant itself. A plan numbers columns, as in
-- queries.sql: no name or value of it becomes part of a statement.

-- For each row its members with related rows, such as "project":{…},"todos":{…}: an empty text
-- without relations, null if the related rows are too large. A relation has the function ("call"),
-- the name of the member ("name"), and for a reference its number ("of"). "refs" has the
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
