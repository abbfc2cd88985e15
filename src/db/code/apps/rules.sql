-- What the generated functions of people call. The rules are in these functions: see
-- src/tables/sql/functions/view_terms.ts.

-- Raised if the role of the caller does not allow the action on the table.
create function rowhouse.reject_role() returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'the role does not allow this' using errcode = 'RH404';
end
$$;

-- Raised if a rule does not allow a row; with a column, its value. In the class of broken
-- constraints, so that batches and groups report the row like any other.
create function rowhouse.reject_rule(field text) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'a rule does not allow this: "%"', coalesce(field, '')
    using errcode = '23R01', column = coalesce(field, '');
end
$$;

-- As reject_rule, for a row of a batch, counted from 0.
create function rowhouse.reject_rule_at(field text, nth integer) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'a rule does not allow this: "%"', coalesce(field, '')
    using errcode = '23R01', column = coalesce(field, ''), hint = nth::text;
end
$$;

-- Raised for a reference to a row that the person cannot read: the same error as for a row that
-- does not exist.
create function rowhouse.reject_reference(name text) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'no such row: "row" "%"', name
    using errcode = '23503', constraint = name;
end
$$;

-- The claim of a person's idempotency key: another person's key is another key.
create function rowhouse.claim_of(person uuid, claim bytea) returns bytea language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select overlay(claim placing sha256(uuid_send(person) || substring(claim from 2 for 32))
    from 2 for 32)
$$;

-- Rejects a write of a person, or replays the response of an earlier write with only the ids of its
-- rows: if the proof is live, a setting stops the app's writes.
create function rowhouse.reject_person_write(app uuid, presented_proof bytea, wanted_table text,
  roles text[], claim bytea) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  bits smallint;
  person uuid;
  replay text;
begin
  select scopes, person_id into bits, person from rowhouse.proofs where app_id = app
    and digest = sha256(presented_proof) and scopes & 32::smallint <> 0 and role = any (roles)
    and expires_at > clock_timestamp() and wanted_table <> all (coalesce(ended, '{}'));
  if person is null then
    return rowhouse.reject_call(app, presented_proof, wanted_table);
  end if;
  perform rowhouse.check_stopped(bits);
  if claim is not null then
    replay := rowhouse.claim_key(app, presented_proof, rowhouse.claim_of(person, claim), null,
      null);
    if left(replay, 1) = 'I' or replay like 'R{"count":%' then
      return replay;
    elsif left(replay, 1) = 'R' then
      return 'I' || rowhouse.only_ids(substring(replay from 2));
    end if;
  end if;
  raise exception 'a setting stops the writes of the app' using errcode = 'RH503';
end
$$;
grant execute on function rowhouse.reject_role, rowhouse.reject_rule, rowhouse.reject_rule_at,
  rowhouse.reject_reference, rowhouse.claim_of, rowhouse.reject_person_write to rowhouse_tenant;
