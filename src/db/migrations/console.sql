-- Actions of administrators in a browser. They use a separate login, which can execute only these
-- functions. Each action verifies its caller in the same call: both cookies of one live session,
-- by a proof that is not stored, the Console role, and for sensitive actions a sign-in within ten
-- minutes, with the second factor if the user has one. So neither this login nor a serving login
-- can act without a user.

-- The id of the acting user; raises an error if the cookies prove no such user. "needed" is the
-- Console role, which a super_admin always has. Locks the rows until the action ends.
create function rowhouse.check_console(
  visitor rowhouse.visitor, needed text, is_sensitive boolean
) returns uuid language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  own text := rowhouse.find_visitor_session(visitor);
  who uuid;
  factor_at timestamptz;
begin
  select users.id, second_factor_at into who, factor_at
  from rowhouse.sessions join rowhouse.users on users.id = sessions.user_id
  where sessions.id = own
    and users.disabled_at is null and users.console_role in (needed, 'super_admin')
  for share;
  if who is null then
    raise exception 'no user with the role' using errcode = 'RH402';
  end if;
  if rowhouse.is_factor_overdue(who) then
    raise exception 'a second factor is overdue' using errcode = 'RH405';
  end if;
  -- A session can be older than the second factor, from someone who knew the password.
  if factor_at is null and rowhouse.has_second_factor(who) or is_sensitive
    and not rowhouse.is_fresh(own) then
    raise exception 'sign-in too old' using errcode = 'RH403';
  end if;
  return who;
end
$$;
