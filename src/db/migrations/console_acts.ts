/**
 * What administrators do with apps and keys from a browser: each act proves who asks, then calls what the command calls,
 * with the person as its actor. Sensitive ones need a fresh sign-in: keys, and the end of an app.
 *
 * @module
 */
import { defineConsoleFunction } from "./console_function.ts";

const APP_ACTS = [
  defineConsoleFunction({
    name: "console_create_app",
    takes: "new_id uuid, app_slug text, added jsonb",
    body: "perform rowhouse.create_app(new_id, app_slug, added, who::text);",
  }),
  defineConsoleFunction({
    name: "console_set_targets",
    takes: "app_slug text, added jsonb",
    returns: "jsonb",
    body: "return rowhouse.set_targets(app_slug, array['origin', 'redirect'], '[]', added, who::text);",
  }),
  defineConsoleFunction({
    name: "console_set_limit",
    takes: "app_slug text, per_minute integer, key_per_minute integer",
    body: "perform rowhouse.set_limit(app_slug, per_minute, key_per_minute, who::text);",
  }),
  defineConsoleFunction({
    name: "console_set_app_disabled",
    takes: "app_slug text, disabled boolean",
    returns: "boolean",
    body: "return rowhouse.set_app_disabled(app_slug, disabled, who::text);",
  }),
  // What an app has, and what stands in the way of its end.
  defineConsoleFunction({
    name: "console_describe_app",
    takes: "app_slug text",
    returns: "jsonb",
    body: `return rowhouse.describe_app(app_slug) || jsonb_build_object('me', rowhouse.console_visitor(who, session_shown));`,
  }),
  defineConsoleFunction({
    name: "console_delete_app_step",
    takes: "app_slug text, most integer, deleted_before bigint",
    returns: "table (is_done boolean, deleted integer)",
    isSensitive: true,
    body: `return query select step.is_done, step.deleted::integer
    from rowhouse.delete_app_step(app_slug, most, deleted_before, who::text) as step;`,
  }),
];

const KEY_ACTS = [
  defineConsoleFunction({
    name: "console_issue_key",
    takes:
      "app_slug text, new_key_id text, key_name text, new_digest bytea, key_scopes text[], key_expires_at timestamptz",
    returns: "boolean",
    isSensitive: true,
    body: `return rowhouse.issue_key(app_slug, new_key_id, key_name, new_digest, key_scopes, key_expires_at, who::text);`,
  }),
  defineConsoleFunction({
    name: "console_roll_key",
    takes: "app_slug text, old_key_id text, new_key_id text, new_digest bytea, grace_s integer",
    returns: "table (new_expires_at timestamptz, old_expires_at timestamptz)",
    isSensitive: true,
    body: `if rowhouse.is_key_of(old_key_id, app_slug) then
    return query select * from rowhouse.roll_key(old_key_id, new_key_id, new_digest, grace_s, who::text);
  end if;`,
  }),
  defineConsoleFunction({
    name: "console_revoke_key",
    takes: "app_slug text, old_key_id text",
    returns: "boolean",
    isSensitive: true,
    body: `return rowhouse.is_key_of(old_key_id, app_slug) and rowhouse.revoke_key(old_key_id, who::text);`,
  }),
];

export const CONSOLE_ACTS = `
-- Whether a key is the app's: what a page names must be what is changed.
create function rowhouse.is_key_of(wanted text, app_slug text) returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.api_keys join rowhouse.apps on apps.id = app_id
    where key_id = wanted and slug = app_slug)
$$;
${APP_ACTS.join("")}${KEY_ACTS.join("")}`;
