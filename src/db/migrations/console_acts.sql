-- What administrators do with apps and keys from a browser: each act proves who asks, then calls
-- what the command calls, with the person as its actor. Sensitive ones need a fresh sign-in: keys,
-- and the end of an app.

-- Whether a key is the app's: what a page names must be what is changed.
create function rowhouse.is_key_of(wanted text, app_slug text) returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.api_keys join rowhouse.apps on apps.id = app_id
    where key_id = wanted and slug = app_slug)
$$;

-- proves: admin
create function rowhouse.console_create_app(new_id uuid, app_slug text, added jsonb)
  returns void as $$
begin
  perform rowhouse.create_app(new_id, app_slug, added, who::text);
end
$$;

-- proves: admin
create function rowhouse.console_set_targets(app_slug text, added jsonb) returns jsonb as $$
begin
  return rowhouse.set_targets(app_slug, array['origin', 'redirect'], '[]', added, who::text);
end
$$;

-- proves: admin
create function rowhouse.console_set_limit(app_slug text, per_minute integer,
  key_per_minute integer) returns void as $$
begin
  perform rowhouse.set_limit(app_slug, per_minute, key_per_minute, who::text);
end
$$;

-- proves: admin
create function rowhouse.console_set_app_disabled(app_slug text, disabled boolean)
  returns boolean as $$
begin
  return rowhouse.set_app_disabled(app_slug, disabled, who::text);
end
$$;

-- What an app has, and what stands in the way of its end.
-- proves: admin
create function rowhouse.console_describe_app(app_slug text) returns jsonb as $$
begin
  return rowhouse.describe_app(app_slug)
    || jsonb_build_object('me', rowhouse.console_visitor(who, session_shown));
end
$$;
comment on function rowhouse.console_describe_app is 'idempotent';

-- proves: admin, recent sign-in
create function rowhouse.console_delete_app_step(app_slug text)
  returns table (is_done boolean, is_waiting boolean) as $$
begin
  return query select step.is_done, step.job is not null
    from rowhouse.delete_app_step(app_slug, who::text) as step;
end
$$;

-- proves: admin, recent sign-in
create function rowhouse.console_issue_key(app_slug text, new_key_id text, key_name text,
  new_digest bytea, key_scopes text[], key_expires_at timestamptz) returns boolean as $$
begin
  return rowhouse.issue_key(app_slug, new_key_id, key_name, new_digest, key_scopes,
    key_expires_at, who::text);
end
$$;

-- proves: admin, recent sign-in
create function rowhouse.console_roll_key(app_slug text, old_key_id text, new_key_id text,
  new_digest bytea, grace_s integer)
  returns table (new_expires_at timestamptz, old_expires_at timestamptz) as $$
begin
  if rowhouse.is_key_of(old_key_id, app_slug) then
    return query select * from rowhouse.roll_key(old_key_id, new_key_id, new_digest,
      grace_s, who::text);
  end if;
end
$$;
comment on function rowhouse.console_roll_key is 'null new_expires_at';

-- proves: admin, recent sign-in
create function rowhouse.console_revoke_key(app_slug text, old_key_id text) returns boolean as $$
begin
  return rowhouse.is_key_of(old_key_id, app_slug) and rowhouse.revoke_key(old_key_id, who::text);
end
$$;
