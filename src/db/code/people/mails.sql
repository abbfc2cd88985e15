-- The mail queue. A row has a template, a person and a link; it contains no address except a
-- previous address of the person, and nothing from which a link could be built. So a dump contains
-- no usable link: a link is derived when it is sent, with a secret that is not stored in the
-- database.
--
-- Processes that send mail record their presence. If there are none, nothing is queued.

create function rowhouse.has_mail_sender() returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select exists (select from rowhouse.mail_sender
    where seen_at > clock_timestamp() - interval '${MAIL_PAUSE_S} seconds')
$$;

-- At most five of a kind to a person in an hour, independent of the cause.
create function rowhouse.may_mail(person uuid, kind text) returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select count(*) < 5 from rowhouse.mails
  where user_id = person and template = kind and created_at > clock_timestamp() - interval '1 hour'
$$;

-- Returns whether the email will be sent. Invitations are also counted by address: an invitation
-- after a withdrawal creates a new person.
create function rowhouse.queue_mail(person uuid, kind text, link text, more jsonb) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  if not rowhouse.has_mail_sender() or not rowhouse.may_mail(person, kind) then
    return false;
  end if;
  if kind = 'invitation' and rowhouse.count_attempt(
    (select array['invited address ' || encode(sha256(convert_to(email, 'UTF8')), 'hex')]
      from rowhouse.users where id = person),
    array[5], null, 3600) is not null then
    return false;
  end if;
  insert into rowhouse.mails (user_id, template, link_id, details)
    values (person, kind, link, jsonb_strip_nulls(more));
  return true;
end
$$;

-- Counts an attempt to request a link, and queues the mail; or returns how long to wait. The same
-- work is done for every address: people without a password, or disabled people, count as unknown.
create function rowhouse.ask_for_password(
  email text, client_networks text[], bounds integer[], window_s integer, client_address text,
  return_app text, return_to text
) returns integer language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  wait integer := rowhouse.count_attempt(
    rowhouse.throttle_key('forgotten address', email)
      || rowhouse.client_keys('forgotten client', client_networks), bounds, null, window_s);
  person uuid;
  is_allowed boolean;
begin
  if wait is not null then
    return wait;
  end if;
  select id into person from rowhouse.users where users.email = ask_for_password.email
    and rowhouse.is_active(disabled_at) and password_hash is not null
  for key share;
  is_allowed := rowhouse.may_mail(person, 'forgotten_password');
  insert into rowhouse.mails (user_id, template, details)
  values (case when is_allowed
    then person end, 'forgotten_password', jsonb_strip_nulls(jsonb_build_object(
      'from', left(client_address, 64), 'app', return_app, 'returnTo', return_to)));
  return 0;
end
$$;
grant execute on function rowhouse.ask_for_password to rowhouse_service, rowhouse_identity;

-- Claims due mails: no other process gets them during the lease. Each retry waits four times as
-- long as the one before; after the sixth attempt the mail fails.
create function rowhouse.claim_mails(max_rows integer, lease_s integer, retry_s float8)
returns jsonb language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  claimed jsonb;
begin
  insert into rowhouse.mail_sender as sender (seen_at) values (clock_timestamp())
  on conflict (is_only) do update set seen_at = excluded.seen_at
    where sender.seen_at < clock_timestamp() - interval '1 minute';
  delete from rowhouse.mails where id in (
    select id from rowhouse.mails
    where user_id is null or sent_at < now() - interval '1 hour'
      or given_up_at < now() - interval '${GIVEN_UP_LIFE_S} seconds'
    order by id limit 200 for update skip locked);
  with due as (
    select id from rowhouse.mails
    where sent_at is null and given_up_at is null and next_try_at <= clock_timestamp()
    order by next_try_at limit max_rows for update skip locked
  ), picked as (
    update rowhouse.mails set tries = mails.tries + 1,
      given_up_at = case when mails.tries >= 6 then clock_timestamp() end,
      next_try_at = clock_timestamp() + make_interval(secs => greatest(lease_s,
      retry_s * 4 ^ mails.tries))
    from due where mails.id = due.id
    returning mails.id, template, user_id, link_id, details, mails.created_at,
      mails.tries, given_up_at
  )
  -- Only mails without a link go to an address other than the person's.
  select jsonb_agg(jsonb_build_object('id', picked.id, 'template', template, 'userId', users.id,
    'email', coalesce(case when template = 'address_changed'
      and link_id is null then details ->> 'to' end, email),
    'emailDigest', encode(email_digest, 'hex'), 'emailSecretId', email_secret_id,
    'displayName', display_name, 'isDisabled', not rowhouse.is_active(disabled_at),
    'details', details,
    'createdAt', picked.created_at,
    'hasLink', link_id is not null,
    'link', case when links.id is not null then jsonb_build_object('id', links.id,
    'secretId', links.secret_id,
      'expiresAtS', extract(epoch from links.expires_at)) end,
    'password', case when template = 'forgotten_password'
      and link_id is null and password_hash is not null
      then jsonb_build_object('hash', password_hash, 'secretId', password_secret_id) end)
        order by picked.id) into claimed
  from picked join rowhouse.users on users.id = picked.user_id
  left join rowhouse.password_links as links
    on links.id = picked.link_id and links.user_id = picked.user_id
      and links.expires_at > clock_timestamp()
  where given_up_at is null;
  return coalesce(claimed, '[]');
end
$$;
comment on function rowhouse.claim_mails is 'idempotent';
grant execute on function rowhouse.claim_mails to rowhouse_service, rowhouse_identity;

-- Records the outcome of a mail: "sent"; "rejected" if the server rejects it permanently; "void" if
-- it is obsolete.
create function rowhouse.settle_mail(mail_id bigint, outcome text) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  delete from rowhouse.mails where id = mail_id and outcome = 'void';
  update rowhouse.invitations set mailed_at = clock_timestamp()
  from rowhouse.mails join rowhouse.password_links as links on links.id = mails.link_id
  where mails.id = mail_id and outcome = 'sent' and sent_at is null
    and invitations.user_id = mails.user_id and links.user_id = mails.user_id;
  update rowhouse.mails set sent_at = case when outcome = 'sent' then clock_timestamp() end,
    given_up_at = case when outcome = 'rejected' then clock_timestamp() end
  where id = mail_id and sent_at is null and outcome in ('sent', 'rejected')
$$;
comment on function rowhouse.settle_mail is 'idempotent';
grant execute on function rowhouse.settle_mail to rowhouse_service, rowhouse_identity;

-- The link for a password reset mail, if the caller presents the proof of the current link and the
-- service's secret: a serving login cannot create links without the secret. False if there is no
-- link to create, or the person's address has changed.
create function rowhouse.put_forgotten_link(
  mail_id bigint, sent_to text, presented_proof bytea, new_id text, proof bytea, new_secret_id text,
    ends_at timestamptz
) returns boolean language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp as $$
declare
  who uuid;
begin
  -- A concurrent change of the address completes first, or waits and then ends this link.
  perform from rowhouse.users where id = (select user_id from rowhouse.mails where id = mail_id)
    and email = sent_to
  for key share;
  if not found then
    return false;
  end if;
  update rowhouse.mails set link_id = new_id from rowhouse.users
  where mails.id = mail_id and template = 'forgotten_password'
    and link_id is null and sent_at is null
    and users.id = user_id
      and rowhouse.is_active(disabled_at)
      and password_digest = sha256(presented_proof || uuid_send(users.id))
  returning users.id into who;
  if who is null then
    return false;
  end if;
  perform rowhouse.put_password_link(who, new_id, proof, new_secret_id, ends_at);
  update rowhouse.password_links
  set return_app = details ->> 'app', return_to = details ->> 'returnTo'
  from rowhouse.mails where mails.id = mail_id and password_links.user_id = who;
  perform rowhouse.log('forgotten-password', 'make_password_link', person => who,
    client => details ->> 'from')
  from rowhouse.mails
    where id = mail_id;
  return true;
end
$$;
grant execute on function rowhouse.put_forgotten_link to rowhouse_service, rowhouse_identity;

-- For operators: whether a process sends mail, and the state of mails.
create function rowhouse.mail_state() returns jsonb language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('hasSender', rowhouse.has_mail_sender(),
    'waiting', count(*) filter (where sent_at is null and given_up_at is null),
    'oldestS', coalesce(extract(epoch
    from now() - min(created_at) filter (where sent_at is null and given_up_at is null)), 0),
    'givenUp', count(given_up_at))
  from rowhouse.mails where user_id is not null
$$;
grant execute on function rowhouse.mail_state to rowhouse_service, rowhouse_identity;

-- For operators: the person of a link, and whether it is mailed.
create function rowhouse.find_link_mail(link_id text) returns table (
  user_id uuid, email text, digest bytea, secret_id text, is_queued boolean, has_sender boolean,
  is_disabled boolean
) language sql stable set search_path = pg_catalog, pg_temp as $$
  select users.id, users.email, users.email_digest, users.email_secret_id,
    exists (select from rowhouse.mails where mails.link_id = find_link_mail.link_id),
    rowhouse.has_mail_sender(), not rowhouse.is_active(users.disabled_at)
  from rowhouse.password_links as links join rowhouse.users on users.id = links.user_id
  where links.id = find_link_mail.link_id
$$;
comment on function rowhouse.find_link_mail is 'null digest, secret_id';
