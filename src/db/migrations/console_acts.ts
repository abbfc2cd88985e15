/**
 * What administrators do with apps and keys from a browser: each act proves who asks, then calls what the command calls,
 * with the person as its actor. Sensitive ones need a fresh sign-in: keys, and the end of an app.
 *
 * @module
 */

const SHOWN = "session_shown text, identity_shown text, idle_s integer";
const RULES = "language plpgsql volatile security definer set search_path = pg_catalog, pg_temp";
const declareWho = (isSensitive: boolean) =>
  `declare
  who uuid := rowhouse.check_console(session_shown, identity_shown, idle_s, 'admin', ${isSensitive});
begin`;

export const CONSOLE_ACTS = `
create function rowhouse.console_create_app(${SHOWN}, new_id uuid, app_slug text, added jsonb) returns void ${RULES} as $$
${declareWho(false)}
  perform rowhouse.create_app(new_id, app_slug, added, who::text);
end
$$;
grant execute on function rowhouse.console_create_app(text, text, integer, uuid, text, jsonb) to rowhouse_console;

create function rowhouse.console_set_targets(${SHOWN}, app_slug text, added jsonb) returns jsonb ${RULES} as $$
${declareWho(false)}
  return rowhouse.set_targets(app_slug, array['origin', 'redirect'], '[]', added, who::text);
end
$$;
grant execute on function rowhouse.console_set_targets(text, text, integer, text, jsonb) to rowhouse_console;

create function rowhouse.console_set_app_disabled(${SHOWN}, app_slug text, disabled boolean) returns boolean ${RULES} as $$
${declareWho(false)}
  return rowhouse.set_app_disabled(app_slug, disabled, who::text);
end
$$;
grant execute on function rowhouse.console_set_app_disabled(text, text, integer, text, boolean) to rowhouse_console;

create function rowhouse.console_issue_key(
  ${SHOWN}, app_slug text, new_key_id text, key_name text, new_digest bytea, key_scopes text[], key_expires_at timestamptz
) returns boolean ${RULES} as $$
${declareWho(true)}
  return rowhouse.issue_key(app_slug, new_key_id, key_name, new_digest, key_scopes, key_expires_at, who::text);
end
$$;
grant execute on function rowhouse.console_issue_key(text, text, integer, text, text, text, bytea, text[], timestamptz)
  to rowhouse_console;

-- Whether a key is the app's: what a page names must be what is changed.
create function rowhouse.is_key_of(wanted text, app_slug text) returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.api_keys join rowhouse.apps on apps.id = app_id
    where key_id = wanted and slug = app_slug)
$$;

create function rowhouse.console_roll_key(
  ${SHOWN}, app_slug text, old_key_id text, new_key_id text, new_digest bytea, grace_s integer
) returns table (new_expires_at timestamptz, old_expires_at timestamptz) ${RULES} as $$
${declareWho(true)}
  if rowhouse.is_key_of(old_key_id, app_slug) then
    return query select * from rowhouse.roll_key(old_key_id, new_key_id, new_digest, grace_s, who::text);
  end if;
end
$$;
grant execute on function rowhouse.console_roll_key(text, text, integer, text, text, text, bytea, integer)
  to rowhouse_console;

create function rowhouse.console_revoke_key(${SHOWN}, app_slug text, old_key_id text) returns boolean ${RULES} as $$
${declareWho(true)}
  return rowhouse.is_key_of(old_key_id, app_slug) and rowhouse.revoke_key(old_key_id, who::text);
end
$$;
grant execute on function rowhouse.console_revoke_key(text, text, integer, text, text) to rowhouse_console;

-- What an app has, and what stands in the way of its end.
create function rowhouse.console_describe_app(${SHOWN}, app_slug text) returns jsonb ${RULES} as $$
${declareWho(false)}
  return rowhouse.describe_app(app_slug) || jsonb_build_object('me', rowhouse.console_visitor(who, session_shown));
end
$$;
grant execute on function rowhouse.console_describe_app(text, text, integer, text) to rowhouse_console;

create function rowhouse.console_delete_app_step(
  ${SHOWN}, app_slug text, most integer, deleted_before bigint, out is_done boolean, out deleted bigint
) ${RULES} as $$
${declareWho(true)}
  select step.is_done, step.deleted into is_done, deleted
  from rowhouse.delete_app_step(app_slug, most, deleted_before, who::text) as step;
end
$$;
grant execute on function rowhouse.console_delete_app_step(text, text, integer, text, integer, bigint)
  to rowhouse_console;
`;
