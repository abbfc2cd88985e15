-- Stored responses of writes with an `Idempotency-Key`, for a day: under the tenant's policy like
-- rows, with the app first in the primary key, so that several nodes can have it by app. A
-- write claims its key before it does anything; a concurrent write with the same key waits, and
-- then gets the same response.
--
-- A claim is a value of 65 bytes: whether another key can be recorded (1 or 0), the SHA-256 of the
-- key, and the SHA-256 of the request.

create policy tenant on rowhouse.idempotency_keys for all to public
  using (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)
  with check (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true),
    '')::pg_catalog.uuid);
grant select, insert, update, delete on rowhouse.idempotency_keys to rowhouse_tenant;

-- The same response with only the ids of its rows: of one row, or of a batch, whose results remain.
create function rowhouse.only_ids(response text) returns text language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select case
    when starts_with(response, '{"id":"') then left(response, 44) || '}'
    else (select concat('{"rows":[', string_agg(concat('{"id":"', item ->> 'id', '"}'), ','
      order by nth), ']', ',"results":' || (response::json ->> 'results'), '}')
      from json_array_elements(response::json -> 'rows') with ordinality as listed (item, nth)) end
$$;
grant execute on function rowhouse.only_ids to rowhouse_tenant;

-- Null if the caller must write; otherwise the response of the first write with this key, after a
-- letter for its kind. 'first_response' is null if it is known only after the write; 'short'
-- replaces a large response. Claims belong to the app, so that a rolled key replays them: another
-- key of the app that cannot read rows gets only ids. A function of people (bit 32) removes what
-- the person does not see.
create function rowhouse.claim_key(app uuid, presented_proof bytea, claim bytea,
  first_response text, short text)
returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  may_record constant boolean := get_byte(claim, 0) = 1;
  claimed constant bytea := substring(claim from 2 for 32);
  wanted constant bytea := substring(claim from 34 for 32);
  fits constant boolean := octet_length(first_response) <= ${MAX_STORED_RESPONSE_BYTES};
  overdue constant timestamptz := now() - interval '${IDEMPOTENCY_HOURS} hours';
  found_key rowhouse.idempotency_keys;
begin
  loop
    -- Claims the key even at the limit: no write with this key may be in progress when the caller
    -- omits the key.
    insert into rowhouse.idempotency_keys as stored (app_id, key, request, is_whole, response)
    values (app, claimed, wanted, coalesce(fits, true), case when fits then first_response
      else short end)
    on conflict (app_id, key) do update
      set request = excluded.request, is_whole = excluded.is_whole, response = excluded.response,
        created_at = excluded.created_at
      where stored.created_at < overdue;
    if found and may_record then
      return null;
    end if;
    if found then
      perform rowhouse.forget_key(app, claim);
      return 'F';
    end if;
    select * into found_key from rowhouse.idempotency_keys
    where app_id = app and key = claimed and created_at >= overdue;
    if found then
      return case
        when found_key.request <> wanted then 'M'
        when not found_key.is_whole then 'I' || found_key.response
        when exists (select from rowhouse.proofs where app_id = app
          and digest = sha256(presented_proof) and scopes & 33 <> 0
          and expires_at > clock_timestamp()) then 'R' || found_key.response
        else 'I' || rowhouse.only_ids(found_key.response) end;
    end if;
    -- Otherwise the key was deleted between the two reads.
  end loop;
end
$$;

-- Stores the response of the write that claimed the key.
create function rowhouse.complete_key(app uuid, claim bytea, first_response text) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update rowhouse.idempotency_keys set
    is_whole = octet_length(first_response) <= ${MAX_STORED_RESPONSE_BYTES},
    response = case when octet_length(first_response) <= ${MAX_STORED_RESPONSE_BYTES}
      then first_response else response end
  where app_id = app and key = substring(claim from 2 for 32)
$$;

-- Stores the response of the write that claimed the key, if its ids were not known before.
create function rowhouse.complete_found_key(app uuid, claim bytea, first_response text) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update rowhouse.idempotency_keys set
    is_whole = octet_length(first_response) <= ${MAX_STORED_RESPONSE_BYTES},
    response = case when octet_length(first_response) <= ${MAX_STORED_RESPONSE_BYTES}
      then first_response else rowhouse.only_ids(first_response) end
  where app_id = app and key = substring(claim from 2 for 32)
$$;

-- A failed write leaves no key.
create function rowhouse.forget_key(app uuid, claim bytea) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  delete from rowhouse.idempotency_keys where app_id = app and key = substring(claim from 2 for 32)
$$;
grant execute on function rowhouse.claim_key, rowhouse.complete_key, rowhouse.complete_found_key,
  rowhouse.forget_key to rowhouse_tenant;

-- Deletes at most max_rows keys that are older than a day; returns their number.
create function rowhouse.sweep_idempotency_keys(max_rows integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
  swept integer := 0;
  swept_here integer;
begin
  -- A plan cached while there are few keys would read all of them, even after their number grows.
  perform set_config('enable_seqscan', 'off', true);
  for app in select id from rowhouse.apps loop
    exit when swept >= max_rows;
    perform rowhouse.enter_app(app);
    delete from rowhouse.idempotency_keys where app_id = app
      and created_at < now() - interval '${IDEMPOTENCY_HOURS} hours' and key = any (array(
      select key from rowhouse.idempotency_keys
      where app_id = app and created_at < now() - interval '${IDEMPOTENCY_HOURS} hours'
      order by created_at limit max_rows - swept for update skip locked));
    get diagnostics swept_here = row_count;
    swept := swept + swept_here;
  end loop;
  return swept;
end
$$;
comment on function rowhouse.sweep_idempotency_keys is 'idempotent';

-- The stored bytes per app after the given app, by the length of responses, as each process counts
-- them in between. Covers as many apps as fit into a second, so that no call lasts long. No rows
-- after the last app.
create function rowhouse.idempotency_sizes(after uuid) returns table (app_id uuid, bytes bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
begin
  perform set_config('enable_seqscan', 'off', true);
  for app in select id from rowhouse.apps where id > after order by id loop
    perform rowhouse.enter_app(app);
    return query
    select app, coalesce(sum(coalesce(octet_length(stored.response), 0) + 200), 0)::bigint
    from rowhouse.idempotency_keys as stored where stored.app_id = app;
    exit when clock_timestamp() > statement_timestamp() + interval '1 second';
  end loop;
end
$$;
comment on function rowhouse.idempotency_sizes is 'idempotent';
grant execute on function rowhouse.sweep_idempotency_keys, rowhouse.idempotency_sizes
  to rowhouse_service, rowhouse_data;
