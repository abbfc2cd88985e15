/**
 * Acts of administrators from a browser. They run on a login of their own, which may execute these functions and nothing
 * else. Each act proves in the call that acts who asks for it: both cookies of one live session, by what no table holds,
 * the Console role, and where it is sensitive a sign-in of the last ten minutes. So neither this login nor a serving
 * login acts by itself.
 *
 * @module
 */
import { SIGNALS } from "../signals.ts";
import { defineConsoleFunction, SHOWN } from "./console_function.ts";

export const CONSOLE = `
-- Whose act it is; raises where it is nobody's. Shown are lists of <id>.<proof>, as browsers' cookies give them: two live
-- sessions are none. "needed" is the Console role, which a super_admin always has. The rows are held until the act is done.
create function rowhouse.check_console(
  ${SHOWN}, needed text, is_sensitive boolean
) returns uuid language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  live text[];
  who uuid;
  signed_in_at timestamptz;
begin
  select array_agg(sessions.id) into live
  from (select distinct split_part(text, '.', 1) as id, decode(split_part(text, '.', 2), 'hex') as proof
    from unnest(string_to_array(session_shown, ',')) as text) as shown
  join rowhouse.sessions on sessions.id = shown.id
    and sessions.session_digest = sha256(shown.proof || uuid_send(sessions.user_id))
  where sessions.expires_at > clock_timestamp() and sessions.last_seen_at > clock_timestamp() - make_interval(secs => idle_s);
  if cardinality(live) = 1 then
    -- Its use is noted at most once a minute, before the row is shared: two that share it could not both change it.
    update rowhouse.sessions set last_seen_at = now() where id in (
      select id from rowhouse.sessions where id = live[1] and last_seen_at < now() - interval '1 minute' for update skip locked);
    select users.id, sessions.created_at into who, signed_in_at
    from rowhouse.sessions join rowhouse.users on users.id = sessions.user_id
    where sessions.id = live[1] and users.disabled_at is null and users.console_role in (needed, 'super_admin')
      and exists (select from unnest(string_to_array(identity_shown, ',')) as text
        where split_part(text, '.', 1) = sessions.id and sessions.identity_digest
          = sha256(decode(split_part(text, '.', 2), 'hex') || uuid_send(sessions.user_id)))
    for share;
  end if;
  if who is null then
    raise exception 'nobody who may do this' using errcode = '${SIGNALS.consoleRefused}';
  end if;
  if is_sensitive and signed_in_at <= clock_timestamp() - interval '10 minutes' then
    raise exception 'signed in too long ago' using errcode = '${SIGNALS.signInTooOld}';
  end if;
  -- For the audit log, until this statement ends.
  perform set_config('rowhouse.client', shown_from, true);
  return who;
end
$$;
${defineConsoleFunction({
  name: "console_grant_role",
  takes: "mail text, app_slug text, new_role text",
  isSensitive: true,
  body: "perform rowhouse.grant_role(mail, app_slug, new_role, who::text);",
})}`;
