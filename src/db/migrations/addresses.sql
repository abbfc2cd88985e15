-- What confirms people's addresses: made again when it is used and by an administrator.

-- Ends every way to sign in to accounts whose address something else than the service wrote. A
-- thief of a serving login can insert an account, with a session, a link to a provider, a password
-- or a second factor that this database believes.
create function rowhouse.end_ways_in(people uuid[]) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  delete from rowhouse.sessions where user_id = any (people);
  delete from rowhouse.pending_sign_ins where user_id = any (people);
  delete from rowhouse.password_links where user_id = any (people);
  delete from rowhouse.provider_links where user_id = any (people);
  delete from rowhouse.passkeys where user_id = any (people);
  delete from rowhouse.totp_factors where user_id = any (people);
  delete from rowhouse.recovery_codes where user_id = any (people);
  update rowhouse.users set password_hash = null, password_digest = null, password_secret_id = null,
    factor_asked_at = null
  where id = any (people);
end
$$;

-- No login has it. Of a list of [person, address, digest in hexadecimal], those that are still so:
-- how many. Without an actor it is no act, but the same confirmation by another secret; otherwise
-- every way to sign in to these accounts ends.
create function rowhouse.confirm_addresses(confirmed jsonb, new_secret_id text, actor text)
  returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  people uuid[];
begin
  with changed as (
    update rowhouse.users set email_digest = decode(one ->> 2, 'hex'),
      email_secret_id = new_secret_id
    from jsonb_array_elements(confirmed) as one
    where id = (one ->> 0)::uuid and email = one ->> 1
    returning id
  )
  select coalesce(array_agg(id order by id), '{}') into people from changed;
  if actor is not null then
    perform rowhouse.end_ways_in(people);
  end if;
  insert into rowhouse.audit (actor, action, user_id)
  select actor, 'confirm_address', person from unnest(people) as person where actor is not null;
  return cardinality(people);
end
$$;
comment on function rowhouse.confirm_addresses is 'idempotent';

-- The same address by another secret, for whoever can show what follows from it and the one before.
create function rowhouse.renew_address(
  who uuid, mail text, shown bytea, fresh_digest bytea, fresh_secret_id text
) returns void language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  update rowhouse.users set email_digest = fresh_digest, email_secret_id = fresh_secret_id
  where id = who and email = mail and email_digest = sha256(shown || uuid_send(who))
$$;
comment on function rowhouse.renew_address is 'idempotent';
grant execute on function rowhouse.renew_address(uuid, text, bytea, bytea, text)
  to rowhouse_service, rowhouse_identity;
