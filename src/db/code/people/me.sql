-- The signed-in user for /v1/auth/me, the most frequent request of the identity service.
-- PostgreSQL inlines this function into the calling statement, which saves a fifth of the work.
-- This requires that the function returns rows, is stable, and has no settings; the atomic body
-- fixes all names when the function is created.

-- The user of these sessions, and the role on the app with this slug, if a slug is given. If a
-- second factor is required and overdue, the user is not signed in. Processes of 0.1.0 compare
-- "asked" and "session" with their request.
create function rowhouse.read_me(
  presented text, idle_s integer, app_slug text, demands_factor boolean
) returns table (live integer, is_app_known boolean, session text, asked text, person json)
language sql stable rows 1
begin atomic
  select found.live, apps.id is not null, found.session_id, app_slug,
    (select json_build_object('id', users.id, 'email', users.email,
        'displayName', users.display_name, 'avatarUrl', users.avatar_url,
        'on', case when apps.id is not null then json_build_object('appId', apps.id,
          'isAdministrator', users.console_role is not null,
          'grant', (select json_build_array(role, provider, encode(digest, 'hex'), secret_id)
            from rowhouse.grants where user_id = users.id and app_id = apps.id)) end)
      from rowhouse.users where users.id = found.person_id
        and case when demands_factor then not rowhouse.is_factor_overdue(users.id) else true end)
  from rowhouse.find_session(presented, idle_s) as found
  left join rowhouse.apps on apps.slug = app_slug and apps.disabled_at is null;
end;
comment on function rowhouse.read_me is 'null session, asked, person';
grant execute on function rowhouse.read_me to rowhouse_service, rowhouse_identity;

-- The people with a role on an app, for /v1/auth/people: by id, at most max_rows after after_id,
-- each with the facts that determine the role; never an address. Null unless the app lists its
-- people, and the person who presents these sessions has a role on it. Processes of 0.1.0 compare
-- "asked" with their request.
create function rowhouse.read_people(
  presented text, idle_s integer, app_slug text, demands_factor boolean, after_id uuid,
  max_rows integer
) returns table (live integer, is_app_known boolean, session text, asked text, person json,
  people json)
language sql stable rows 1
begin atomic
  select me.live, me.is_app_known, me.session, concat_ws(' ', app_slug, after_id, max_rows),
    me.person,
    (select coalesce(json_agg(json_build_object('id', listed.id,
        'displayName', listed.display_name, 'avatarUrl', listed.avatar_url,
        'on', json_build_object('appId', apps.id,
          'isAdministrator', listed.console_role is not null,
          'grant', json_build_array(listed.role, listed.provider, encode(listed.digest, 'hex'),
            listed.secret_id))) order by listed.id), '[]')
      from (select users.id, users.display_name, users.avatar_url, users.console_role,
          grants.role, grants.provider, grants.digest, grants.secret_id
        from rowhouse.grants join rowhouse.users on users.id = grants.user_id
        where grants.app_id = apps.id and grants.user_id > after_id
          and rowhouse.is_active(users.disabled_at)
        order by grants.user_id limit max_rows) as listed
      having apps.id is not null)
  from rowhouse.read_me(presented, idle_s, app_slug, demands_factor) as me
  left join rowhouse.apps on apps.slug = app_slug and apps.disabled_at is null
    and 'people_list' = any (apps.switches) and ((me.person -> 'on' ->> 'grant') is not null
      or (me.person -> 'on' ->> 'isAdministrator')::boolean);
end;
comment on function rowhouse.read_people is 'null session, person, people';
grant execute on function rowhouse.read_people to rowhouse_service, rowhouse_identity;
