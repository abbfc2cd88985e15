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

-- Turns a setting of an app on or off; returns whether this changed anything. Live updates that are
-- already on begin again: the caller has waited for writes that began before.
-- action: admin
create function rowhouse.set_app_switch(app_slug text, setting text, is_on boolean, actor text)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app rowhouse.apps;
  declared rowhouse.app_switches;
  used text[];
begin
  select * into app from rowhouse.apps where slug = app_slug for update;
  if app.id is null then
    raise exception 'no such app' using errcode = 'RH005';
  end if;
  select * into strict declared from rowhouse.app_switches where name = setting;
  if is_on and not declared.is_for_clusters and rowhouse.dialect() <> 'plain' then
    raise exception 'the setting is not for clusters' using errcode = 'RH024';
  end if;
  if (rowhouse.switches_of(app) ->> setting)::boolean = is_on then
    if is_on and setting = 'live' then
      perform rowhouse.reset_changes(app.id);
    end if;
    return false;
  end if;
  perform rowhouse.enter_app(app.id);
  if setting = 'disabled' then
    perform rowhouse.disable_app(app, is_on);
  else
    update rowhouse.apps set switches = case when is_on then array_append(switches, setting)
      else array_remove(switches, setting) end where id = app.id;
    if declared.proof_bit <> 0 then
      update rowhouse.proofs set scopes = case when is_on then scopes | declared.proof_bit
        else scopes & ~declared.proof_bit end where app_id = app.id;
    end if;
  end if;
  if setting = 'live' then
    perform rowhouse.start_live(app.id, is_on);
  elsif setting = 'history' then
    perform rowhouse.start_history(app.id, is_on);
  end if;
  if setting = any (${LISTENING_SWITCHES}) then
    used := array(select table_name from rowhouse.registrations where app_id = app.id);
    if is_on then
      perform rowhouse.fit_listeners(used, ${LOCK_BUDGET_MS});
    else
      perform rowhouse.drop_listeners(used);
    end if;
  end if;
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
    if 'live' = any (app.switches) then
      perform rowhouse.reset_changes(app.id);
    end if;
  end if;
  -- Lock the keys first: a change of a key locks the key before it raises this version.
  update rowhouse.versions set version = version + 1 where name = 'keys';
end
$$;
