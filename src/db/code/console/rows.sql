-- Rows of an app in the Console. A key of that app reads and writes them. It expires after five
-- minutes, and belongs to the session that requested it: a statement that ends the session also
-- ends the key (apps/person_keys.sql).

-- proves: admin; idempotent
create function rowhouse.console_show_rows(app_slug text, wanted_table text) returns jsonb as $$
declare
  app rowhouse.apps := rowhouse.console_app(app_slug);
  declared jsonb;
begin
  select definition into declared from rowhouse.registrations where app_id = app.id
    and table_name = wanted_table;
  if declared is null then
    raise exception 'no such table' using errcode = 'RH004';
  end if;
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor), 'appId', app.id,
    'isDisabled', app.disabled_at is not null, 'hasHistory', 'history' = any (app.switches),
    'position', case when 'live' = any (app.switches)
      and rowhouse.dialect() = 'plain'
      then rowhouse.feed_name() || '.' || pg_current_snapshot()::text end,
    'cursorKey', case when 'live' = any (app.switches) then rowhouse.cursor_key(app.id) end,
    'tableNames', (select jsonb_agg(table_name order by table_name) from (
      select table_name from rowhouse.registrations where app_id = app.id and not is_ending
      order by table_name limit 100) as listed),
    'definition', declared, 'related', (
      select coalesce(jsonb_agg(definition order by table_name), '[]')
      from rowhouse.registrations where app_id = app.id and (
        jsonb_path_exists(declared, '$.columns[*] ? (@.table == $name)',
          jsonb_build_object('name', table_name))
        or jsonb_path_exists(definition, '$.columns[*] ? (@.table == $name)',
          jsonb_build_object('name', wanted_table)))));
end
$$;

-- Creates a key; returns when it expires, in milliseconds, or null if the app is disabled. Accepts
-- the id of the app whose page was read, because another app can have its slug by now. The idle
-- limit of the session also bounds the key, so that an event stream cannot outlive the session.
-- proves: admin; null result
create function rowhouse.console_open_rows(wanted uuid, new_key_id text, new_digest bytea,
  key_scopes text[], used_for text) returns float8 as $$
declare
  app rowhouse.apps; session_of text; ends timestamptz;
begin
  perform rowhouse.sweep_person_keys();
  select * into app from rowhouse.apps where id = wanted for key share;
  if app.id is null then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  if app.disabled_at is not null then
    return null;
  end if;
  select sessions.id, least(sessions.expires_at, now() + interval '${ROWS_KEY_LIFE_S} seconds',
    now() + make_interval(secs => visitor.idle_s)) into session_of, ends
  from unnest(string_to_array(visitor.session_cookie, ',')) as text
    join rowhouse.sessions on sessions.id = split_part(text, '.', 1)
  where user_id = who and sessions.expires_at > clock_timestamp()
    and session_digest = sha256(decode(split_part(text, '.', 2), 'hex') || uuid_send(user_id));
  perform rowhouse.enter_app(app.id);
  insert into rowhouse.person_keys (key_id, app_id, session_id, person_id, scopes, digest,
    expires_at)
  values (new_key_id, app.id, session_of, who, key_scopes, new_digest, ends);
  perform rowhouse.put_proof(app.id, new_digest, rowhouse.scope_bits(key_scopes), ends);
  update rowhouse.proofs set console_id = who where app_id = app.id and digest = new_digest;
  perform rowhouse.log(who::text, 'open_rows', app => app.slug,
    details => jsonb_build_object('keyId', new_key_id, 'scopes', key_scopes,
      'expiresAt', ends, 'for', used_for));
  return extract(epoch from ends) * 1000;
end
$$;

-- The same for an act of several requests, such as pasting: the history names it.
-- proves: admin; null result
create function rowhouse.console_open_act(wanted uuid, new_key_id text, new_digest bytea,
  key_scopes text[], used_for text, of_act uuid) returns float8 as $$
declare
  ends float8 := rowhouse.console_open_rows(visitor, wanted, new_key_id, new_digest, key_scopes,
    used_for);
begin
  update rowhouse.proofs set act = of_act
  where app_id = wanted and digest = new_digest and console_id = who;
  return ends;
end
$$;
