-- The finder of a table has static statements, whose plans a session keeps: pages in the order of
-- an index, between two positions. It returns where the rows are; its callers read them there under
-- row security, in the same snapshot. It belongs to rowhouse_reader, and its text depends only on
-- its first line, which says for what it was made. So who may have one made chooses nothing that it
-- does, and the isolation check makes each text again.
--
-- It is made for a "table" with "walks": an "index", its "app" if it has only the rows of one,
-- "isUnique", "hasNulls" (rows without a value in its first column) and its "terms": a "column",
-- the "type" of the term, and the "part" of the values.
--
-- A finder has the parameters $1 app, $2 index, $3 whether the page descends, $4 where it begins,
-- $5 where it ends, both inclusive, $6 where the rows without a first value begin, null if the page
-- does not have them, and $7 ids wanted. It returns null if it has no such page.
--
-- A statement compares no column with "=", and has all terms of the index in one row comparison and
-- in its order: only this index has that order, so every plan is as good for an app of a million
-- rows. The limit is below the end of the page: rows after the end are the last that it allows.

create function rowhouse.finder_body(spec jsonb) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp set quote_all_identifiers = off as $$
declare
  body text := '';
  walk jsonb;
  source text;
  -- Lists of the terms, of those of a found row, and of the places of positions.
  columns text;
  terms text;
  downwards text;
  aliases text;
  starts text;
  stops text;
  -- The first term, and where it ends.
  first text;
  stop text;
  -- The terms after the first column.
  later text;
  rests text;
  is_empty text;
  is_long text;
  is_known bool;
  page text;
begin
  -- "format" would read it.
  if position('%' in spec::text) > 0 then
    raise exception 'no such name' using errcode = 'RH022';
  end if;
  for walk in select value from jsonb_array_elements(spec -> 'walks') loop
    select string_agg(format('%s as k%s', term, n), ', ' order by n),
        string_agg(term, ', ' order by n), string_agg(term || ' desc', ', ' order by n),
        string_agg(format('v.k%s', n), ', ' order by n),
        string_agg(format('($4)[%s]::%s', n, type), ', ' order by n),
        string_agg(format('($5)[%s]::%s', n, type), ', ' order by n),
        min(term) filter (where n = 1), min(format('($5)[1]::%s', type)) filter (where n = 1),
        string_agg(term, ', ' order by n) filter (where not is_first),
        string_agg(format('($6)[%s]::%s', n - firsts, type), ', ' order by n)
          filter (where not is_first),
        string_agg(case part when 'start' then format(${TEXT_TESTED}, named)
          else replace(term, ' collate pg_catalog."C"', '') end || ' is null', ' and ' order by n)
          filter (where is_first),
        string_agg(format('v.k%s operator(pg_catalog.<>) ''''', n), ' or ' order by n)
          filter (where part = 'rest'),
        bool_and(term is not null
          and type ~ '^(pg_catalog[.][a-z0-9]+|data[.]"([^"]|"")+")$') is true
      into columns, terms, downwards, aliases, starts, stops, first, stop, later, rests, is_empty,
        is_long, is_known
      from (
        select n, value ->> 'type' as type, value ->> 'part' as part, named,
          case coalesce(value ->> 'part', '') when '' then named
            when 'start' then format(${TEXT_START}, named)
            when 'rest' then format(${TEXT_REST}, named) end as term,
          value ->> 'column' = walk -> 'terms' -> 0 ->> 'column' as is_first,
          count(*) filter (where value ->> 'column' = walk -> 'terms' -> 0 ->> 'column') over ()
            as firsts
        from jsonb_array_elements(walk -> 'terms') with ordinality as listed (value, n)
        cross join lateral (select format('t.%I', value ->> 'column') as named) as column_of
      ) as listed;
    if is_known is not true then
      raise exception 'no such term' using errcode = 'RH022';
    end if;
    source := format('from data.%I as t where t.app_id operator(pg_catalog.=) $1', spec ->> 'table')
      || case when walk ? 'app' then format(' and t.app_id operator(pg_catalog.=)'
        ' %L::pg_catalog.uuid', walk ->> 'app') else '' end;
    -- With both operators, and an order.
    page := format('from (select t.ctid, %s %s and (%s) operator(pg_catalog.%%1$s) (%s) and (%s)'
      ' operator(pg_catalog.%%2$s) (%s) order by %%3$s limit $7) as v'
      ' where (%s) operator(pg_catalog.%%2$s) (%s)', columns, source, terms, starts, first, stop,
      aliases, stops);
    -- Nothing in a unique index tells apart texts with the same parts.
    page := case when is_long is not null and (walk ->> 'isUnique')::bool
      then format('(select case when pg_catalog.bool_or(%s) is not true then'
        ' coalesce(pg_catalog.array_agg(v.ctid), ''{}'') end %s)', is_long, page)
      else format('array(select v.ctid %s)', page) end;
    body := body || format('
  elsif $2 operator(pg_catalog.=) %L then
    if $3 then
      "$rows" := %s;
    else
      "$rows" := %s;
    end if;', walk ->> 'index', format(page, '<=', '>=', downwards),
      format(page, '>=', '<=', terms));
    if (walk ->> 'hasNulls')::bool then
      page := format('array(select t.ctid %s and %s and (%s) operator(pg_catalog.%%s) (%s)'
        ' order by %%s limit $7 operator(pg_catalog.-) pg_catalog.cardinality("$rows"))', source,
        is_empty, later, rests);
      body := body || format('
    if $6 is not null and pg_catalog.cardinality("$rows") operator(pg_catalog.<) $7 then
      if $3 then
        "$rows" := pg_catalog.array_cat("$rows", %s);
      else
        "$rows" := pg_catalog.array_cat("$rows", %s);
      end if;
    end if;', format(page, '<=', downwards), format(page, '>=', terms));
    end if;
  end loop;
  return '-- ' || spec::text || '
declare
  "$rows" pg_catalog.tid[];
begin
  if $7 is null then
    return null;' || body || '
  end if;
  return "$rows";
end';
end
$$;

-- Whether a text is that of a finder.
create function rowhouse.is_finder(body text) returns bool
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  return body = rowhouse.finder_body(substr(split_part(body, E'\n', 1), 4)::jsonb);
exception when others then
  return false;
end
$$;

-- Makes the finder of a table, or drops it if there are no walks.
create function find.make(spec jsonb) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  name constant text := (spec ->> 'table') || '__finder';
  called constant text := format('find.%I(uuid, text, bool, text[], text[], text[], int4)', name);
  body text;
begin
  if spec -> 'walks' = 'null' then
    execute 'drop function if exists ' || called;
    return;
  end if;
  body := rowhouse.finder_body(spec);
  if not exists (select from pg_proc where oid = to_regprocedure(called) and prosrc = body) then
    execute format('create or replace function %s returns tid[] language plpgsql stable'
      ' security definer as %L', called, body);
    execute format('revoke all on function %s from public', called);
    execute format('grant execute on function %s to rowhouse_tenant', called);
  end if;
end
$$;

alter function find.make owner to rowhouse_reader;
grant execute on function find.make to rowhouse_tables;
grant execute on function rowhouse.finder_body to rowhouse_reader;
