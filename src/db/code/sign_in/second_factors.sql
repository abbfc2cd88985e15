-- People's second factors: authenticator codes, recovery codes, passkeys; and who has or needs a
-- second factor.
--
-- No login can read these tables. Like sessions and links, they store a digest of a proof and of
-- the person's id. The proof depends on a secret that is not stored in a database; the same secret
-- encrypts the secrets of authenticator apps.

create function rowhouse.has_second_factor(who uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.totp_factors where user_id = who)
    or exists (select from rowhouse.passkeys where user_id = who)
$$;
grant execute on function rowhouse.has_second_factor to rowhouse_service, rowhouse_identity;

-- For operators: the secret that each second factor and recovery code depends on.
create function rowhouse.secrets_of_factors() returns setof text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select secret_id from rowhouse.totp_factors union all select secret_id
    from rowhouse.recovery_codes
  union all select secret_id from rowhouse.passkeys
$$;
grant execute on function rowhouse.secrets_of_factors to rowhouse_service, rowhouse_identity;

-- Returns whether a session was authenticated recently, also by the second factor if its owner has
-- a second factor.
create function rowhouse.is_fresh(session_id text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.sessions where id = session_id
    and proven_at > clock_timestamp() - interval '${RECENT_SIGN_IN_S} seconds'
    and (second_factor_at > clock_timestamp() - interval '${RECENT_SIGN_IN_S} seconds'
      or not rowhouse.has_second_factor(user_id)))
$$;
grant execute on function rowhouse.is_fresh to rowhouse_service, rowhouse_identity;

-- The deadline for a required second factor of a person who has none; null: never.
create function rowhouse.factor_due_at(who uuid) returns timestamptz
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select factor_asked_at + interval '${FACTOR_GRACE_S} seconds' from rowhouse.users
  where id = who and factor_asked_at is not null and not rowhouse.has_second_factor(id)
$$;
grant execute on function rowhouse.factor_due_at to rowhouse_service, rowhouse_identity;
create function rowhouse.is_factor_overdue(who uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(rowhouse.factor_due_at(who) <= clock_timestamp(), false)
$$;
grant execute on function rowhouse.is_factor_overdue to rowhouse_service, rowhouse_identity;
