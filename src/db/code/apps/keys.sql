-- API keys and their proofs. A one-way function derives a proof from a key's secret, and the
-- database stores only a digest of the proof, so that a dump contains nothing that can be
-- presented.
--
-- The gateway looks up `api_keys`, and people manage them. Generated functions check `proofs` in
-- the call that reads or writes rows: one small row per live key under the tenant's policy,
-- without triggers and references, so that several nodes can have it by app, like rows. One
-- function changes both.

-- Sets the app of the transaction: row security then shows only the app's rows, proofs and stored
-- responses.
create function rowhouse.enter_app(app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('rowhouse.app_id', app::text, true);
end
$$;

create trigger raise_version after insert or update of scopes, expires_at, revoked_at
  or delete on rowhouse.api_keys
  for each statement execute function rowhouse.raise_version('keys');
create policy tenant on rowhouse.proofs for all to public
  using (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true), '')::pg_catalog.uuid)
  with check (app_id = nullif(pg_catalog.current_setting('rowhouse.app_id', true),
    '')::pg_catalog.uuid);
grant usage on schema rowhouse to rowhouse_tenant;
grant select on rowhouse.proofs to rowhouse_tenant;

-- Removes one proof of an app, by its digest.
create function rowhouse.delete_proof(app uuid, proof_digest bytea) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.enter_app(app);
  delete from rowhouse.proofs where app_id = app and digest = proof_digest;
end
$$;

-- Removes the data of an app that has no foreign key to it: all its proofs, and its stored
-- responses.
create function rowhouse.delete_stored(app uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.enter_app(app);
  delete from rowhouse.proofs where app_id = app;
  delete from rowhouse.idempotency_keys where app_id = app;
  delete from rowhouse.changes where app_id = app;
  delete from rowhouse.row_changes where app_id = app;
end
$$;

create function rowhouse.delete_proofs() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.delete_stored(old.id);
  return null;
end
$$;

create trigger delete_proofs after delete on rowhouse.apps
  for each row execute function rowhouse.delete_proofs();

-- Raised by a generated function if no live proof of the app with the scope was presented.
create function rowhouse.reject_key() returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'no live key of this app' using errcode = 'RH401';
end
$$;
grant execute on function rowhouse.reject_key to rowhouse_tenant;

-- Rejects a call of a generated function without a live proof of the app with the scope, or for a
-- table whose use has ended: a process then reads the catalog.
create function rowhouse.reject_call(app uuid, presented_proof bytea, wanted_table text)
returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from rowhouse.proofs where app_id = app and digest = sha256(presented_proof)
    and expires_at > clock_timestamp() and wanted_table = any (ended)) then
    raise undefined_table using message = 'the app does not use the table';
  end if;
  return rowhouse.reject_key();
end
$$;
grant execute on function rowhouse.reject_call to rowhouse_tenant;

-- Fails like a lost race if no setting stops the writes of a live proof: the app was enabled, or
-- the setting was turned off, since the call read the proof. The process then repeats the call.
create function rowhouse.check_stopped(bits smallint) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if bits & 128::smallint = 0 then
    raise serialization_failure using message = 'the proof has changed during the call';
  end if;
end
$$;
grant execute on function rowhouse.check_stopped to rowhouse_tenant;

-- Rejects a call of a generated function that writes, or replays the response of an earlier write
-- with the same idempotency key: if the proof is live, a setting stops the app's writes. Claims the
-- key, because an earlier write with it can still be in progress; the error undoes the claim.
create function rowhouse.reject_write(app uuid, presented_proof bytea, wanted_table text,
  claim bytea) returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bits smallint;
  replay text;
begin
  select scopes into bits from rowhouse.proofs where app_id = app
    and digest = sha256(presented_proof) and scopes & 2::smallint <> 0
    and expires_at > clock_timestamp() and wanted_table <> all (coalesce(ended, '{}'));
  if bits is null then
    return rowhouse.reject_call(app, presented_proof, wanted_table);
  end if;
  perform rowhouse.check_stopped(bits);
  if claim is not null then
    replay := rowhouse.claim_key(app, presented_proof, claim, null, null);
    if left(replay, 1) in ('R', 'I') then
      return replay;
    end if;
  end if;
  raise exception 'a setting stops the writes of the app' using errcode = 'RH503';
end
$$;
grant execute on function rowhouse.reject_write to rowhouse_tenant;

-- Raised by a generated function for a row larger than the maximum response.
create function rowhouse.reject_row(row_id uuid) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'a row is too large' using errcode = 'RH413', detail = row_id::text;
end
$$;
grant execute on function rowhouse.reject_row to rowhouse_tenant;

-- Whether the lists of processes before 0.2.0 end in a cursor, by the PREVIEW with which such a
-- release migrated the database. Later processes say it.
create function rowhouse.had_filters() returns boolean language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select 'filters' = any (features) from rowhouse.release
$$;
grant execute on function rowhouse.had_filters to rowhouse_tenant;
grant select on rowhouse.tag_seed to rowhouse_tenant;

create function rowhouse.scope_bits(scopes text[]) returns smallint language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select (case when 'data:read' = any(scopes) then 1 else 0 end
    + case when 'data:write' = any(scopes) then 2 else 0 end
    + case when 'schema:push' = any(scopes) then 4 else 0 end
    + case when 'schema:read' = any(scopes) then 8 else 0 end
    + case when 'schema:drop' = any(scopes) then 16 else 0 end
    + case when 'schema:rules' = any(scopes) then 512 else 0 end)::smallint
$$;

-- The app of a live key with one of these scopes, if the proof is correct.
create function rowhouse.check_key_for(app uuid, presented_proof bytea, wanted smallint)
returns uuid language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.enter_app(app);
  if not exists (select from rowhouse.proofs where app_id = app and digest = sha256(presented_proof)
      and scopes & wanted <> 0 and expires_at > clock_timestamp()) then
    perform rowhouse.reject_key();
  end if;
  return app;
end
$$;

-- Checks the key for reading an app's schema, migrations and plans: a key that can read or push
-- the schema.
create function rowhouse.check_schema_key(app uuid, presented_proof bytea) returns uuid
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select rowhouse.check_key_for(app, presented_proof,
    rowhouse.scope_bits(array['schema:read', 'schema:push']))
$$;
grant execute on function rowhouse.check_schema_key to rowhouse_tables;

-- Checks the key for a migration that deletes values.
create function rowhouse.check_drop_key(app uuid, presented_proof bytea) returns uuid
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select rowhouse.check_key_for(app, presented_proof, rowhouse.scope_bits(array['schema:drop']))
$$;
comment on function rowhouse.check_drop_key is 'idempotent';
grant execute on function rowhouse.check_drop_key to rowhouse_tables;

-- Checks the key for a push that gives people more rights on rows.
create function rowhouse.check_rules_key(app uuid, presented_proof bytea) returns uuid
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select rowhouse.check_key_for(app, presented_proof, rowhouse.scope_bits(array['schema:rules']))
$$;
comment on function rowhouse.check_rules_key is 'idempotent';
grant execute on function rowhouse.check_rules_key to rowhouse_tables;

-- Makes the app the app of the transaction. Returns whether its rows can be counted: for a live
-- key that reads rows, and without a proof for an operator.
create function rowhouse.enter_to_count(app uuid, presented_proof bytea) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.enter_app(app);
  return presented_proof is null or exists (select from rowhouse.proofs
    where app_id = app and digest = sha256(presented_proof)
      and scopes & rowhouse.scope_bits(array['data:read']) <> 0
      and expires_at > clock_timestamp());
end
$$;
grant execute on function rowhouse.enter_to_count to rowhouse_tables;

-- Checks the key for a scope, and for writes of rows that no setting stops them; without a scope,
-- any key of the app.
create function rowhouse.check_key(app uuid, presented_proof bytea, scope text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.check_key_for(app, presented_proof, rowhouse.scope_bits(
    case when scope is not null then array[scope] else
      array['data:read', 'data:write', 'schema:read', 'schema:push', 'schema:drop',
        'schema:rules'] end));
  if scope = 'data:write' then
    perform rowhouse.check_writes(app);
  end if;
  return app;
end
$$;
grant execute on function rowhouse.check_key to rowhouse_service, rowhouse_data;

-- A disabled app's keys have no proofs: rowhouse.disable_app() removes and restores them. The
-- caller has locked the app's row. The proof of a person's key has the person and the role.
create function rowhouse.put_proof(app uuid, new_digest bytea, bits smallint, until timestamptz,
  of_person uuid default null, of_role text default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bits_of_app smallint;
begin
  select coalesce((select bit_or(proof_bit) from rowhouse.app_switches where name = any (switches)),
    0::smallint) into bits_of_app from rowhouse.apps where id = app and disabled_at is null;
  -- Not "insert … select": on several nodes its rows are copied, which row security forbids.
  if found then
    insert into rowhouse.proofs (app_id, digest, scopes, expires_at, ended, person_id, role)
    values (app, new_digest, bits | bits_of_app, coalesce(until, 'infinity'),
      rowhouse.ended_tables(app), of_person, of_role);
  end if;
end
$$;

-- Creates a key with its proof; false if the app does not exist.
-- action: admin, recent sign-in; logs "issued a key"
create function rowhouse.issue_key(
  app_slug text, new_key_id text, key_name text, new_digest bytea, key_scopes text[],
    key_expires_at timestamptz, actor text
) returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
begin
  select id into app from rowhouse.apps where slug = app_slug for key share;
  if app is null then
    return false;
  end if;
  perform rowhouse.enter_app(app);
  insert into rowhouse.api_keys (key_id, app_id, name, digest, scopes, expires_at, issued_by)
  values (new_key_id, app, key_name, new_digest, key_scopes, key_expires_at, actor);
  perform rowhouse.put_proof(app, new_digest, rowhouse.scope_bits(key_scopes), key_expires_at);
  perform rowhouse.log(actor, 'issue_key', app => app_slug,
    details => jsonb_build_object('keyId', new_key_id, 'name', key_name, 'scopes', key_scopes,
      'expiresAt', key_expires_at));
  return true;
end
$$;

-- The key, if it belongs to the app: the key on a page must be the key that is changed.
create function rowhouse.key_of(app_slug text, wanted text) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select key_id from rowhouse.api_keys join rowhouse.apps on apps.id = app_id
    where key_id = wanted and slug = app_slug
$$;

-- Rotates an active key; the old key expires after the grace period, never later than before. No
-- row if no active key has this id.
-- action: admin, recent sign-in; logs "rotated a key", a change
--   old_key_id = rowhouse.key_of(app_slug text, old_key_id text)
create function rowhouse.roll_key(old_key_id text, new_key_id text, new_digest bytea,
  grace_s integer, actor text)
returns table (new_expires_at timestamptz, old_expires_at timestamptz)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  old rowhouse.api_keys;
begin
  perform from rowhouse.apps where id = (select app_id from rowhouse.api_keys
    where key_id = old_key_id) for key share;
  select * into old from rowhouse.api_keys
  where key_id = old_key_id
    and revoked_at is null and (expires_at is null or expires_at > now()) for update;
  if old.key_id is null then
    return;
  end if;
  old_expires_at := least(old.expires_at, now() + make_interval(secs => grace_s));
  new_expires_at := now() + (old.expires_at - old.created_at);
  perform rowhouse.enter_app(old.app_id);
  update rowhouse.api_keys set expires_at = old_expires_at, replaced_by = new_key_id
    where key_id = old.key_id;
  update rowhouse.proofs set expires_at = old_expires_at where app_id = old.app_id
    and digest = old.digest;
  insert into rowhouse.api_keys (key_id, app_id, name, digest, scopes, expires_at, issued_by)
  values (new_key_id, old.app_id, old.name, new_digest, old.scopes, new_expires_at, actor);
  perform rowhouse.put_proof(old.app_id, new_digest, rowhouse.scope_bits(old.scopes),
    new_expires_at);
  perform rowhouse.log(actor, 'roll_key', app => slug,
    details => jsonb_build_object('keyId', old.key_id, 'newKeyId', new_key_id,
      'name', old.name, 'expiresAt', new_expires_at, 'oldExpiresAt', old_expires_at))
  from rowhouse.apps where id = old.app_id;
  return next;
end
$$;
comment on function rowhouse.roll_key is 'null new_expires_at';

-- Revokes a key; returns whether it existed and was not revoked before.
-- action: admin, recent sign-in; logs "revoked a key", a change
--   old_key_id = rowhouse.key_of(app_slug text, old_key_id text)
create function rowhouse.revoke_key(old_key_id text, actor text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  old rowhouse.api_keys;
begin
  update rowhouse.api_keys set revoked_at = now() where key_id = old_key_id
    and revoked_at is null returning * into old;
  if old.key_id is null then
    return false;
  end if;
  perform rowhouse.enter_app(old.app_id);
  delete from rowhouse.proofs where app_id = old.app_id and digest = old.digest;
  perform rowhouse.log(actor, 'revoke_key', app => slug,
    details => jsonb_build_object('keyId', old.key_id))
  from rowhouse.apps
    where id = old.app_id;
  return true;
end
$$;

-- The keys whose secret a person saw when issuing or rotating them.
create function rowhouse.issued_keys(person uuid) returns setof text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select key_id from rowhouse.api_keys where issued_by = person::text
$$;

-- The keys of an app, newest first; never their secrets. If several reasons end a key, the status
-- is the most permanent one.
create function rowhouse.keys_of(app rowhouse.apps, max_rows integer) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_agg(jsonb_build_object('keyId', key_id, 'name', name, 'scopes', scopes,
    'status', case when revoked_at is not null then 'revoked'
      when expires_at <= now() then 'expired'
      when app.disabled_at is not null then 'disabled app' else 'active' end,
    'createdAt', rowhouse.utc_text(created_at), 'expiresAt', rowhouse.utc_text(expires_at),
    'revokedAt', rowhouse.utc_text(revoked_at), 'lastUsedAt', rowhouse.utc_text(last_used_at),
    'replacedBy', replaced_by) order by created_at desc, key_id), '[]')
  from (select * from rowhouse.api_keys where app_id = app.id
    order by created_at desc, key_id limit max_rows) as listed
$$;

-- read: admin
create function rowhouse.list_keys(app_slug text) returns jsonb language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
  return jsonb_build_object('keys', rowhouse.keys_of(rowhouse.console_app(app_slug), null));
end
$$;

-- As check_key. A person's key has no scopes: it is accepted like one that reads and writes rows,
-- because the rules of the app decide about them.
create function rowhouse.check_caller(app uuid, presented_proof bytea, scope text) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform rowhouse.enter_app(app);
  if coalesce(scope, 'data:read') not in ('data:read', 'data:write')
    or not exists (select from rowhouse.proofs where app_id = app
      and digest = sha256(presented_proof) and scopes & 32::smallint <> 0
      and expires_at > clock_timestamp())
  then
    return rowhouse.check_key(app, presented_proof, scope);
  end if;
  if scope = 'data:write' then
    perform rowhouse.check_writes(app);
  end if;
  return app;
end
$$;
grant execute on function rowhouse.check_caller to rowhouse_service, rowhouse_data;

-- For responses that name columns of an app's tables, such as their description and rejections of
-- invalid values: the version of the catalog, if a live key with the scope is proven.
create function rowhouse.prove_key(app uuid, presented_proof bytea, scope text) returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select version from rowhouse.versions
  where name = 'catalog' and rowhouse.check_caller(app, presented_proof, scope) is not null
$$;
comment on function rowhouse.prove_key is 'idempotent';
grant execute on function rowhouse.prove_key to rowhouse_service, rowhouse_data;

-- As prove_key, only for API keys: what they read names columns that people do not see.
create function rowhouse.prove_api_key(app uuid, presented_proof bytea, scope text) returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select version from rowhouse.versions
  where name = 'catalog' and rowhouse.check_key(app, presented_proof, scope) is not null
$$;
comment on function rowhouse.prove_api_key is 'idempotent';
grant execute on function rowhouse.prove_api_key to rowhouse_service, rowhouse_data;
