-- What the functions of all sets share, so that a session keeps it once and not for each table.
-- They run as their callers, which belong to rowhouse_tenant.

-- Proofs of calls. Each sets the app of the transaction and how PostgreSQL plans, and looks for a
-- live proof of the app with the scope, for a table that the app still uses. A person's proof has a
-- role instead of scopes. One function for all would cost each call more expressions.
--
-- A session that plans while a table is small would choose a full scan, and reuse that plan as the
-- table grows. So plans always use indexes, also for cascades, and fit any limit. The lookup
-- follows the settings for the same reason.

-- Whether a key may read.
create function rowhouse.prove_read(app uuid, presented_proof bytea, wanted_table text)
returns boolean language plpgsql stable as $$
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true),
    pg_catalog.set_config('jit', 'off', true);
  perform from rowhouse.proofs as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1
      and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) 1::pg_catalog.int2)
        operator(pg_catalog.=) 1::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or $3 operator(pg_catalog.<>) all ("$p"."ended"));
  return found;
end
$$;

-- Whether a key may write. Sets what the listeners of the table hear of the write.
create function rowhouse.prove_write(app uuid, presented_proof bytea, wanted_table text)
returns boolean language plpgsql stable as $$
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  perform pg_catalog.set_config('rowhouse.listens',
      case when ("$p"."scopes" operator(pg_catalog.&) ${LISTEN_BITS}::pg_catalog.int2)
        operator(pg_catalog.=) 0::pg_catalog.int2 then '' else rowhouse.heard_of("$p"."scopes",
          "$p"."digest", "$p"."console_id", "$p"."act", "$p"."person_id") end, true)
    from rowhouse.proofs as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1
      and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) ${WRITE_BITS}::pg_catalog.int2)
        operator(pg_catalog.=) 2::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or $3 operator(pg_catalog.<>) all ("$p"."ended"));
  return found;
end
$$;

-- The person who may read with one of these roles.
create function rowhouse.prove_person_read(app uuid, presented_proof bytea, wanted_table text,
  roles text[]) returns uuid language plpgsql stable as $$
declare
  "$person" pg_catalog.uuid;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true),
    pg_catalog.set_config('jit', 'off', true);
  select "$p"."person_id" into "$person"
    from rowhouse.proofs as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1
      and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) ${PERSON_BIT}::pg_catalog.int2)
        operator(pg_catalog.=) ${PERSON_BIT}::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or $3 operator(pg_catalog.<>) all ("$p"."ended"))
      and "$p"."role" operator(pg_catalog.=) any ($4);
  return "$person";
end
$$;

-- The person who may write with one of these roles.
create function rowhouse.prove_person_write(app uuid, presented_proof bytea, wanted_table text,
  roles text[]) returns uuid language plpgsql stable as $$
declare
  "$person" pg_catalog.uuid;
  "$listens" pg_catalog.text;
begin
  perform pg_catalog.set_config('rowhouse.app_id', $1::pg_catalog.text, true),
    pg_catalog.set_config('timezone', 'UTC', true),
    pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true),
    pg_catalog.set_config('enable_seqscan', 'off', true);
  select "$p"."person_id", pg_catalog.set_config('rowhouse.listens',
      case when ("$p"."scopes" operator(pg_catalog.&) ${LISTEN_BITS}::pg_catalog.int2)
        operator(pg_catalog.=) 0::pg_catalog.int2 then '' else rowhouse.heard_of("$p"."scopes",
          "$p"."digest", "$p"."console_id", "$p"."act", "$p"."person_id") end, true)
    into "$person", "$listens"
    from rowhouse.proofs as "$p"
    where "$p"."app_id" operator(pg_catalog.=) $1
      and "$p"."digest" operator(pg_catalog.=) pg_catalog.sha256($2)
      and ("$p"."scopes" operator(pg_catalog.&) ${PERSON_WRITE_BITS}::pg_catalog.int2)
        operator(pg_catalog.=) ${PERSON_BIT}::pg_catalog.int2
      and "$p"."expires_at" operator(pg_catalog.>) pg_catalog.clock_timestamp()
      and ("$p"."ended" is null or $3 operator(pg_catalog.<>) all ("$p"."ended"))
      and "$p"."role" operator(pg_catalog.=) any ($4);
  return "$person";
end
$$;

-- What the listeners of a table hear of a write with this proof: nothing if neither live updates
-- nor the history is on.
create function rowhouse.heard_of(scopes smallint, digest bytea, console_id uuid, act uuid,
  person_id uuid) returns text language plpgsql immutable
set search_path = pg_catalog, pg_temp as $$
begin
  return concat_ws(' ', case when scopes & ${LIVE_BIT}::smallint <> 0 then 'live' end,
    case when scopes & ${HISTORY_BIT}::smallint <> 0 then coalesce(
      'console ' || console_id || coalesce(' ' || act, ''), 'person ' || person_id,
      'key ' || encode(digest, 'hex')) end);
end
$$;

-- For statements that read rows in the order of an index: a sort would read all rows of the app.
create function rowhouse.keep_order() returns boolean language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('enable_sort', 'off', true),
    set_config('enable_incremental_sort', 'off', true),
    set_config('max_parallel_workers_per_gather', '0', true);
  return true;
end
$$;

-- Whether these indexes of apps' tables exist and are complete. Without its index, a statement
-- would sort all rows of the app.
create function rowhouse.are_built(names text[]) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (select count(*) = cardinality(names) from pg_index where indisvalid and indexrelid = any (
    array(select to_regclass('data.' || quote_ident(name)) from unnest(names) as listed (name))
      ::oid[]));
end
$$;

-- The start of a list: its tag, and the request, which processes of 0.1.0 compare with theirs. The
-- tag changes with every input of the list; the hash of the set has the roles and their rules. The
-- states of rows can repeat after a restore or in another database: the seed and the start of the
-- server then differ.
create function rowhouse.begin_list(app uuid, person uuid, set_hash text, max_rows int4,
  skipped int4, max_bytes int4, known text, states bytea) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return concat(left(encode(sha256((select value from rowhouse.tag_seed where is_only)
      || timestamptz_send(pg_postmaster_start_time())
      || (case when split_part(known, ',', 1) = '${CURSOR_END}'
        or split_part(known, ',', 1) <> '${PLAIN_END}' and rowhouse.had_filters()
        then 'next' else '' end)::bytea
      || set_hash::bytea || coalesce(uuid_send(person), '') || int4send(max_rows)
      || int4send(skipped) || int4send(max_bytes) || coalesce(states, '')), 'hex'), ${TAG_LENGTH}),
    app, ' ', set_hash, ' ', max_rows, ' ', skipped, ' ', person || ' ');
end
$$;

-- A list: its start, its rows and, if the caller wants it, a cursor at the first row after them.
-- More rows exist if the statement found more than the list has.
create function rowhouse.end_list(head text, page text, max_rows int4, skipped int4, row_count int8,
  returned int8, known text, states bytea) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return concat(head, '{"rows":[', page, '],"limit":', max_rows, ',"offset":', skipped,
    ',"hasMore":', case when row_count > returned then 'true' else 'false' end,
    case when split_part(known, ',', 1) = '${CURSOR_END}'
      or split_part(known, ',', 1) <> '${PLAIN_END}' and rowhouse.had_filters()
    then concat(',"next":', case when row_count > returned then
      concat('"', translate(encode(convert_to(concat('["id.asc","', encode(substring(states,
          (returned * ${STATE_BYTES} + 1)::int4, ${ID_BYTES}), 'hex')::uuid, '"]'), 'UTF8'),
        'base64'), E'+/=\n', '-_'), '"') else 'null' end) end, '}');
end
$$;

-- Begins a page along an index. Without a limit, its statements would read all rows. Whether the
-- caller knows no tag.
create function rowhouse.begin_walk(index_name text, is_descending bool, max_rows int4,
  picked int4[], key_order int4[], cursor text, max_bytes int4, known text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.keep_order();
  if (max_rows between 0 and ${MAX_ROWS} and is_descending is not null and max_bytes is not null
    and picked is not null and key_order is not null and cursor is not null) is not true then
    raise exception 'no such page' using errcode = 'RH022';
  end if;
  if index_name <> '' and (select indisvalid from pg_index where indexrelid =
      to_regclass('data.' || quote_ident(index_name))) is not true then
    raise exception 'no such index' using errcode = 'RH021';
  end if;
  return known = '';
end
$$;

-- A page along an index, from its rows and the next one: the tag, what identifies the request, and
-- the rows unless the caller has the tag. Finds related rows, whose plan is a second line of the
-- cursor: the page ends before a row whose related rows are larger than a response. Large rows have
-- no text yet.
create function rowhouse.end_walk(app uuid, presented_proof bytea, set_name text, person uuid,
  index_name text, is_descending bool, start text[], stop text[], nulls text[], max_rows int4,
  picked int4[], key_order int4[], cursor text, max_bytes int4, known text, inline int4,
  ids uuid[], states bytea, size int8, refs uuid[], keys text[], texts text[]) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  name constant text := split_part(cursor, E'\n', 1);
  returned int4 := least(max_rows, coalesce(cardinality(ids), 0));
  members text[];
  request text;
  tag text;
  page text;
  row_count int4;
  terms jsonb;
  columns text[];
  next text := 'null';
begin
  if name <> cursor and returned > 0 then
    members := rowhouse.find_related(app, presented_proof, split_part(cursor, E'\n', 2)::jsonb,
      ids[1:returned], refs[1:returned]);
    returned := coalesce(array_position(members, null) - 1, returned);
    if returned = 0 then
      return rowhouse.reject_row(ids[1]);
    end if;
    members := members[:returned];
    texts := rowhouse.insert_members(texts[:returned], members);
    size := size + octet_length(array_to_string(members, ','));
  end if;
  request := left(encode(sha256(convert_to(concat_ws(E'\n', app, right(set_name, 16), index_name,
    is_descending::text, max_rows, cursor, array_to_string(start, ' '), array_to_string(stop, ' '),
    array_to_string(nulls, ' '), array_to_string(picked, ' '), array_to_string(key_order, ' '),
    person), 'UTF8')), 'hex'), ${TAG_LENGTH});
  tag := left(encode(sha256((select value from rowhouse.tag_seed where is_only)
    || timestamptz_send(pg_postmaster_start_time())
    || convert_to(concat(request, array_to_string(members, ',')), 'UTF8') || int4send(max_bytes)
    || coalesce(states, '')), 'hex'), ${TAG_LENGTH});
  if tag = any (string_to_array(known, ',')) or size > inline then
    return tag || request;
  end if;
  row_count := returned;
  texts := texts[:returned];
  page := array_to_string(texts, ',');
  if array_position(texts, null) is not null or octet_length(page) > max_bytes then
    terms := rowhouse.read_terms(set_name, 1::smallint);
    -- As plans number them.
    columns := array['id'] || array(select listed from jsonb_object_keys(terms -> 'queried')
      as keys (listed) where listed <> 'id' order by listed collate "C");
    select built.page, built.count, built.keys into page, row_count, keys
      from rowhouse.build_page(app, terms, array(select columns[n] from unnest(picked) as p (n)),
        array(select columns[n] from unnest(key_order) as p (n)), members, ids, returned, size,
        max_bytes) as built;
  end if;
  if cardinality(ids) > row_count then
    next := concat('"', translate(encode(convert_to(to_json(array_prepend(name, keys))::text,
      'UTF8'), 'base64'), E'+/=\n', '-_'), '"');
  end if;
  return concat(tag, request, '{"rows":[', page, '],"limit":', max_rows, ',"offset":0,"hasMore":',
    case when next <> 'null' then 'true' else 'false' end, ',"next":', next, '}');
end
$$;
grant execute on function rowhouse.prove_read, rowhouse.prove_write,
  rowhouse.prove_person_read, rowhouse.prove_person_write, rowhouse.heard_of, rowhouse.keep_order,
  rowhouse.are_built,
  rowhouse.begin_list, rowhouse.end_list, rowhouse.begin_walk, rowhouse.end_walk
  to rowhouse_tenant;
