-- Writes of several rows, for all tables. Rows that exist are locked in the order of their ids, so
-- that two writes wait for each other instead of deadlocking, and written in the order of the
-- request: first all by one statement. If a row violates a rule, they are written one by one,
-- because PostgreSQL does not report the row, and because the first error counts.

-- Begins a write: the proof, and the claim of its idempotency key. A response that is not null is
-- that of the whole call.
create function rowhouse.begin_write(app uuid, presented_proof bytea, set_name text,
  wanted smallint, sent_claim bytea, short text,
  out terms jsonb, out person uuid, out listens text, out claim bytea, out response text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bits smallint;
begin
  select entered.terms, entered.person, entered.listens, entered.bits
    into terms, person, listens, bits
    from rowhouse.enter_set(app, presented_proof, set_name, wanted) as entered;
  if bits is null then
    response := rowhouse.reject_set_write(app, presented_proof, terms, wanted, sent_claim);
    return;
  end if;
  if sent_claim is null then
    return;
  end if;
  claim := case when person is null then sent_claim else rowhouse.claim_of(person, sent_claim) end;
  response := rowhouse.claim_key(app, presented_proof, claim, null, short);
  if response like 'R%' and terms ? 'roles' then
    response := rowhouse.hide_replayed(app, person, terms, response);
  end if;
end
$$;

-- Raises why a proof does not allow a write, or returns a replay.
create function rowhouse.reject_set_write(app uuid, presented_proof bytea, terms jsonb,
  wanted smallint, claim bytea) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if terms ? 'roles' then
    return rowhouse.reject_person_write(app, presented_proof, terms ->> 'table',
      array(select jsonb_array_elements_text(terms -> 'roles')), claim);
  end if;
  -- Only a setting of the app stops a write whose key has both scopes.
  if wanted & 1::smallint <> 0 and not exists (select from rowhouse.proofs where app_id = app
    and digest = sha256(presented_proof) and scopes & 1::smallint <> 0)
  then
    return rowhouse.reject_call(app, presented_proof, terms ->> 'table');
  end if;
  return rowhouse.reject_write(app, presented_proof, terms ->> 'table', claim);
end
$$;

-- A replay as the person may see it now: only ids, if a row has a column that the person does not
-- see, or if the person does not read the row anymore.
create function rowhouse.hide_replayed(app uuid, person uuid, terms jsonb, response text)
returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  rows jsonb := substr(response, 2)::jsonb;
  names constant text[] := array(select (value ->> 'name') from jsonb_array_elements(terms -> 'columns'));
  is_hidden boolean;
begin
  if rows ? 'count' then
    return response;
  end if;
  execute format('select exists (
      select from jsonb_array_elements($3) as "$e" ("$row") where exists (
        select from jsonb_object_keys("$e"."$row") as "$k" where "$k" not in (''id'', ''app_id''))
      and (exists (select from jsonb_object_keys("$e"."$row") as "$k"
          where "$k" not in (''id'', ''app_id'') and quote_ident("$k") <> all ($4))
        or not exists (select from data.%I as "$t" where "$t"."app_id" = $1
          and "$t"."id" = ("$e"."$row" ->> ''id'')::uuid and (%s))))',
    terms ->> 'table', terms ->> 'read')
  into is_hidden
  using app, person, coalesce(rows -> 'rows', jsonb_build_array(rows)), names;
  return case when is_hidden then 'I' || rowhouse.only_ids(substr(response, 2)) else response end;
end
$$;

-- Rejects the first row that names a column that the caller cannot set.
create function rowhouse.reject_closed(person uuid, closed text, bodies jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if closed is not null then
    execute format('select rowhouse.reject_rule_at("$e"."$closed", "$e"."$n" - 1) from (
        select %1$s as "$closed", "$n"::int4 from jsonb_array_elements($3) with ordinality
          as "$e" ("$body", "$n")
        where %1$s is not null order by "$n" limit 1) as "$e"', closed)
    using null::uuid, person, bodies;
  end if;
end
$$;

-- How statements search a unique index: its terms and rows, the condition of a row, null if it
-- cannot be searched so, and the types of the values. It is the index that PostgreSQL searches: a
-- valid one, in the form that the service prefers.
create function rowhouse.find_target(terms jsonb, numbers int4[], indexes text[], is_found boolean,
  out form int4, out conflict text, out rows text, out match text, out types text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  plain constant jsonb := '{"terms": "\"$name\"", "rows": "\"$name\" is not null",
    "match": "\"$name\" = \"$own\".\"$name\""}';
begin
  form := (select max(listed.n) from unnest(indexes) with ordinality as listed (name, n)
    join pg_index on indexrelid = to_regclass('data.' || quote_ident(name)) where indisvalid);
  select '"app_id", ' || string_agg(filled ->> 'terms', ', '),
      string_agg(filled ->> 'rows', ' and '),
      case when bool_and(filled ->> 'match' is not null
          and (is_found or form <> 2 or not named ? 'key')) then
        string_agg(filled ->> 'match', ' and ') end,
      string_agg((named ->> 'name') || ' ' || (named ->> 'type'), ', ')
    into conflict, rows, match, types
    from (
      select named, (select jsonb_object_agg(key, replace(replace(value,
          '"#$name"', coalesce(named ->> 'key', '')), '"$name"', named ->> 'name'))
        from jsonb_each_text(case when terms -> 'kinds' ? (named ->> 'kind')
          then terms -> 'kinds' -> (named ->> 'kind') -> (form - 1) else plain end)) as filled
      from unnest(numbers) as listed (number) cross join lateral (
        select case when number > 0 then terms -> 'columns' -> (number - 1) end as named) as known
    ) as listed;
  if conflict is null then
    raise exception 'no such index' using errcode = 'RH021';
  end if;
end
$$;

-- Locks the rows of these ids, which are sorted, in their order; returns how many there are, and
-- about how many bytes. The row of an id is looked up after the row of the id before is locked.
create function rowhouse.lock_set_rows(app uuid, terms jsonb, ids uuid[], strength text,
  out total bigint, out bytes numeric)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format('select count(*), sum(%s) from unnest($2) as "$i" ("$id") cross join lateral (
      select "$t".* from data.%I as "$t"
      where "$t"."app_id" = $1 and "$t"."id" = "$i"."$id" offset 0 for %s) as "$t"',
    terms ->> 'size', terms ->> 'table', strength) into total, bytes using app, ids;
end
$$;

-- The texts of rows, in the order of the ids, and whether the caller may have them and sees them.
create function rowhouse.read_set_rows(app uuid, person uuid, terms jsonb, ids uuid[],
  out texts text[], out allowed boolean[], out seen boolean[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format('select array_agg("$t"."$text" order by "$n"), array_agg("$t"."$ok" order by "$n"),
      array_agg("$t"."$seen" order by "$n")
    from unnest($3) with ordinality as "$i" ("$id", "$n") left join lateral (
      select (select row_to_json("$o")::text from (select %s) as "$o") as "$text",
        coalesce(%s, false) as "$ok", coalesce(%s, false) as "$seen" from data.%I as "$t"
      where "$t"."app_id" = $1 and "$t"."id" = "$i"."$id" offset 0) as "$t" on true',
    terms ->> 'outputs', terms ->> 'to', terms ->> 'read', terms ->> 'table')
  into texts, allowed, seen using app, person, ids;
end
$$;

-- What everyone who wrote a row may read of it.
create function rowhouse.short_row(app uuid, person uuid, id uuid) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select concat('{"id":"', id, '"', ',"app_id":"' || case when person is not null then app end || '"',
    '}')
$$;

-- Rejects rows that the person may not change, or whose owner the person names and is not, and
-- references to rows that the person does not read.
create function rowhouse.reject_changes(app uuid, person uuid, terms jsonb, ids uuid[],
  bodies jsonb) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  field text;
  is_found boolean;
  reference text;
begin
  execute format('select exists (select from unnest($3) as "$i" ("$id") where not exists (
      select from data.%I as "$t" where "$t"."app_id" = $1 and "$t"."id" = "$i"."$id" and (%s)))',
    terms ->> 'table', terms ->> 'from') into is_found using app, person, ids;
  if is_found then
    perform rowhouse.reject_rule(null);
  end if;
  for field in select jsonb_array_elements_text(terms -> 'owner') loop
    execute format('select exists (
        select from rows from (unnest($3), jsonb_array_elements($4)) as "$new" ("$id", "$body")
        join data.%I as "$t" on "$t"."app_id" = $1 and "$t"."id" = "$new"."$id"
        where "$body" ? %L and ("$t".%I = $2) is not true)', terms ->> 'table', field, field)
      into is_found using app, person, ids, bodies;
    if is_found then
      perform rowhouse.reject_rule(field);
    end if;
  end loop;
  for reference in select jsonb_array_elements_text(terms -> 'references') loop
    execute reference using app, person, ids, bodies;
  end loop;
end
$$;

-- Changes locked rows whose values differ: their texts as the caller sees them, in the order of the
-- ids, and which have changed. Rejects a state that no rule allows.
create function rowhouse.change_set_rows(app uuid, person uuid, terms jsonb, ids uuid[],
  bodies jsonb, changed_at timestamptz, out texts text[], out is_changed boolean[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  names constant text[] := array(select jsonb_array_elements_text(terms -> 'names'));
  others text[] := '{}';
  written uuid[];
  rest uuid[] := ids;
  allowed boolean[];
  seen boolean[];
  unchanged record;
begin
  if names <> '{}' then
    -- Other columns that must have a value, of other sets.
    others := array(select quote_ident(attname) from pg_attribute
      where attrelid = format('data.%I', terms ->> 'table')::regclass and attnum > 0
        and attnotnull and not attisdropped and attgenerated = ''
        and attname <> all (names || array['app_id', 'id']));
    execute format(terms ->> 'change',
      (select string_agg(', ' || name, '') from unnest(others) as listed (name)),
      (select string_agg(', "$t".' || name, '') from unnest(others) as listed (name)))
    into written, texts, allowed, seen using app, person, ids, bodies, changed_at;
    rest := array(select listed.id from unnest(ids) with ordinality as listed (id, n)
      left join unnest(written) as changed (id) using (id) where changed.id is null order by n);
  end if;
  if rest <> '{}' then
    select * into unchanged from rowhouse.read_set_rows(app, person, terms, rest);
    texts := texts || unchanged.texts;
    allowed := allowed || unchanged.allowed;
    seen := seen || unchanged.seen;
  end if;
  if false = any (allowed) then
    perform rowhouse.reject_rule(null);
  end if;
  select array_agg(case when is_seen then shown.text
      else rowhouse.short_row(app, person, shown.id) end order by listed.n),
      array_agg(shown.n <= coalesce(cardinality(written), 0) order by listed.n)
    into texts, is_changed
    from unnest(ids) with ordinality as listed (id, n)
    join unnest(written || rest, texts, seen) with ordinality as shown (id, text, is_seen, n)
      using (id);
end
$$;

-- Changes locked rows, all at once or one by one, so that the first error of a row counts. An error
-- has the position of its row in the request, from 0.
create function rowhouse.change_each(app uuid, person uuid, terms jsonb, ids uuid[], bodies jsonb,
  positions int4[], bytes numeric, max_bytes int4, is_ruled boolean,
  out texts text[], out is_changed boolean[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- The time of a write that waits for another one must not be the earlier of both.
  changed_at constant timestamptz := clock_timestamp();
  is_each boolean := terms ? 'isEach' or bytes > ${SINGLE_STEP_BYTES} or cardinality(ids) = 1;
  size bigint;
  nth int4;
  part record;
  state text;
  broken text;
  field text;
  source text;
begin
  loop
    begin
      if not is_each then
        if is_ruled then
          perform rowhouse.reject_changes(app, person, terms, ids, bodies);
        end if;
        select * into texts, is_changed
          from rowhouse.change_set_rows(app, person, terms, ids, bodies, changed_at);
        if (select sum(octet_length(text)) from unnest(texts) as listed (text)) > max_bytes then
          perform rowhouse.reject_row(ids[1]);
        end if;
        exit;
      end if;
      texts := '{}';
      is_changed := '{}';
      size := 0;
      for n in 1 .. coalesce(cardinality(ids), 0) loop
        nth := n;
        if is_ruled then
          perform rowhouse.reject_changes(app, person, terms, ids[n:n],
            jsonb_build_array(bodies -> (n - 1)));
        end if;
        select * into part from rowhouse.change_set_rows(app, person, terms, ids[n:n],
          jsonb_build_array(bodies -> (n - 1)), changed_at);
        texts := texts || part.texts;
        is_changed := is_changed || part.is_changed;
        -- Rows can be larger than the request, by any factor.
        size := size + octet_length(texts[n]);
        if size > max_bytes then
          perform rowhouse.reject_row(ids[n]);
        end if;
      end loop;
      exit;
    exception when integrity_constraint_violation then
      if is_each then
        get stacked diagnostics state = returned_sqlstate, broken = constraint_name,
          field = column_name, source = table_name;
        raise exception 'a row of a batch breaks a rule' using errcode = state,
          constraint = broken, column = field, table = source, hint = positions[nth]::text;
      end if;
      is_each := true;
    end;
  end loop;
end
$$;

-- Updates the rows with the same values in a unique constraint, and creates none: the rows that
-- exist, and the results of all, in the order of the list.
--
-- They are found by the index, locked in the order of their ids, and found again: a row that has
-- got or lost the values of a key while a lock waited begins the search again, without the locks. A
-- row that the caller does not read is as if it were missing, and is not locked.
create function rowhouse.update_keyed_rows(app uuid, proof bytea, set_name text, sent text,
  numbers int4[], indexes text[], max_bytes int4, sent_claim bytea) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  bodies constant jsonb := sent::jsonb;
  total constant int4 := jsonb_array_length(bodies);
  sought jsonb := bodies;
  write record;
  terms jsonb;
  target record;
  met record;
  ids uuid[];
  locked record;
  repeats int4 := 0;
  places int4[];
  done record;
  texts text[] := array_fill(null::text, array[total]);
  results text[] := array_fill('missing'::text, array[total]);
  response text;
begin
  select * into write from rowhouse.begin_write(app, proof, set_name, 3::smallint, sent_claim, null);
  if write.response is not null then
    return write.response;
  end if;
  terms := write.terms;
  perform rowhouse.reject_closed(write.person, terms ->> 'closedNew', bodies);
  target := rowhouse.find_target(terms, numbers, indexes, true);
  if target.match is null then
    -- Only the form for searches finds a row by these values without a write.
    raise exception 'no such index' using errcode = 'RH021';
  end if;
  if terms ? 'owner' then
    -- A person's rows have the person as their owner, whether the request says so or not.
    sought := (select jsonb_agg(body || (select jsonb_object_agg(name, write.person)
        from jsonb_array_elements_text(terms -> 'owner') as owner (name)) order by n)
      from jsonb_array_elements(bodies) with ordinality as listed (body, n));
  end if;
  loop
    begin
      select * into met from rowhouse.find_met(app, write.person, terms, target, sought, true);
      ids := met.ids;
      select * into locked from rowhouse.lock_set_rows(app, terms, ids, 'no key update');
      select * into met from rowhouse.find_met(app, write.person, terms, target, sought, true);
      if not met.ids <@ ids then
        raise serialization_failure;
      end if;
      exit;
    exception when serialization_failure then
      repeats := repeats + 1;
      -- Each is a change of keys by another write, so that more of them are a fault.
      if repeats > 20 then
        raise;
      end if;
    end;
  end loop;
  select array_agg(id order by place), array_agg(place order by place) into ids, places
    from unnest(met.ids, met.places) as listed (id, place);
  select * into done from rowhouse.change_each(app, write.person, terms, ids,
    (select jsonb_agg(bodies -> (place - 1) order by place) from unnest(places) as listed (place)),
    (select array_agg(place - 1 order by place) from unnest(places) as listed (place)),
    locked.bytes, max_bytes, terms ? 'roles');
  for n in 1 .. coalesce(cardinality(places), 0) loop
    texts[places[n]] := done.texts[n];
    results[places[n]] := case when done.is_changed[n] then 'updated' else 'unchanged' end;
  end loop;
  response := rowhouse.join_results(texts, results);
  if octet_length(case when total = 1 then array_to_string(texts, ',') else response end) > max_bytes
  then
    return rowhouse.reject_row(ids[1]);
  end if;
  if write.claim is not null then
    if ids is null then
      perform rowhouse.forget_key(app, write.claim);
    else
      perform rowhouse.complete_found_key(app, write.claim, response);
    end if;
  end if;
  return response;
end
$$;

-- The rows of a list that exist, their positions in the list, both in the order of the ids.
create function rowhouse.find_met(app uuid, person uuid, terms jsonb, target record, list jsonb,
  is_seen boolean, out ids uuid[], out places int4[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  ids := '{}';
  places := '{}';
  if terms -> 'names' = '[]' then
    return;
  end if;
  select met, known into ids, places from find.existing(app, format('data.%I', terms ->> 'table'),
    target.types, target.rows, coalesce(target.match, 'false'), list);
  if is_seen and terms ->> 'read' <> 'true' then
    execute format('select coalesce(array_agg("$k"."$id" order by "$k"."$id"), ''{}''),
        array_agg("$k"."$nth" order by "$k"."$id")
      from unnest($3, $4) as "$k" ("$id", "$nth") where exists (select from data.%I as "$t"
        where "$t"."app_id" = $1 and "$t"."id" = "$k"."$id" and (%s))',
      terms ->> 'table', terms ->> 'read') into ids, places using app, person, ids, places;
  end if;
end
$$;

-- The response to a list: the texts of its rows, and their results.
create function rowhouse.join_results(texts text[], results text[]) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select concat('{"rows":[', array_to_string(texts, ','), '],"results":["',
    array_to_string(results, '","'), '"]}')
$$;

grant execute on function rowhouse.begin_write, rowhouse.reject_set_write, rowhouse.hide_replayed,
  rowhouse.reject_closed, rowhouse.find_target, rowhouse.lock_set_rows, rowhouse.read_set_rows,
  rowhouse.short_row, rowhouse.reject_changes, rowhouse.change_set_rows, rowhouse.change_each,
  rowhouse.find_met, rowhouse.join_results to rowhouse_tenant;
grant create on schema rowhouse to rowhouse_tenant;
alter function rowhouse.update_keyed_rows owner to rowhouse_tenant;
revoke create on schema rowhouse from rowhouse_tenant;
grant execute on function rowhouse.update_keyed_rows to rowhouse_service, rowhouse_data;
