-- Writes of several rows, for all tables. Rows that exist are locked in the order of their ids, so
-- that two writes wait for each other instead of deadlocking, and written in the order of the
-- request: first all by one statement. If a row violates a rule, they are written one by one,
-- because PostgreSQL does not report the row, and because the first error counts.

-- Begins a write: the proof, and the claim of its idempotency key. A response that is not null is
-- that of the whole call. "ids" are those of the response, if they are known.
create function rowhouse.begin_write(app uuid, presented_proof bytea, set_name text,
  wanted smallint, sent_claim bytea, ids uuid[],
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
  response := rowhouse.claim_key(app, presented_proof, claim, null,
    (select concat('{"rows":[', string_agg(concat('{"id":"', id, '"',
        case when person is not null then concat(',"app_id":"', app, '"') end, '}'), ','
        order by n), ']}')
      from unnest(ids) with ordinality as listed (id, n) having ids is not null));
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
  -- As in the response: the columns of statements are identifiers.
  names constant text[] := array(select jsonb_object_keys(terms -> 'queried'));
  is_hidden boolean;
begin
  if response like 'R{"count":%' then
    return response;
  end if;
  execute format('select exists (
      select from jsonb_array_elements($3) as "$e" ("$row") where exists (
        select from jsonb_object_keys("$e"."$row") as "$k" where "$k" not in (''id'', ''app_id''))
      and (exists (select from jsonb_object_keys("$e"."$row") as "$k"
          where "$k" <> ''app_id'' and "$k" <> all ($4))
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
  plain constant jsonb := jsonb_build_object('terms', '"$name"', 'rows', '"$name" is not null',
    'match', '"$name" = "$own"."$name"');
  number int4;
  named jsonb;
  part jsonb;
  name text;
  key text;
  is_searched boolean := true;
begin
  form := (select max(listed.n) from unnest(indexes) with ordinality as listed (index, n)
    join pg_index on indexrelid = to_regclass('data.' || quote_ident(index)) where indisvalid);
  conflict := '"app_id"';
  foreach number in array numbers loop
    named := case when number > 0 then terms -> 'columns' -> (number - 1) end;
    part := case when terms -> 'kinds' ? (named ->> 'kind')
      then terms -> 'kinds' -> (named ->> 'kind') -> (form - 1) else plain end;
    name := named ->> 'name';
    key := coalesce(named ->> 'key', '');
    conflict := conflict || ', '
      || replace(replace(part ->> 'terms', '"#$name"', key), '"$name"', name);
    rows := concat_ws(' and ', rows,
      replace(replace(part ->> 'rows', '"#$name"', key), '"$name"', name));
    types := concat_ws(', ', types, name || ' ' || (named ->> 'type'));
    if part ->> 'match' is null or (form = 2 and named ? 'key' and not is_found) then
      is_searched := false;
    else
      match := concat_ws(' and ', match,
        replace(replace(part ->> 'match', '"#$name"', key), '"$name"', name));
    end if;
  end loop;
  if not is_searched then
    match := null;
  end if;
  if form is null or rows is null or conflict is null then
    raise exception 'no such index' using errcode = 'RH021';
  end if;
end
$$;

-- Locks the rows of these ids, which are sorted, in their order; returns those that there are, and
-- about their bytes. The row of an id is looked up after the row of the id before is locked.
create function rowhouse.lock_set_rows(app uuid, terms jsonb, ids uuid[], strength text,
  out held uuid[], out bytes numeric)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format('select coalesce(array_agg("$t"."id"), ''{}''), sum(%s)
    from unnest($2) as "$i" ("$id") cross join lateral (
      select "$t".* from data.%I as "$t"
      where "$t"."app_id" = $1 and "$t"."id" = "$i"."$id" offset 0 for %s) as "$t"',
    terms ->> 'size', terms ->> 'table', strength) into held, bytes using app, ids;
end
$$;

-- The texts of rows as the caller sees them, in the order of the ids, and whether the caller may
-- have them. Of a row that the person does not see, everyone who wrote it may read the ids.
create function rowhouse.read_set_rows(app uuid, person uuid, terms jsonb, ids uuid[],
  out texts text[], out allowed boolean[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format('select array_agg("$t"."$text" order by "$n"), array_agg("$t"."$ok" order by "$n")
    from unnest($3) with ordinality as "$i" ("$id", "$n") left join lateral (
      select %s as "$text", coalesce(%s, false) as "$ok" from data.%I as "$t"
      where "$t"."app_id" = $1 and "$t"."id" = "$i"."$id" offset 0) as "$t" on true',
    terms ->> 'text', terms ->> 'to', terms ->> 'table')
  into texts, allowed using app, person, ids;
end
$$;

-- Rejects references of bodies to rows that the person does not read: those of new rows, or of rows
-- that change.
create function rowhouse.reject_references(app uuid, person uuid, queries jsonb, ids uuid[],
  bodies jsonb) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  query text;
begin
  for query in select jsonb_array_elements_text(queries) loop
    execute query using app, person, ids, bodies;
  end loop;
end
$$;

-- Rejects rows that the person may not change, or whose owner the person names and is not, unless
-- they are already compared, and if wanted references to rows that the person does not read.
create function rowhouse.reject_changes(app uuid, person uuid, terms jsonb, ids uuid[],
  bodies jsonb, are_compared boolean, has_references boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  field text;
  is_found boolean;
begin
  if not are_compared and rowhouse.has_other(app, person, terms, 'from', ids) then
    perform rowhouse.reject_rule(null);
  end if;
  for field in select jsonb_array_elements_text(terms -> 'owner') where not are_compared loop
    execute format('select exists (
        select from rows from (unnest($3), jsonb_array_elements($4)) as "$new" ("$id", "$body")
        join data.%I as "$t" on "$t"."app_id" = $1 and "$t"."id" = "$new"."$id"
        where "$body" ? %L and ("$t".%I = $2) is not true)', terms ->> 'table', field, field)
      into is_found using app, person, ids, bodies;
    if is_found then
      perform rowhouse.reject_rule(field);
    end if;
  end loop;
  if has_references then
    perform rowhouse.reject_references(app, person, terms -> 'references', ids, bodies);
  end if;
end
$$;

-- Changes locked rows whose values differ: their texts as the caller sees them, in the order of the
-- ids, and which have changed. Rejects a state that no rule allows. Without bodies, rows remain.
-- What a body has besides the columns of the set is never assigned.
create function rowhouse.change_set_rows(app uuid, person uuid, terms jsonb, ids uuid[],
  bodies jsonb, changed_at timestamptz, out texts text[], out is_changed boolean[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  source constant text := format('data.%I', terms ->> 'table');
  written uuid[];
  rest uuid[] := ids;
  allowed boolean[];
  unchanged record;
begin
  if bodies is null or terms ->> 'set' = '' then
    null;
  elsif cardinality(ids) = 1 then
    execute format('update %1$s as "$t" set %2$s
      from (select "$t" as "$was" from %1$s as "$t"
        where "$t"."app_id" = $1 and "$t"."id" = $3 offset 0) as "$old"
      cross join lateral (select $4 as "$body") as "$new"
      cross join lateral jsonb_populate_record("$was", $4) as "$n"
      where "$t"."app_id" = $1 and "$t"."id" = $3 and record_image_ne("$was", "$n")
      returning array["$t"."id"], array[%3$s], array[coalesce(%4$s, false)]',
      source, terms ->> 'set', terms ->> 'text', terms ->> 'to')
    into written, texts, allowed using app, person, ids[1], bodies -> 0, changed_at;
    -- The update itself can change who reads the row.
    if written is not null and terms ? 'isEach' then
      texts := (rowhouse.read_set_rows(app, person, terms, written)).texts;
    end if;
  else
    -- An update promises no order. An insert does, and each of its rows meets its own, which is
    -- locked: it inserts none.
    execute (
      select format('with "$row" as (
          insert into %1$s as "$t" ("app_id", "id"%2$s)
          select $1, "$new"."$id"%3$s from rows from (unnest($3), jsonb_array_elements($4))
            with ordinality as "$new" ("$id", "$body", "$nth")
          cross join lateral (select "$t" as "$was" from %1$s as "$t"
            where "$t"."app_id" = $1 and "$t"."id" = "$new"."$id" offset 0) as "$old"
          cross join lateral jsonb_populate_record("$was", "$body") as "$n"
          where record_image_ne("$was", "$n") order by "$nth"
          on conflict ("app_id", "id") do update set %4$s
          returning "$t"."id" as "$id", %5$s as "$text", coalesce(%6$s, false) as "$ok")
        select array_agg("$id"), array_agg("$text"), array_agg("$ok") from "$row"', source,
        string_agg(format(', %I', attname), ''), string_agg(case when terms -> 'times' ? attname
          then format(', case when "$body" ? %1$L then "$n".%1$I else $5 end', attname)
          else format(', "$n".%I', attname) end, ''),
        string_agg(format(case when attlen > 0 then '%1$I = excluded.%1$I'
            -- PostgreSQL would store a copy of a large value again.
            else '%1$I = case when record_image_eq(row("$t".%1$I), row(excluded.%1$I))'
              ' then "$t".%1$I else excluded.%1$I end' end, attname), ', ')
          filter (where terms -> 'names' ? attname),
        terms ->> 'text', terms ->> 'to')
      from pg_attribute where attrelid = source::regclass and attnum > 0 and not attisdropped
        and attgenerated = '' and attname not in ('app_id', 'id'))
    into written, texts, allowed using app, person, ids, bodies, changed_at;
  end if;
  if written is not null and cardinality(written) = cardinality(ids) then
    rest := '{}';
  elsif written is not null then
    rest := array(select listed.id from unnest(ids) with ordinality as listed (id, n)
      left join unnest(written) as changed (id) using (id) where changed.id is null order by n);
  end if;
  if rest <> '{}' then
    unchanged := rowhouse.read_set_rows(app, person, terms, rest);
    texts := texts || unchanged.texts;
    allowed := allowed || unchanged.allowed;
  end if;
  if bodies is not null and false = any (allowed) then
    perform rowhouse.reject_rule(null);
  end if;
  if written is null or rest = '{}' then
    -- In the order of the ids.
    is_changed := array_fill(written is not null, array[cardinality(ids)]);
    return;
  end if;
  select array_agg(shown.text order by listed.n),
      array_agg(shown.n <= cardinality(written) order by listed.n)
    into texts, is_changed
    from unnest(ids) with ordinality as listed (id, n)
    join unnest(written || rest, texts) with ordinality as shown (id, text, n) using (id);
end
$$;

-- Changes locked rows, all at once or one by one, so that the first error of a row counts. An error
-- has the position of its row in the request, from 0. One body for several rows is the body of
-- each. Their texts are then not returned, and "max_bytes" limits each row.
create function rowhouse.change_each(app uuid, person uuid, terms jsonb, ids uuid[], bodies jsonb,
  positions int4[], bytes numeric, max_bytes bigint, are_compared boolean,
  checks_references boolean, out texts text[], out is_changed boolean[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- The time of a write that waits for another one must not be the earlier of both.
  changed_at constant timestamptz := clock_timestamp();
  total constant int4 := coalesce(cardinality(ids), 0);
  is_same constant boolean := total > 1 and coalesce(jsonb_array_length(bodies) = 1, false);
  step int4 := case when terms ? 'isEach' or bytes > ${SINGLE_STEP_BYTES} then 1 else total end;
  size bigint;
  first int4;
  part_ids uuid[];
  part_bodies jsonb;
  part record;
  state text;
  broken text;
  field text;
  source text;
begin
  loop
    begin
      texts := '{}';
      is_changed := '{}';
      size := 0;
      first := 1;
      while first <= total loop
        part_ids := ids[first:first + step - 1];
        part_bodies := case when is_same and step = total
            then (select jsonb_agg(bodies -> 0) from generate_series(1, total))
          when step = total or is_same then bodies
          else jsonb_build_array(bodies -> (first - 1)) end;
        if bodies is not null and terms ? 'roles' and (checks_references or not are_compared) then
          perform rowhouse.reject_changes(app, person, terms, part_ids, part_bodies, are_compared,
            checks_references);
        end if;
        part := rowhouse.change_set_rows(app, person, terms, part_ids,
          case when bodies is not null then part_bodies end, changed_at);
        if not is_same then
          texts := texts || part.texts;
          is_changed := is_changed || part.is_changed;
        end if;
        -- Rows can be larger than the request, by any factor.
        size := (select case when is_same then max(octet_length(text))
            else size + sum(octet_length(text)) end from unnest(part.texts) as listed (text));
        if size > max_bytes then
          perform rowhouse.reject_row(ids[first]);
        end if;
        first := first + step;
      end loop;
      exit;
    exception when integrity_constraint_violation then
      if step = 1 then
        get stacked diagnostics state = returned_sqlstate, broken = constraint_name,
          field = column_name, source = table_name;
        raise exception 'a row of a batch breaks a rule' using errcode = state,
          constraint = broken, column = field, table = source,
          hint = coalesce(positions[first]::text, '');
      end if;
      step := 1;
    end;
  end loop;
end
$$;

-- Changes a row for an API key, whose functions for one row have plans: the text of the row, null
-- without a row. A row whose values stay the same is not written. An error has the position of the
-- row in a list of one.
create function rowhouse.change_row(app uuid, proof bytea, set_name text, terms jsonb, id uuid,
  body jsonb, max_bytes int4) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  is_changed boolean;
  changed text;
  state text;
  broken text;
  field text;
  source text;
begin
  execute format('select record_image_ne("$t", jsonb_populate_record("$t", $3)) from data.%I as "$t"
    where "$t"."app_id" = $1 and "$t"."id" = $2 for no key update', terms ->> 'table')
  into is_changed using app, id, body;
  if is_changed then
    execute format('select api.%I($1, $2, $3, $4, $5, null, null)', set_name || '_update')
    into changed using app, proof, id, body::text, max_bytes;
  elsif not is_changed then
    execute format('select api.%I($1, $2, $3, $4)', set_name || '_get')
    into changed using app, proof, id, max_bytes;
  end if;
  return changed;
exception when integrity_constraint_violation then
  get stacked diagnostics state = returned_sqlstate, broken = constraint_name,
    field = column_name, source = table_name;
  raise exception 'a row of a batch breaks a rule' using errcode = state,
    constraint = broken, column = field, table = source, hint = '0';
end
$$;

-- Updates rows by their ids: the rows, in the order of the list. If a row is missing, or has none
-- of its tags, updates none, and returns the positions of all such rows.
--
-- The rows are compared while they are locked: a rule can depend on rows of other tables, which
-- change while a lock waits. A row that the caller does not read is as if it were missing, and is
-- not locked.
create function rowhouse.update_rows(app uuid, proof bytea, set_name text, ids uuid[], sent text,
  max_bytes int4, sent_claim bytea) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  bodies constant jsonb := sent::jsonb;
  write record;
  terms jsonb;
  sought uuid[] := array(select id from unnest(ids) as listed (id) order by id);
  text text;
  locked record;
  forbidden int4;
  missing int4[] := '{}';
  unmatched int4[] := '{}';
  done record;
begin
  write := rowhouse.begin_write(app, proof, set_name, 2::smallint, sent_claim, ids);
  if write.response is not null then
    return write.response;
  end if;
  terms := write.terms;
  if cardinality(ids) = 1 and not terms ? 'roles' and not bodies -> 0 ? '${ROW_MATCH}' then
    text := rowhouse.change_row(app, proof, set_name, terms, ids[1], bodies -> 0, max_bytes);
    if text is not null then
      return rowhouse.end_write(app, write.claim, ids, array[text], null, max_bytes);
    end if;
  end if;
  perform rowhouse.reject_closed(write.person, terms ->> 'closed', bodies);
  if terms ->> 'read' <> 'true' then
    execute format('select array(select "$i"."$id" from unnest($3) as "$i" ("$id")
      where exists (select from data.%I as "$t"
        where "$t"."app_id" = $1 and "$t"."id" = "$i"."$id" and (%s)) order by 1)',
      terms ->> 'table', terms ->> 'read') into sought using app, write.person, sought;
  end if;
  locked := rowhouse.lock_set_rows(app, terms, sought, 'no key update');
  if cardinality(locked.held) < cardinality(ids) or terms ->> 'read' <> 'true'
    or terms ->> 'from' <> 'true' or bodies @? '$[*].${ROW_MATCH}'
  then
    execute format('select min("$n") filter (where not "$t"."$may"),
        coalesce(array_agg("$n" order by "$n") filter (where "$t"."$may" is null), ''{}''),
        coalesce(array_agg("$n" order by "$n") filter (where "$t"."$may"
          and "$t"."$tag" <> all (string_to_array("$body" ->> ''${ROW_MATCH}'', '',''))), ''{}'')
      from (select "$id", "$body", "$nth"::int4 - 1 as "$n"
        from rows from (unnest($3), jsonb_array_elements($4)) with ordinality
          as "$new" ("$id", "$body", "$nth")) as "$new"
      left join lateral (select coalesce(%s, false) as "$may",
          case when "$body" ? ''${ROW_MATCH}'' then left(encode(sha256(convert_to(
              (select row_to_json("$o")::text from (select %s) as "$o"), ''UTF8'')), ''hex''),
            ${TAG_LENGTH}) end as "$tag" from data.%I as "$t"
        where "$t"."app_id" = $1 and "$t"."id" = "$id" and "$id" = any ($5) and (%s) offset 0)
        as "$t" on true',
      terms ->> 'from', terms ->> 'outputs', terms ->> 'table', terms ->> 'read')
    into forbidden, missing, unmatched using app, write.person, ids, bodies, locked.held;
  end if;
  if missing = '{}' and forbidden is not null then
    perform rowhouse.reject_rule_at(null, forbidden);
  elsif missing <> '{}' or unmatched <> '{}' then
    if write.claim is not null then
      perform rowhouse.forget_key(app, write.claim);
    end if;
    return concat('${NO_MATCHES}', json_build_object('missing', missing, 'unmatched', unmatched));
  end if;
  done := rowhouse.change_each(app, write.person, terms, ids, bodies,
    array(select generate_series(0, cardinality(ids) - 1)), locked.bytes, max_bytes, true, true);
  return rowhouse.end_write(app, write.claim, ids, done.texts, null, max_bytes);
end
$$;

-- Finds the rows of a write by conditions, locks them in the order of their ids, and compares them
-- again: a row can have changed until it is locked. They are only rows of the app, and of a person
-- rows that the person sees and may write, whatever was found: the count of a dry run, which locks
-- none, is that of the write.
create function rowhouse.hold_found(app uuid, proof bytea, person uuid, terms jsonb, rule text,
  plan jsonb, given text[], max_rows int4, is_part boolean, is_dry boolean,
  out ids uuid[], out bytes numeric, out has_more boolean)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  is_ruled constant boolean := terms ->> 'read' <> 'true' or terms ->> rule <> 'true';
  filled text[] := given;
  held uuid[];
begin
  if plan ? 'sets' then
    filled := rowhouse.find_referenced(app, proof, plan -> 'sets', given);
  end if;
  ids := (find.page(app, person, terms, rule, plan, filled, max_rows + 1, null)).ids;
  has_more := cardinality(ids) > max_rows;
  if has_more and not is_part then
    raise exception 'too many rows' using errcode = 'RH020', detail = '${TOO_MANY_ROWS}';
  end if;
  ids := case when is_ruled or is_dry then rowhouse.keep_seen(app, person, terms, rule, ids)
    else array(select id from unnest(ids) as listed (id) order by id) end;
  ids := ids[:max_rows];
  if is_dry or ids = '{}' then
    return;
  end if;
  select locked.held, locked.bytes into held, bytes from rowhouse.lock_set_rows(app, terms, ids,
    case rule when 'delete' then 'update' else 'no key update' end) as locked;
  ids := (find.page(app, person, terms, rule, plan, filled, cardinality(held), held)).ids;
  ids := case when is_ruled then rowhouse.keep_seen(app, person, terms, rule, ids)
    else array(select id from unnest(ids) as listed (id) where id = any (held) order by id) end;
end
$$;

-- Ends a write by conditions: the number of its rows, in a dry run with the first ids.
create function rowhouse.end_found(app uuid, claim bytea, ids uuid[], has_more boolean,
  is_dry boolean) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  response constant text := concat('{"count":', cardinality(ids), ',"hasMore":' || has_more::text,
    case when is_dry then concat(',"ids":', to_json(ids[:${DRY_IDS}])) end, '}');
begin
  if claim is not null then
    perform rowhouse.complete_found_key(app, claim, response);
  end if;
  return response;
end
$$;

-- Deletes the rows that match conditions.
create function rowhouse.delete_found_rows(app uuid, proof bytea, set_name text, plan text,
  given text[], max_rows int4, is_part boolean, is_dry boolean, sent_claim bytea) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  write record;
  found_rows record;
begin
  write := rowhouse.begin_write(app, proof, set_name, 3::smallint, sent_claim, null);
  if write.response is not null then
    return write.response;
  end if;
  found_rows := rowhouse.hold_found(app, proof, write.person, write.terms, 'delete', plan::jsonb,
    given, max_rows, is_part, is_dry);
  if not is_dry then
    -- What else the delete writes is the effect of a reference.
    if write.listens <> '' then
      perform set_config('rowhouse.listens', concat(write.listens, chr(10), write.terms ->> 'table',
        ' ', array_to_string(found_rows.ids, ',')), true);
    end if;
    -- One statement, so that rows can reference each other.
    execute format('delete from data.%I as "$t" where "$t"."app_id" = $1 and "$t"."id" = any ($2)',
      write.terms ->> 'table') using app, found_rows.ids;
  end if;
  return rowhouse.end_found(app, write.claim, found_rows.ids,
    case when is_part then found_rows.has_more end, is_dry);
end
$$;

-- Updates the rows that match conditions, all with the same values.
create function rowhouse.update_found_rows(app uuid, proof bytea, set_name text, plan text,
  given text[], max_rows int4, is_part boolean, is_dry boolean, sent text, max_bytes int4,
  sent_claim bytea) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  bodies constant jsonb := jsonb_build_array(sent::jsonb);
  write record;
  terms jsonb;
  found_rows record;
begin
  write := rowhouse.begin_write(app, proof, set_name, 3::smallint, sent_claim, null);
  if write.response is not null then
    return write.response;
  end if;
  terms := write.terms;
  -- A body that no row can fulfill is an error even if no row matches.
  perform rowhouse.reject_closed(write.person, terms ->> 'closed', bodies);
  perform rowhouse.reject_references(app, write.person, terms -> 'references', '{null}', bodies);
  found_rows := rowhouse.hold_found(app, proof, write.person, terms, 'from', plan::jsonb, given,
    max_rows, is_part, is_dry);
  if is_dry then
    null;
  elsif cardinality(found_rows.ids) = 1 and not terms ? 'roles' then
    perform rowhouse.change_row(app, proof, set_name, terms, found_rows.ids[1], bodies -> 0,
      max_bytes);
  else
    perform rowhouse.change_each(app, write.person, terms, found_rows.ids, bodies, null,
      found_rows.bytes + octet_length(sent) * cardinality(found_rows.ids), max_bytes, true, false);
  end if;
  return rowhouse.end_found(app, write.claim, found_rows.ids,
    case when is_part then found_rows.has_more end, is_dry);
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
begin
  write := rowhouse.begin_write(app, proof, set_name, 3::smallint, sent_claim, null);
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
      met := rowhouse.find_met(app, write.person, terms, target.types, target.rows, target.match,
        sought, true);
      ids := met.ids;
      locked := rowhouse.lock_set_rows(app, terms, ids, 'no key update');
      met := rowhouse.find_met(app, write.person, terms, target.types, target.rows, target.match,
        sought, true);
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
  done := rowhouse.change_each(app, write.person, terms, ids,
    (select jsonb_agg(bodies -> (place - 1) order by place) from unnest(places) as listed (place)),
    (select array_agg(place - 1 order by place) from unnest(places) as listed (place)),
    locked.bytes, max_bytes, false, true);
  for n in 1 .. coalesce(cardinality(places), 0) loop
    texts[places[n]] := done.texts[n];
    results[places[n]] := case when done.is_changed[n] then 'updated' else 'unchanged' end;
  end loop;
  return rowhouse.end_write(app, write.claim, ids, texts, results, max_bytes);
end
$$;

-- The rows of a list that exist, their positions in the list, both in the order of the ids.
create function rowhouse.find_met(app uuid, person uuid, terms jsonb, types text, rows text,
  match text, list jsonb, is_seen boolean, out ids uuid[], out places int4[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  ids := '{}';
  places := '{}';
  if terms -> 'names' = '[]' then
    return;
  end if;
  select met, known into ids, places from find.existing(app, format('data.%I', terms ->> 'table'),
    types, rows, coalesce(match, 'false'), list);
  if is_seen and terms ->> 'read' <> 'true' then
    execute format('select coalesce(array_agg("$k"."$id" order by "$k"."$id"), ''{}''),
        array_agg("$k"."$nth" order by "$k"."$id")
      from unnest($3, $4) as "$k" ("$id", "$nth") where exists (select from data.%I as "$t"
        where "$t"."app_id" = $1 and "$t"."id" = "$k"."$id" and (%s))',
      terms ->> 'table', terms ->> 'read') into ids, places using app, person, ids, places;
  end if;
end
$$;

-- Rejects new rows before their insert, because a row cannot be the membership that allows it:
-- columns that the person cannot set, and references to rows that the person does not read.
create function rowhouse.reject_new_rows(app uuid, person uuid, terms jsonb, ids uuid[],
  bodies jsonb) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  field text;
begin
  if terms ? 'closedNew' then
    execute format('select %1$s from unnest($3, array(select jsonb_array_elements($4)))
        as "$new" ("$id", "$body") where %1$s is not null limit 1', terms ->> 'closedNew')
      into field using app, person, ids, bodies;
    if field is not null then
      perform rowhouse.reject_rule(field);
    end if;
  end if;
  perform rowhouse.reject_references(app, person, terms -> 'newReferences', ids, bodies);
end
$$;

-- Creates rows, or updates those with the same values in a unique constraint: the rows and their
-- results, in the order of the ids.
--
-- PostgreSQL finds a row by "on conflict": this search is exact in every form of an index, also
-- under row security, and leaves no moment between the search and the insert. The insert only locks
-- the rows that it meets, and notes their ids; then they are updated by their ids. So an unchanged
-- row is never written.
--
-- A list first creates the rows that it does not find, in the order of its keys. Then it locks the
-- rows that exist, in the order of their ids, as all writes of several rows do, and finds them
-- again as above. So a write that waits for a key holds only rows that it created, and one that
-- waits for a row waits for no key: they wait for each other instead of deadlocking.
--
-- What still collides (a row of other unique values that another upsert is creating, a row that is
-- deleted in between) is done again alone: upserts of one app and table share a lock, and a
-- repetition holds it alone.
create function rowhouse.upsert_rows(app uuid, proof bytea, set_name text, ids uuid[], sent text,
  numbers int4[], indexes text[], sequence int4[], is_ignored boolean, max_bytes int4,
  sent_claim bytea) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  bodies constant jsonb := sent::jsonb;
  total constant int4 := cardinality(ids);
  write record;
  terms jsonb;
  is_person boolean;
  is_alone_row boolean;
  is_changed boolean;
  target record;
  on_conflict text;
  step int4 := total;
  places int4[];
  done int4;
  failed int4 := -1;
  is_alone boolean := false;
  is_last boolean;
  is_tried boolean;
  is_unseen boolean;
  met_ids uuid[];
  met_places int4[];
  places_met int4[];
  locked record;
  bytes numeric;
  repeats int4 := 0;
  texts text[];
  results text[];
  size bigint;
  part_ids uuid[];
  part_bodies jsonb;
  part_texts text[];
  denied uuid[];
  part_denied uuid[];
  part record;
  state text;
  broken text;
  field text;
  source text;
  response text;
begin
  write := rowhouse.begin_write(app, proof, set_name, 3::smallint, sent_claim, null);
  if write.response is not null then
    return write.response;
  end if;
  terms := write.terms;
  is_person := terms ? 'roles';
  is_alone_row := total = 1 and not is_person;
  target := rowhouse.find_target(terms, numbers, indexes, false);
  if terms ? 'isEach' then
    step := 1;
  end if;
  loop
    begin
      done := 0;
      places := sequence;
      perform rowhouse.lock_upserts(app, terms ->> 'table', is_alone);
      is_unseen := false;
      size := 0;
      bytes := 0;
      texts := array_fill(null::text, array[total]);
      results := array_fill('created'::text, array[total]);
      is_last := total = 1;
      is_tried := false;
      met_ids := null;
      -- All rules of new rows are compared before the first insert, so that no row of the list
      -- allows another one.
      denied := '{}';
      while is_person and done < total loop
        select array_agg(ids[nth] order by n), jsonb_agg(bodies -> (nth - 1) order by n)
          into part_ids, part_bodies
          from unnest(places[done + 1:done + step]) with ordinality as listed (nth, n);
        perform rowhouse.reject_new_rows(app, write.person, terms, part_ids, part_bodies);
        if terms ? 'denied' then
          execute terms ->> 'denied' into part_denied
            using app, write.person, part_ids, part_bodies;
          denied := denied || part_denied;
        end if;
        done := done + step;
      end loop;
      done := 0;
      loop
        if total > 1 then
          if met_ids is null then
            select * into met_ids, met_places
              from rowhouse.find_met(app, write.person, terms, target.types, target.rows,
                target.match, bodies, false);
          end if;
          places := array(select listed.nth from unnest(sequence) with ordinality as listed (nth, n)
            left join unnest(met_places) as known (nth) using (nth)
            where texts[listed.nth] is null and known.nth is null order by n);
          is_last := places = '{}' or is_tried and is_alone;
          if is_tried and not is_last then
            -- Another upsert can be creating the row again, and waits for keys in their order.
            raise serialization_failure using message = 'a row was deleted in between';
          end if;
          if is_last then
            locked := rowhouse.lock_set_rows(app, terms, met_ids, 'no key update');
            if cardinality(locked.held) < cardinality(met_ids) then
              -- Its key is free, and waiting for the key would hold the locks: the list begins
              -- again without them.
              raise serialization_failure using message = 'a row is gone';
            end if;
            bytes := locked.bytes;
            places := array(select nth from unnest(sequence) with ordinality as listed (nth, n)
              where texts[nth] is null order by n);
          end if;
        end if;
        on_conflict := format('on conflict (%s) where %s ', target.conflict, target.rows)
          || case when is_last then format('do update set %1$I = "$t".%1$I where set_config(
            ''rowhouse.met'', concat(current_setting(''rowhouse.met''), '','', excluded."id", %2$s,
            "$t"."id"), true) is null', terms -> 'names' ->> 0, case when is_alone_row then
            'case when record_image_ne("$t", jsonb_populate_record("$t", $4 -> 0))'
              ' then ''!'' else ''='' end'
            else quote_literal(':') end) else 'do nothing' end;
        while done < cardinality(places) loop
          select array_agg(ids[nth] order by n), jsonb_agg(bodies -> (nth - 1) order by n)
            into part_ids, part_bodies
            from unnest(places[done + 1:done + step]) with ordinality as listed (nth, n);
          perform set_config('rowhouse.met', '', true);
          execute format(terms ->> 'insert', on_conflict) into part_ids, part_texts
            using app, write.person, part_ids, part_bodies;
          if part_ids && denied then
            perform rowhouse.reject_rule(null);
          end if;
          if is_person and part_ids is not null then
            part_texts := (rowhouse.read_set_rows(app, write.person, terms, part_ids)).texts;
          end if;
          for part in select nth, text from unnest(part_ids, part_texts) as created (id, text)
            join unnest(ids) with ordinality as listed (id, nth) using (id)
          loop
            texts[part.nth] := part.text;
          end loop;
          if is_alone_row and part_ids is null then
            -- Of an API key: its functions for one row have plans.
            is_changed := not is_ignored and substr(current_setting('rowhouse.met'), 38, 1) = '!';
            part_ids := array[right(current_setting('rowhouse.met'), 36)::uuid];
            if is_changed then
              execute format('select api.%I($1, $2, $3, $4, $5, null, null)', set_name || '_update')
                into response using app, proof, part_ids[1], (bodies -> 0)::text, max_bytes;
            else
              execute format('select api.%I($1, $2, $3, $4)', set_name || '_get')
                into response using app, proof, part_ids[1], max_bytes;
            end if;
            texts[1] := response;
            results[1] := case when is_ignored then 'ignored' when is_changed then 'updated'
              else 'unchanged' end;
            exit;
          end if;
          -- Each proposed id that met a row, with the id of that row.
          select array_agg(nth order by n) as places, array_agg(right(pair, 36)::uuid order by n)
              as ids, jsonb_agg(bodies -> (nth - 1)::int4 order by n) as bodies into part
            from unnest(string_to_array(ltrim(current_setting('rowhouse.met', true), ','), ','))
              with ordinality as noted (pair, n)
            join unnest(ids) with ordinality as listed (id, nth) on id = left(pair, 36)::uuid;
          if part.ids is not null then
            if rowhouse.has_other(app, write.person, terms, 'read', part.ids) then
              is_unseen := true;
              raise unique_violation using message = 'a row has these values',
                constraint = indexes[target.form], table = terms ->> 'table';
            end if;
            places_met := part.places;
            part := rowhouse.change_each(app, write.person, terms, part.ids,
              case when not is_ignored then part.bodies end, null, bytes, max_bytes - size, false,
              false);
            for n in 1 .. cardinality(places_met) loop
              texts[places_met[n]] := part.texts[n];
              size := size + octet_length(part.texts[n]);
              results[places_met[n]] := case when is_ignored then 'ignored'
                when part.is_changed[n] then 'updated' else 'unchanged' end;
            end loop;
          end if;
          done := done + step;
        end loop;
        exit when is_last;
        is_tried := true;
        done := 0;
        if exists (select from unnest(places) as listed (nth) where texts[nth] is null) then
          met_ids := null;
        end if;
      end loop;
      exit;
    exception when integrity_constraint_violation or cardinality_violation or deadlock_detected
      or serialization_failure then
      get stacked diagnostics state = returned_sqlstate, broken = constraint_name,
        field = column_name, source = table_name;
      is_alone := true;
      if left(state, 2) = '40' then
        repeats := repeats + 1;
        -- Each repetition waits for the other upserts, so that more of them are a fault.
        if repeats > 20 then
          raise;
        end if;
      elsif step > 1 then
        -- PostgreSQL does not report the row.
        step := 1;
      elsif not is_unseen and repeats < 20
        and (broken = any (indexes) or places[done + 1] <> failed)
      then
        -- Another write can have stored the row since the search. PostgreSQL then reports another
        -- constraint of the row, or the same constraint in another index, while its form is
        -- changed.
        repeats := repeats + 1;
        failed := places[done + 1];
      else
        raise exception 'a row of a batch breaks a rule' using errcode = state,
          constraint = broken, column = field, table = source,
          hint = (places[done + 1] - 1)::text;
      end if;
    end;
  end loop;
  return rowhouse.end_write(app, write.claim, ids, texts, results, max_bytes);
end
$$;

-- Whether one of these rows does not meet a rule of the set.
create function rowhouse.has_other(app uuid, person uuid, terms jsonb, rule text, ids uuid[])
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  is_found boolean := false;
begin
  if terms ->> rule <> 'true' then
    execute format('select exists (select from unnest($3) as "$i" ("$id") where not exists (
        select from data.%I as "$t"
        where "$t"."app_id" = $1 and "$t"."id" = "$i"."$id" and (%s)))',
      terms ->> 'table', terms ->> rule) into is_found using app, person, ids;
  end if;
  return is_found;
end
$$;

-- Ends a write: the response to a list, with the texts of its rows and their results, if they can
-- differ, and the claim of its idempotency key. A write that found no row has no ids.
create function rowhouse.end_write(app uuid, claim bytea, ids uuid[], texts text[],
  results text[], max_bytes int4) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  rows constant text := array_to_string(texts, ',');
  response constant text := concat('{"rows":[', rows, ']',
    ',"results":["' || array_to_string(results, '","') || '"]', '}');
begin
  -- A row on its own is sent without the rest.
  if octet_length(case when cardinality(results) = 1 then rows else response end) > max_bytes then
    return rowhouse.reject_row(ids[1]);
  end if;
  if claim is not null and ids is null then
    perform rowhouse.forget_key(app, claim);
  elsif claim is not null and results is null then
    perform rowhouse.complete_key(app, claim, response);
  elsif claim is not null then
    perform rowhouse.complete_found_key(app, claim, response);
  end if;
  return response;
end
$$;

grant execute on function rowhouse.begin_write, rowhouse.reject_set_write, rowhouse.hide_replayed,
  rowhouse.reject_closed, rowhouse.find_target, rowhouse.lock_set_rows, rowhouse.read_set_rows,
  rowhouse.reject_references, rowhouse.reject_changes, rowhouse.change_set_rows,
  rowhouse.change_each, rowhouse.change_row, rowhouse.find_met, rowhouse.reject_new_rows,
  rowhouse.has_other, rowhouse.end_write, rowhouse.hold_found, rowhouse.end_found
  to rowhouse_tenant;
grant create on schema rowhouse to rowhouse_tenant;
alter function rowhouse.update_rows owner to rowhouse_tenant;
alter function rowhouse.update_found_rows owner to rowhouse_tenant;
alter function rowhouse.delete_found_rows owner to rowhouse_tenant;
alter function rowhouse.update_keyed_rows owner to rowhouse_tenant;
alter function rowhouse.upsert_rows owner to rowhouse_tenant;
revoke create on schema rowhouse from rowhouse_tenant;
grant execute on function rowhouse.update_rows, rowhouse.update_found_rows,
  rowhouse.delete_found_rows, rowhouse.update_keyed_rows, rowhouse.upsert_rows
  to rowhouse_service, rowhouse_data;
