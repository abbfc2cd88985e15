-- Renames, disables and enables apps. None of these functions is granted: only administrators run
-- them, and each writes the audit log.

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

-- Returns whether this changed anything. A disabled app's keys stop working with the next call of
-- every process: this deletes its proofs, and enabling restores them from its keys. Creating a key
-- locks the app's row; revoking a key locks the key's row.
-- action: admin
create function rowhouse.set_app_disabled(app_slug text, disabled boolean, actor text)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
  was_disabled boolean;
begin
  select id, disabled_at is not null into app, was_disabled from rowhouse.apps
    where slug = app_slug for update;
  if app is null then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  if was_disabled = disabled then
    return false;
  end if;
  perform rowhouse.enter_app(app);
  update rowhouse.apps set disabled_at = case when disabled then now() end where id = app;
  if disabled then
    delete from rowhouse.proofs where app_id = app;
  else
    perform rowhouse.put_proof(app, digest, rowhouse.scope_bits(scopes), expires_at)
    from (select * from rowhouse.api_keys where app_id = app
      and revoked_at is null for update) as live;
    perform rowhouse.reset_changes(app) from rowhouse.apps where id = app and is_live;
  end if;
  -- Lock the keys first: a change of a key locks the key before it raises this version.
  update rowhouse.versions set version = version + 1 where name = 'keys';
  perform rowhouse.log(actor, case when disabled then 'disable_app' else 'enable_app' end,
    app => app_slug);
  return true;
end
$$;

-- Returns whether this changed anything.
-- action: admin
create function rowhouse.set_people_list(app_slug text, listed boolean, actor text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update rowhouse.apps set lists_people = listed where slug = app_slug and lists_people <> listed;
  if not found then
    perform rowhouse.find_app(app_slug);
    return false;
  end if;
  perform rowhouse.log(actor,
    case when listed then 'start_people_list' else 'end_people_list' end, app => app_slug);
  return true;
end
$$;
