-- Acts of administrators from a browser. They run on a login of their own, which may execute these
-- functions and nothing else. Each act proves in the call that acts who asks for it: both cookies
-- of one live session, by what no table holds, the Console role, and where it is sensitive a
-- sign-in of the last ten minutes, with the second factor of whoever has one. So neither this login
-- nor a serving login acts by itself.

-- The id of the person who acts; raises an error if the cookies prove no such person. "needed" is
-- the Console role, which a super_admin always has. The rows are locked until the action is done.
create function rowhouse.check_console(
  session_shown text, identity_shown text, idle_s integer, shown_from text, needed text,
    is_sensitive boolean
) returns uuid language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  own text := rowhouse.find_visitor_session(session_shown, identity_shown, idle_s, shown_from);
  who uuid;
  shown_at timestamptz;
begin
  select users.id, second_factor_at into who, shown_at
  from rowhouse.sessions join rowhouse.users on users.id = sessions.user_id
  where sessions.id = own
    and users.disabled_at is null and users.console_role in (needed, 'super_admin')
  for share;
  if who is null then
    raise exception 'nobody who may do this' using errcode = 'RH402';
  end if;
  if rowhouse.is_factor_overdue(who) then
    raise exception 'a second factor is overdue' using errcode = 'RH405';
  end if;
  -- A session may be from before there was a second factor, by whoever knew the password.
  if shown_at is null and rowhouse.has_second_factor(who) or is_sensitive
    and not rowhouse.is_fresh(own) then
    raise exception 'signed in too long ago' using errcode = 'RH403';
  end if;
  return who;
end
$$;
