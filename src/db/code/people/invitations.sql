-- Invitations: created, resent, withdrawn, listed. An invited person has roles but cannot sign in.
-- The invitation is accepted when a credential is created, by its link or by a provider, and then
-- ends: nothing here changes an account that can sign in.

-- "pending" while the link is valid, then "expired"; null for people without an invitation.
create function rowhouse.invitation_state(person uuid) returns text language sql stable
set search_path = pg_catalog, pg_temp as $$
  select case when exists (select from rowhouse.password_links where user_id = person
    and expires_at > now())
    then 'pending' else 'expired' end
  from rowhouse.invitations where user_id = person
$$;

-- The inviting user and time, and the state of the link and its mail; null for people without
-- an invitation. The invitation stores when the mail was sent, because the queue soon deletes sent
-- mails.
create function rowhouse.describe_invitation(person uuid) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('state', rowhouse.invitation_state(person),
    'invitedAt', rowhouse.utc_text(invited_at),
    'invitedBy', invited_by,
    'invitedByEmail', (select email from rowhouse.users
    where id = case when invited_by ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
    then invited_by::uuid end),
    'linkMadeAt', rowhouse.utc_text(links.created_at),
    'linkEndsAt', rowhouse.utc_text(links.expires_at),
    'mailedAt', rowhouse.utc_text(mailed_at),
    'mail', case when mailed_at is not null then 'sent' else (
      select case when given_up_at is null then 'waiting' else 'failed' end from rowhouse.mails
      where mails.user_id = person and link_id = links.id order by mails.id desc limit 1) end)
  from rowhouse.invitations left join rowhouse.password_links as links using (user_id)
    where user_id = person
$$;

-- Pending invitations by address, each with the first roles, and their number. `search` is a
-- regular expression.
-- read: admin
create function rowhouse.list_invitations(search text, after_email text, max_rows integer)
returns jsonb language sql stable set search_path = pg_catalog, pg_temp as $$
  select jsonb_build_object('invited', (select count(*) from rowhouse.invitations),
    'invitations', coalesce(jsonb_agg(rowhouse.describe_invitation(id) || jsonb_build_object(
      'id', id, 'email', email, 'displayName', display_name, 'consoleRole', console_role,
      'disabledAt', rowhouse.utc_text(disabled_at),
      'roleCount', (select count(*) from rowhouse.grants where user_id = found.id),
      'roles', (select coalesce(jsonb_agg(jsonb_build_object('app', app, 'role', role)
        order by app), '[]') from (
        select slug as app, role from rowhouse.grants join rowhouse.apps on apps.id = app_id
        where user_id = found.id order by slug limit 5) as first)) order by email), '[]'))
  from (select users.* from rowhouse.invitations join rowhouse.users on id = user_id
    where email > after_email and (email ~ search or display_name collate "C" ~ search)
    order by email limit max_rows) as found
$$;

-- Invites a person, optionally to an app. An existing person gets only the role: "added" to a
-- pending invitation, "granted" to an account. A new invitation is "mailed", or "made" if its link
-- is shown.
-- action: admin, recent sign-in
--   new_console_role = rowhouse.check_new_role(who, new_console_role text)
create function rowhouse.invite(
  new_id uuid, email text, mail_digest bytea, new_name text, new_console_role text, link_id text,
  proof bytea, link_secret_id text, ends_at timestamptz, app_slug text, new_role text, actor text
) returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  known uuid := (select id from rowhouse.users where users.email = invite.email);
  is_mailed boolean;
begin
  -- A repeated request is rejected, and a Console role is never granted as a side effect.
  if known <> new_id and app_slug is not null and new_console_role is null then
    perform rowhouse.grant_role(email, app_slug, new_role, actor);
    return case when rowhouse.invitation_state(known) is null then 'granted' else 'added' end;
  end if;
  is_mailed := rowhouse.create_user(new_id, email, mail_digest, new_name, new_console_role, link_id,
    proof, link_secret_id, ends_at, actor);
  if app_slug is not null then
    perform rowhouse.grant_role(email, app_slug, new_role, actor);
    update rowhouse.password_links set return_app = app_slug, return_to = app.home
    from (select min(origin) || '/' as home from rowhouse.targets
      where kind = 'origin' and app_id = rowhouse.find_app(app_slug)) as app
    where user_id = new_id and app.home is not null;
  end if;
  return case when is_mailed then 'mailed' else 'made' end;
end
$$;

-- Invites several people. Returns the result of each in order; "taken" for the address of an
-- existing account if no role is to be granted, "repeated" if the id was used before.
-- action: admin, recent sign-in
create function rowhouse.invite_people(
  people jsonb, link_secret_id text, ends_at timestamptz, app_slug text, new_role text, actor text
) returns text[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  person jsonb;
  outcomes text[] := '{}';
begin
  for person in select jsonb_array_elements(people) loop
    begin
      outcomes := outcomes || rowhouse.invite((person ->> 'id')::uuid, person ->> 'email',
        decode(person ->> 'digest', 'hex'), person ->> 'name', null, person ->> 'linkId',
        decode(person ->> 'proof', 'hex'), link_secret_id, ends_at, app_slug, new_role, actor);
    exception when unique_violation then
      outcomes := outcomes || case when exists (
        select from rowhouse.users
        where email = person ->> 'email' and id <> (person ->> 'id')::uuid)
        then 'taken' else 'repeated' end;
    end;
  end loop;
  return outcomes;
end
$$;

-- Creates a new link and ends the earlier link. "mailed" or "made"; null if no invitation is
-- pending: it was accepted, or the account is disabled.
-- action: admin, recent sign-in; logs "sent an invitation again"
--   email = rowhouse.hold_account(who, person uuid)
create function rowhouse.resend_invitation(
  email text, link_id text, proof bytea, link_secret_id text, ends_at timestamptz, actor text
) returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  person uuid := rowhouse.find_user(email);
begin
  perform from rowhouse.users where id = person and rowhouse.is_active(disabled_at)
    for no key update;
  if not found then
    return null;
  end if;
  update rowhouse.invitations set mailed_at = null where user_id = person;
  if not found then
    return null;
  end if;
  perform rowhouse.put_password_link(person, link_id, proof, link_secret_id, ends_at);
  perform rowhouse.log(actor, 'resend_invitation', person => person);
  return case when rowhouse.queue_mail(person, 'invitation', link_id, '{}') then 'mailed'
    else 'made' end;
end
$$;
comment on function rowhouse.resend_invitation is 'null result';

-- Deletes an invited person with link and roles; a person who has never signed in has nothing
-- else. False if no invitation is pending.
-- action: admin, recent sign-in; logs "withdrew an invitation"
--   email = rowhouse.hold_account(who, person uuid)
create function rowhouse.withdraw_invitation(email text, actor text) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  person rowhouse.users := rowhouse.lock_user(email);
begin
  if person.password_hash is not null or rowhouse.invitation_state(person.id) is null
     or exists (select from rowhouse.provider_links where user_id = person.id) then
    return false;
  end if;
  perform rowhouse.keep_super_admin(person);
  delete from rowhouse.users where id = person.id;
  perform rowhouse.log(actor, 'withdraw_invitation', person => person.id);
  return true;
end
$$;
