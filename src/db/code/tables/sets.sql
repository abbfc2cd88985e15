-- Functions of all tables. Each builds its statements from the terms of a column set
-- (src/tables/sql/functions/terms_body.ts), so that a session keeps no plan for a table. They
-- belong to rowhouse_tenant, so that row security applies.

-- A term of the kind of a column, about "$value" in statements (src/db/code/kind_terms.ts). The
-- columns are "queried" in the terms of a set: null for any other name.
create function rowhouse.kind_term(columns jsonb, name text, term text) returns text
language sql immutable
return ${KIND_TERMS}::jsonb -> (columns -> name ->> 'kind') ->> term;

-- The same about the column of "$t".
create function rowhouse.column_term(columns jsonb, name text, term text) returns text
language sql immutable
return replace(rowhouse.kind_term(columns, name, term), '"$value"', '"$t".' || quote_ident(name));

-- A value that is compared and sorted, as plans name them: a column, or a part of its values that
-- an index contains, such as "title.start". Null for any other name.
create function rowhouse.sort_term(columns jsonb, name text) returns text
language sql immutable
return rowhouse.column_term(columns, split_part(name, '.', 1), case split_part(name, '.', 2)
  when '' then 'value' when 'start' then 'start' when 'rest' then 'rest' end);

-- The type of such a value. A column of a kind without one has its own.
create function rowhouse.term_type(columns jsonb, name text) returns text
language sql immutable
return coalesce(columns -> split_part(name, '.', 1) ->> 'type',
  rowhouse.kind_term(columns, split_part(name, '.', 1), case split_part(name, '.', 2)
    when '' then 'type' when 'start' then 'startType' when 'rest' then 'restType' end));

-- An order as SQL: a list of [name, whether it descends, whether its nulls are then last].
create function rowhouse.render_order(columns jsonb, keys jsonb) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  rendered text := '';
begin
  for n in 0 .. coalesce(jsonb_array_length(keys), 0) - 1 loop
    rendered := rendered || case n when 0 then ' order by ' else ', ' end
      || rowhouse.sort_term(columns, keys -> n ->> 0)
      || case when (keys -> n ->> 1)::bool then ' desc' else '' end
      || case when (keys -> n ->> 2)::bool then ' nulls last' else '' end;
  end loop;
  if rendered = '' is not false then
    raise exception 'no such order' using errcode = 'RH022';
  end if;
  return rendered;
end
$$;

-- The terms of a set, with those of writes if the scopes have the bit of writes; null for an
-- unknown set.
create function rowhouse.read_terms(set_name text, wanted smallint) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  -- A longer name would be cut off, and then be that of another function.
  return (select case when wanted & 2::smallint = 0 then split_part(prosrc, '$terms$', 2)::jsonb
      else split_part(prosrc, '$terms$', 2)::jsonb || split_part(prosrc, '$writes$', 2)::jsonb end
    from pg_proc where proname = (set_name || '_terms')::name and octet_length(set_name) <= 50
      and pronamespace = 'api'::regnamespace and proargtypes = ''::oidvector);
end
$$;
grant execute on function rowhouse.kind_term, rowhouse.column_term, rowhouse.sort_term,
  rowhouse.term_type, rowhouse.render_order, rowhouse.read_terms to rowhouse_tenant;

-- Begins a call: sets the app and how PostgreSQL plans, reads the terms of the set, and looks for a
-- live proof with these scopes, in bits. The set says who may call: keys, or people of its roles.
-- Sets what the listeners of the table hear of a write: nothing if neither live updates nor the
-- history is on. Raises an error if a read has no proof; the bits of a write are then null.
create function rowhouse.enter_set(app uuid, presented_proof bytea, set_name text, wanted smallint,
  out terms jsonb, out person uuid, out bits smallint, out listens text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  -- Settings that stop the writes of the app.
  stops constant smallint := case when wanted & 2::smallint = 0 then 0 else ${STOP_BITS} end;
begin
  perform set_config('rowhouse.app_id', app::text, true), set_config('timezone', 'UTC', true),
    set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),
    set_config('max_parallel_workers_per_gather', '0', true);
  terms := rowhouse.read_terms(set_name, wanted);
  if terms is null then
    raise undefined_function using message = 'no such set';
  end if;
  select person_id, scopes, case when wanted & 2::smallint <> 0 then set_config('rowhouse.listens',
      rowhouse.heard_of(scopes, digest, console_id, held.act, person_id), true) end
    into person, bits, listens from rowhouse.proofs as held
  where held.app_id = app and held.digest = sha256(presented_proof)
    and held.expires_at > clock_timestamp()
    and terms ->> 'table' <> all (coalesce(held.ended, '{}'))
    and case when terms ? 'roles'
      then held.scopes & (${PERSON_BIT} | stops)::smallint = ${PERSON_BIT}
        and terms -> 'roles' ? held.role and (terms ->> 'app')::uuid = app
        and (wanted <> 1 or terms ? 'isReader')
      else held.scopes & (wanted | stops) = wanted end;
  if bits is null and wanted = 1 then
    perform rowhouse.reject_call(app, presented_proof, terms ->> 'table');
  end if;
end
$$;
grant execute on function rowhouse.enter_set to rowhouse_tenant;

-- Reads the changes since a cursor, each row as it is now, or its id if it was deleted. So the
-- order of changes does not matter, and duplicates are harmless. Three lines: the new cursor, which
-- names the columns, the kind and the events as a JSON list. "ready": the call had no cursor.
-- "reset": the changes since the cursor are unknown, of other columns, or exceed a limit; the
-- caller reads the table again. Null: the app is not live.
--
-- A person gets no id of a row that the person does not see, or that was deleted: such a change
-- leads to a reset, and so does a change of a table that decides which rows the person sees.
create function rowhouse.read_changes(app uuid, proof bytea, set_name text, since text,
  max_rows int4, max_bytes int4) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  entered record;
  terms jsonb;
  watched text[];
  columns constant text := right(set_name, 16);
  earlier pg_snapshot;
  cursor_now text;
  ids uuid[];
  source text;
  seen bigint;
  bytes numeric;
  events text;
begin
  select * into entered from rowhouse.enter_set(app, proof, set_name, 1::smallint);
  if entered.bits & ${LIVE_BIT}::smallint = 0 then
    return null;
  end if;
  cursor_now := concat_ws('.', rowhouse.feed_name(), pg_current_snapshot(), columns);
  if since is null then
    return cursor_now || E'\nready\n[]';
  end if;
  terms := entered.terms;
  watched := array(select jsonb_array_elements_text(terms -> 'watched'));
  earlier := rowhouse.read_cursor(since, columns);
  ids := array(
    select distinct case when table_name <> all (watched) then row_id end from rowhouse.changes
    where app_id = app and xid >= pg_snapshot_xmin(earlier)
      and not pg_visible_in_snapshot(xid, earlier)
      and table_name = any (array['', terms ->> 'table'] || watched) limit max_rows + 1);
  if earlier is null or cardinality(ids) > max_rows or array_position(ids, null) is not null then
    return cursor_now || E'\nreset\n[]';
  end if;
  if ids = '{}' then
    return cursor_now || E'\nchanges\n[]';
  end if;
  source := format('unnest($3) as "$i" ("$id") left join lateral (select "$t".* from data.%I as "$t"
      where "$t"."app_id" = $1 and "$t"."id" = "$i"."$id" and (%s) offset 0) as "$t" on true',
    terms ->> 'table', terms ->> 'read');
  execute format(
    'select count("$t"."id"), sum(case when "$t"."id" is not null then %s end) from %s',
    terms ->> 'size', source) into seen, bytes using app, entered.person, ids;
  if bytes > max_bytes or (entered.person is not null and seen < cardinality(ids)) then
    return cursor_now || E'\nreset\n[]';
  end if;
  execute format('select string_agg(case when "$t"."id" is null
      then concat(''{"delete":"'', "$i"."$id", ''"}'')
      else concat(''{"put":'', (select row_to_json("$row") from (select %s) as "$row"), ''}'') end,
    '','') from %s', terms ->> 'outputs', source) into events using app, entered.person, ids;
  return concat(cursor_now, E'\nchanges\n[', events, ']');
end
$$;

grant create on schema rowhouse to rowhouse_tenant;
alter function rowhouse.read_changes owner to rowhouse_tenant;
revoke create on schema rowhouse from rowhouse_tenant;
grant execute on function rowhouse.read_changes to rowhouse_service, rowhouse_data;
