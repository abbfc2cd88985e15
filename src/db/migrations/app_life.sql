-- Renames apps, and turns their settings on and off. None of these functions is granted: only
-- administrators run them, and each writes the audit log.

create function rowhouse.rename_app(old_slug text, new_slug text, actor text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update rowhouse.apps set slug = new_slug where slug = old_slug;
  if not found then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  perform rowhouse.log(actor, 'rename_app', app => new_slug,
    details => jsonb_build_object('from', old_slug));
end
$$;

-- The on/off settings of an app, by name (app_switch.ts).
create function rowhouse.switches_of(app rowhouse.apps) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('disabled', app.disabled_at is not null, 'live', app.is_live,
    'people_list', app.lists_people)
$$;

-- Turns a setting of an app on or off; returns whether this changed anything.
-- action: admin
create function rowhouse.set_app_switch(app_slug text, setting text, is_on boolean, actor text)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app rowhouse.apps;
  was_on boolean;
begin
  select * into app from rowhouse.apps where slug = app_slug for update;
  if app.id is null then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  was_on := (rowhouse.switches_of(app) ->> setting)::boolean;
  if setting = 'live' and is_on then
    perform rowhouse.check_live();
  end if;
  if was_on = is_on then
    return false;
  end if;
  perform rowhouse.enter_app(app.id);
  -- An unknown setting is an error.
  case setting
    when 'disabled' then perform rowhouse.disable_app(app, is_on);
    when 'live' then perform rowhouse.start_live(app.id, is_on);
    when 'people_list' then
      update rowhouse.apps set lists_people = is_on where id = app.id;
  end case;
  perform rowhouse.log(actor, 'set_' || setting || case when is_on then '_on' else '_off' end,
    app => app_slug);
  return true;
end
$$;

-- A disabled app's keys stop working with the next call of every process: this deletes its proofs,
-- and enabling restores them from its keys. Creating a key locks the app's row; revoking a key
-- locks the key's row.
create function rowhouse.disable_app(app rowhouse.apps, is_on boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update rowhouse.apps set disabled_at = case when is_on then now() end where id = app.id;
  if is_on then
    delete from rowhouse.proofs where app_id = app.id;
  else
    perform rowhouse.put_proof(app.id, digest, rowhouse.scope_bits(scopes), expires_at)
    from (select * from rowhouse.api_keys where app_id = app.id
      and revoked_at is null for update) as live;
    if app.is_live then
      perform rowhouse.reset_changes(app.id);
    end if;
  end if;
  -- Lock the keys first: a change of a key locks the key before it raises this version.
  update rowhouse.versions set version = version + 1 where name = 'keys';
end
$$;
