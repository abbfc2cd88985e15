-- Search in the Console: apps, people, tables and keys whose name or address contains a text, best
-- match first. Key ids match by prefix. `names` is the text as a regular expression that lists the
-- cases of each letter: `lower()` depends on the locale of the database.

-- proves: admin; idempotent
create function rowhouse.console_find(search text, names text, max_rows integer) returns jsonb as $$
begin
  return jsonb_build_object('me', rowhouse.console_visitor(who, visitor),
    'apps', (select coalesce(jsonb_agg(to_jsonb(hit) - 'at' order by at, slug), '[]') from (
      select slug, disabled_at as "disabledAt", strpos(slug, search) as at from rowhouse.apps
      where strpos(slug, search) > 0 order by at, slug limit max_rows) as hit),
    'people', (select coalesce(jsonb_agg(to_jsonb(hit) order by email), '[]') from (
      select id, email, display_name as "displayName" from rowhouse.users
      where strpos(email, search) > 0 or display_name collate "C" ~ names
      order by strpos(email, search) <> 1, email limit max_rows) as hit),
    'tables', (select coalesce(jsonb_agg(to_jsonb(hit) - 'at' order by at, name), '[]') from (
      select name, apps.slug as owner, strpos(name, search) as at
      from rowhouse.tables join rowhouse.apps on apps.id = owner_app_id
      where strpos(name, search) > 0 order by at, name limit max_rows) as hit),
    'keys', (select coalesce(jsonb_agg(to_jsonb(hit) order by app, "keyId"), '[]') from (
      select key_id as "keyId", api_keys.name, slug as app, revoked_at as "revokedAt",
        coalesce(expires_at <= now(), false) as "isExpired"
      from rowhouse.api_keys join rowhouse.apps on apps.id = app_id
      where length(search) > 2 and (starts_with(key_id, search)
        or api_keys.name collate "C" ~ names)
      order by revoked_at is not null, coalesce(expires_at <= now(), false), slug, key_id
      limit max_rows) as hit));
end
$$;
