-- Sign-in with an OpenID Connect provider. A person is identified by (issuer, subject) from the
-- provider, never by an email address.
--
-- A stored link has a digest of its proof and of the person's id, like sessions and passwords: the
-- proof depends on a secret that is not stored in a database, so a row that is inserted by hand,
-- or copied to another person, cannot be used. The functions here enforce the rules across rows;
-- the provider's response is verified before they are called.

grant select on rowhouse.provider_links to rowhouse_service, rowhouse_identity;

-- The clients for which a provider's response was counted: only for them the count can be
-- restored, once. Anyone with the login can link a person of their own, and so complete sign-ins
-- that no one began.
create function rowhouse.counted_key(state text, client_networks text[]) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select rowhouse.throttle_key('counted state', state || ' '
    || array_to_string(client_networks, ' '))
$$;

-- Before a request to the provider: whether this response is new, and an attempt is allowed now.
create function rowhouse.begin_provider_sign_in(
  state text, client_networks text[], client_bounds integer[], window_s integer
) returns table (wait_s integer, is_first boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  wait integer := rowhouse.count_attempt(
    rowhouse.client_keys('provider client', client_networks), client_bounds, null, window_s);
begin
  if wait is not null then
    return query select wait, true;
    return;
  end if;
  is_first := rowhouse.use_challenge(rowhouse.throttle_key('state', state), window_s);
  perform rowhouse.use_challenge(rowhouse.counted_key(state, client_networks), window_s);
  return query select 0, is_first;
end
$$;
grant execute on function rowhouse.begin_provider_sign_in to rowhouse_service, rowhouse_identity;

-- Replaces the roles that a provider's claims granted to a person. Never changes or revokes roles
-- from a person or another provider. Each is [app, role, digest in hexadecimal], and a reason if an
-- earlier role on the app stays because the provider withheld a claim: then a role is granted only
-- to a person without one, and can be null. Called only by the functions here.
create function rowhouse.apply_claimed_roles(who uuid, by_provider text, claimed jsonb,
  claimed_secret_id text) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  changed record;
  old_role text;
begin
  for changed in
    select distinct item ->> 3 as reason from jsonb_array_elements(claimed) as item
    where item ->> 3 is not null
  loop
    perform rowhouse.log('sign-in', 'claims_withheld', person => who,
      details => jsonb_build_object('reason', left(changed.reason, 200), 'provider', by_provider));
  end loop;
  for changed in
    delete from rowhouse.grants using rowhouse.apps
    where user_id = who and provider = by_provider and apps.id = app_id
      and not exists (select from jsonb_array_elements(claimed) as item
        where (item ->> 0)::uuid = app_id)
    returning slug, role
  loop
    perform rowhouse.log('sign-in', 'revoke', person => who, app => changed.slug,
      details => jsonb_build_object('role', changed.role, 'provider', by_provider));
  end loop;
  for changed in
    select apps.id, slug, item ->> 1 as role, decode(item ->> 2, 'hex') as digest,
      item ->> 3 is not null as is_preserved
    from jsonb_array_elements(claimed) as item join rowhouse.apps on apps.id = (item ->> 0)::uuid
    where item ->> 1 is not null
    order by apps.id for key share of apps
  loop
    select role into old_role from rowhouse.grants where user_id = who and app_id = changed.id;
    insert into rowhouse.grants (user_id, app_id, role, provider, digest, secret_id)
    values (who, changed.id, changed.role, by_provider, changed.digest, claimed_secret_id)
    on conflict (user_id, app_id) do update set role = excluded.role, digest = excluded.digest,
      secret_id = excluded.secret_id,
      granted_at = case when grants.role = excluded.role then grants.granted_at else now() end
    where grants.provider = by_provider and not changed.is_preserved;
    if found and old_role is distinct from changed.role then
      perform rowhouse.log('sign-in', 'grant', person => who, app => changed.slug,
        details => jsonb_strip_nulls(jsonb_build_object('role', changed.role,
          'before', old_role, 'provider', by_provider)));
    end if;
  end loop;
end
$$;

-- After a valid provider response: replaces the presented sessions with a new one, or creates a
-- pending sign-in. Returns the outcome; "wrong" if the person was disabled or unlinked in between,
-- or if the proof from the link and the service's secret is wrong. This proof is not enough for a
-- role from a claim, because people can link their account to any provider account: a role has
-- its own digest.
create function rowhouse.finish_provider_sign_in(
  who uuid, link_issuer text, link_subject text, presented_proof bytea, fresh_digest bytea,
  fresh_secret_id text, presented text, new_id text, new_session_digest bytea,
  new_identity_digest bytea, new_secret_id text, max_s integer, proven timestamptz, state text,
  client_networks text[], provider text, client_address text, device_name text,
  is_known_device boolean, claimed jsonb, pending_id text, pending_digest bytea, factor_rule text
) returns text language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  outcome text;
begin
  perform from rowhouse.users where id = who and rowhouse.is_active(disabled_at) for no key update;
  if not found then
    return 'wrong';
  end if;
  update rowhouse.provider_links set digest = fresh_digest, secret_id = fresh_secret_id
  where issuer = link_issuer and subject = link_subject and user_id = who
    and digest = sha256(presented_proof || uuid_send(who));
  if not found then
    return 'wrong';
  end if;
  delete from rowhouse.throttle where key = rowhouse.counted_key(state, client_networks);
  if found then
    perform rowhouse.give_back_attempts(rowhouse.client_keys('provider client', client_networks));
  end if;
  outcome := rowhouse.admit(who, presented, new_id, new_session_digest, new_identity_digest,
    new_secret_id, max_s,
    least(coalesce(proven, '-infinity'), now()), client_address, device_name, is_known_device,
    provider, pending_id,
    pending_digest, factor_rule);
  -- Roles follow the provider, whatever the result of the second factor.
  perform rowhouse.apply_claimed_roles(who, provider, claimed, fresh_secret_id);
  return outcome;
end
$$;
grant execute on function rowhouse.finish_provider_sign_in to rowhouse_service, rowhouse_identity;

-- Accepts an invitation: links the invited person with this address, who has neither a password
-- nor another link, while the invitation is valid. "presented_proof" proves the address, which
-- depends on the service's secret: a serving login cannot link an invited person to its own
-- provider account. "new_name" is the name that the provider reports.
create function rowhouse.accept_by_provider(
  who uuid, email text, presented_proof bytea, link_issuer text, link_subject text,
  new_digest bytea, new_secret_id text, provider text, new_name text
) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from rowhouse.users
  where id = who and users.email = accept_by_provider.email
    and email_digest = sha256(presented_proof || uuid_send(who))
    and password_hash is null and rowhouse.is_active(disabled_at) for no key update;
  if not found or exists (select from rowhouse.provider_links where user_id = who)
     or rowhouse.invitation_state(who) is distinct from 'pending' then
    return false;
  end if;
  insert into rowhouse.provider_links (issuer, subject, user_id, digest, secret_id)
  values (link_issuer, link_subject, who, new_digest, new_secret_id) on conflict do nothing;
  if not found then
    return false;
  end if;
  delete from rowhouse.password_links where user_id = who;
  delete from rowhouse.invitations where user_id = who;
  perform rowhouse.log(who::text, 'link_provider', person => who,
    details => jsonb_build_object('provider', provider));
  perform rowhouse.name_new_person(who, new_name);
  return true;
end
$$;
grant execute on function rowhouse.accept_by_provider to rowhouse_service, rowhouse_identity;

-- Creates a person without any role, who can sign in only with the link. False if the address or
-- the link is already in use.
create function rowhouse.create_linked_person(
  new_id uuid, email text, mail_digest bytea, new_name text, link_issuer text, link_subject text,
  new_digest bytea, new_secret_id text, provider text
) returns boolean language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from rowhouse.provider_links where issuer = link_issuer
    and subject = link_subject) then
    return false;
  end if;
  insert into rowhouse.users (id, email, email_digest, email_secret_id, display_name)
  values (new_id, email, mail_digest, new_secret_id, new_name) on conflict do nothing;
  if not found then
    return false;
  end if;
  insert into rowhouse.provider_links (issuer, subject, user_id, digest, secret_id)
  values (link_issuer, link_subject, new_id, new_digest, new_secret_id);
  perform rowhouse.log('sign-in', 'create_user', person => new_id,
    details => jsonb_build_object('provider', provider));
  return true;
end
$$;
grant execute on function rowhouse.create_linked_person to rowhouse_service, rowhouse_identity;

-- Links the person to a provider account, after a recent sign-in; returns the outcome.
-- "expected" is the person who started it, for whom the digest was created.
-- proves: owner
create function rowhouse.link_provider(expected uuid, link_issuer text, link_subject text,
  new_digest bytea, new_secret_id text, provider text) returns text as $$
begin
  if who <> expected then
    return 'other_session';
  end if;
  if not rowhouse.is_fresh(own) then
    return 'too_old';
  end if;
  if exists (select from rowhouse.provider_links
    where user_id = who and issuer = link_issuer and subject <> link_subject) then
    return 'another';
  end if;
  insert into rowhouse.provider_links (issuer, subject, user_id, digest, secret_id)
  values (link_issuer, link_subject, who, new_digest, new_secret_id)
  on conflict (issuer, subject) do update set digest = excluded.digest,
    secret_id = excluded.secret_id, linked_at = now()
  where provider_links.user_id = excluded.user_id;
  if not found then
    return 'in_use';
  end if;
  perform rowhouse.log(who::text, 'link_provider', person => who,
    details => jsonb_build_object('provider', provider));
  perform rowhouse.queue_mail(who, 'provider_linked', null,
    jsonb_build_object('from', visitor.client_address));
  return 'done';
end
$$;

-- Removes a link, unless it is the person's only way to sign in; also revokes the roles from the
-- provider's claims, because it could no longer revoke them.
-- proves: owner
create function rowhouse.unlink_provider(link_issuer text, provider text) returns text as $$
begin
  if not exists (select from rowhouse.users where id = who and password_hash is not null)
     and not exists (select from rowhouse.provider_links where user_id = who
       and issuer <> link_issuer) then
    return 'last';
  end if;
  perform rowhouse.check_fresh(own);
  delete from rowhouse.provider_links where user_id = who and issuer = link_issuer;
  if found then
    delete from rowhouse.pending_sign_ins where user_id = who;
    perform rowhouse.log(who::text, 'unlink_provider', person => who,
      details => jsonb_build_object('provider', provider));
    perform rowhouse.apply_claimed_roles(who, provider, '[]', null);
  end if;
  return 'done';
end
$$;

-- The person linked to a subject of an issuer, and the person with an address.
create function rowhouse.find_provider_person(link_issuer text, link_subject text, email text)
returns table (
  link_user uuid, digest bytea, secret_id text, is_disabled boolean, mail_user uuid,
  mail_digest bytea, mail_secret_id text, is_invited boolean
) language sql stable set search_path = pg_catalog, pg_temp as $$
  select link.user_id, link.digest, link.secret_id, not rowhouse.is_active(owner.disabled_at),
    mailed.id, mailed.email_digest, mailed.email_secret_id,
    mailed.password_secret_id is null and rowhouse.is_active(mailed.disabled_at)
      and not exists (select from rowhouse.provider_links where user_id = mailed.id)
      and exists (select from rowhouse.password_links
        where user_id = mailed.id and expires_at > now())
  from (values (link_issuer, link_subject, find_provider_person.email))
    as asked (issuer, subject, email)
  left join rowhouse.provider_links as link
    on link.issuer = asked.issuer and link.subject = asked.subject
  left join rowhouse.users as owner on owner.id = link.user_id
  left join rowhouse.users as mailed on mailed.email = asked.email
$$;
comment on function rowhouse.find_provider_person is
  'null link_user, digest, secret_id, mail_user, mail_digest, mail_secret_id';

-- A person's links, by issuer, and whether the session can add a link.
create function rowhouse.read_own_links(who uuid, own text) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('isFresh', rowhouse.is_fresh(own),
    'linkedAt', (select coalesce(jsonb_agg(jsonb_build_array(issuer, linked_at) order by issuer),
      '[]') from rowhouse.provider_links where user_id = who))
$$;

-- Records why a provider's response was rejected: a short reason for operators, never the response.
create function rowhouse.record_rejected_sign_in(
  provider text, reason text, who uuid, client_address text
) returns void language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select rowhouse.log('sign-in', 'sign_in_rejected', person => who,
    details => jsonb_build_object('provider', left(provider, 40), 'reason', left(reason, 200)),
    client => nullif(left(client_address, 64), ''))
$$;
grant execute on function rowhouse.find_provider_person, rowhouse.read_own_links,
  rowhouse.record_rejected_sign_in to rowhouse_service, rowhouse_identity;
