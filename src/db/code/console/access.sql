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
    and rowhouse.is_active(users.disabled_at) and users.console_role in (needed, 'super_admin')
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

-- Records that an action in the Console was rejected: once in an hour for each action and reason,
-- and max 100 in an hour for a person. The action is a function's name or a route's template. Both
-- cookies prove the person, so that this login cannot add entries for other people.
-- proves: person
create function rowhouse.console_log_rejection(wanted text, why text) returns void as $$
begin
  if (wanted ~ '^console_[a-z_]{1,55}$' or wanted ~ '^/console(/:?[a-z-]{1,40}){0,6}$') is not true
    or (why in ('no_role', 'no_second_factor', 'not_super_admin', 'old_sign_in', 'form_token',
      'other_site')) is not true
  then
    raise exception 'not an action or a reason of the Console' using errcode = '22023';
  end if;
  -- A repeated rejection must not use up the person's limit: its own counter comes first.
  if rowhouse.count_attempt(array[
    rowhouse.throttle_key('rejection', concat_ws(' ', who, wanted, why)),
    rowhouse.throttle_key('rejections', who::text)], array[1, 100], 0, 3600) is null
  then
    perform rowhouse.log(who::text, 'console_rejected', person => who,
      details => jsonb_build_object('action', wanted, 'why', why));
  end if;
end
$$;
