-- The audit log, filtered by actor, action, app, person and time. Each filter has
-- an index, and times become bounds of ids, so that the cost of a page does not depend on the size
-- of the log.

-- Newest first, before an entry; empty and null filters are ignored. An actor is an id, an address
-- or a text such as "sign-in". A person is an address or an id: only the id of a deleted person
-- remains. The period includes its start and excludes its end. An entry gets its id when it is
-- written, and its time when its transaction begins, less than an hour earlier.
-- read: admin
create function rowhouse.list_audit(of_actor text, of_action text, app_slug text,
  of_person text, from_at timestamptz, before_at timestamptz, before_id bigint, max_rows integer,
  details_chars integer) returns jsonb language plpgsql volatile
set search_path = pg_catalog, pg_temp as $$
declare
  wanted_actor text := coalesce((select id::text from rowhouse.users
    where email = lower(of_actor)), of_actor);
  wanted_person uuid := coalesce((select id from rowhouse.users where email = lower(of_person)),
    case when lower(of_person) ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      then of_person::uuid end);
  first_id bigint := coalesce((select id from rowhouse.audit where at < from_at - interval '1 hour'
    order by at desc limit 1), 0);
  last_id bigint := least(before_id - 1,
    coalesce((select id from rowhouse.audit where at > before_at + interval '1 hour'
      order by at limit 1), 9223372036854775807));
begin
  -- A plan cached for other filters would read the whole log.
  perform set_config('plan_cache_mode', 'force_custom_plan', true);
  return jsonb_build_object(
    'app', (select jsonb_build_object('disabledAt', disabled_at) from rowhouse.apps
      where slug = app_slug),
    'entries', (select coalesce(jsonb_agg(to_jsonb(entry) order by entry.id desc), '[]') from (
      select found.id, at, actor, actors.email as "actorEmail", action, user_id as "userId",
        people.email, app, client,
        exists (select from rowhouse.apps where slug = app) as "appExists",
        left(details::text, details_chars) as details
      from (
        select * from rowhouse.audit
        where id between first_id and last_id
          and (from_at is null or at >= from_at) and (before_at is null or at < before_at)
          and (of_actor = '' or actor = wanted_actor)
          and (of_action = '' or action = of_action)
          and (app_slug = '' or app = app_slug)
          and (of_person = '' or user_id = wanted_person)
        order by id desc limit max_rows
      ) as found
      left join rowhouse.users as people on people.id = user_id
      left join rowhouse.users as actors
        on actors.id = case when actor ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        then actor::uuid end) as entry));
end
$$;
comment on function rowhouse.list_audit is 'idempotent';
