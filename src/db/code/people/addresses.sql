-- Proofs of email addresses. The service renews a proof when the address is used; administrators
-- can renew all.

-- Ends every way to sign in to accounts whose address the service did not write. An attacker with
-- a serving login can insert an account, with a session, a provider link, a password or a second
-- factor that this database accepts.
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

-- Not granted to any login. Confirms the entries of a list of [person, address, digest in
-- hexadecimal] that are still current, and returns their number. A renewal only re-signs the
-- address with another secret; otherwise every way to sign in to these accounts ends.
create function rowhouse.confirm_addresses(
  confirmed jsonb, new_secret_id text, is_renewal boolean, actor text)
returns integer language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  people uuid[];
begin
  with changed as (
    update rowhouse.users set email_digest = decode(item ->> 2, 'hex'),
      email_secret_id = new_secret_id
    from jsonb_array_elements(confirmed) as item
    where id = (item ->> 0)::uuid and email = item ->> 1
    returning id
  )
  select coalesce(array_agg(id order by id), '{}') into people from changed;
  if not is_renewal then
    perform rowhouse.end_ways_in(people);
  end if;
  perform rowhouse.log(actor, 'confirm_address', person => person)
  from unnest(people) as person where not is_renewal;
  return cardinality(people);
end
$$;
comment on function rowhouse.confirm_addresses is 'idempotent';

-- Re-signs the address with another secret, if the caller presents the proof of the current
-- digest.
create function rowhouse.renew_address(
  who uuid, email text, presented_proof bytea, fresh_digest bytea, fresh_secret_id text
) returns void language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  update rowhouse.users set email_digest = fresh_digest, email_secret_id = fresh_secret_id
  where id = who and users.email = renew_address.email
    and email_digest = sha256(presented_proof || uuid_send(who))
$$;
comment on function rowhouse.renew_address is 'idempotent';
grant execute on function rowhouse.renew_address to rowhouse_service, rowhouse_identity;
