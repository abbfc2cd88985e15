/**
 * What administrators see of people and do with them from a browser: each act calls what the command calls, with the person
 * as its actor, and asks for a fresh sign-in. Never shows a password, or what proves a session or a link.
 *
 * Whoever could set the password of somebody with a Console role, or end that account, would have that role or could take
 * it away. So only a super_admin does that; administrators change those without one. Their own account is no exception:
 * its own pages ask for the current password.
 *
 * @module
 */
import { SIGNALS } from "../signals.ts";
import { defineConsoleFunction } from "./console_function.ts";

const RULES = `create function rowhouse.check_super_admin(who uuid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from rowhouse.users where id = who and console_role = 'super_admin') then
    raise exception 'for a super_admin' using errcode = '${SIGNALS.superAdminNeeded}';
  end if;
end
$$;

-- The address of somebody whose account "who" may change. The Console role cannot change until the act is done.
create function rowhouse.hold_account(who uuid, person uuid) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  held rowhouse.users := rowhouse.lock_user(rowhouse.email_of(person));
begin
  if held.console_role is not null then
    perform rowhouse.check_super_admin(who);
  end if;
  return held.email;
end
$$;
`;

/** Of a row of `rowhouse.users`. */
const PERSON = `id, email, display_name as "displayName", console_role as "consoleRole",
      password_hash is not null as "hasPassword",
      exists (select from rowhouse.provider_links where user_id = id) as "hasProvider",
      rowhouse.invitation_state(id) as "invitationState",
      created_at as "createdAt", disabled_at as "disabledAt"`;
const ME = "'me', rowhouse.console_visitor(who, session_shown)";
/** Of a list that is searched by address and name; `search` is in lower case. */
const IS_FOUND = "(strpos(email, search) > 0 or strpos(lower(display_name), search) > 0)";

const READS = [
  // People by address. What is counted is counted of those who are shown only.
  defineConsoleFunction({
    name: "console_list_people",
    takes: "search text, after_email text, most integer",
    returns: "jsonb",
    body: `return jsonb_build_object(${ME}, 'invited', (select count(*) from rowhouse.invitations), 'people', (select coalesce(jsonb_agg(to_jsonb(listed) order by email), '[]') from (
    select ${PERSON}, (select count(*) from rowhouse.grants where user_id = found.id) as apps,
      (select max(last_seen_at) from rowhouse.sessions where user_id = found.id) as "lastSeenAt"
    from (select * from rowhouse.users where email > after_email and ${IS_FOUND} order by email limit most) as found
  ) as listed));`,
  }),
  // A person with roles on apps after a slug, or on one app, and the sessions that can be used, latest first.
  defineConsoleFunction({
    name: "console_show_person",
    takes: "person uuid, of_app text, after_slug text, most integer",
    returns: "jsonb",
    declares: "mail text := rowhouse.email_of(person);",
    body: `return jsonb_build_object(${ME},
    'person', (select to_jsonb(shown) from (
      select ${PERSON},
        (select expires_at from rowhouse.password_links where user_id = person and expires_at > now()) as "linkEndsAt",
        exists (select from rowhouse.totp_factors where user_id = person) as "hasTotp",
        (select count(*) from rowhouse.passkeys where user_id = person) as passkeys,
        (select count(*) from rowhouse.recovery_codes where user_id = person) as "recoveryCodes",
        encode(email_digest, 'hex') as "addressDigest", email_secret_id as "addressSecretId",
        rowhouse.is_last_super_admin(users) as "isLast", rowhouse.describe_invitation(person) as invitation
      from rowhouse.users where email = mail) as shown),
    'grants', (select coalesce(jsonb_agg(to_jsonb(given) order by app), '[]') from (
      select slug as app, role, granted_at as "grantedAt", provider, apps.disabled_at is not null as "isDisabled"
      from rowhouse.grants join rowhouse.apps on apps.id = app_id
      where user_id = person and slug > after_slug and (of_app is null or slug = of_app) order by slug limit most) as given),
    'sessions', (select coalesce(jsonb_agg(to_jsonb(live) order by live."lastSeenAt" desc, live.id), '[]') from (
      select id, device, address, created_at as "createdAt", last_seen_at as "lastSeenAt", expires_at as "expiresAt",
        id in (select split_part(text, '.', 1) from unnest(string_to_array(session_shown, ',')) as text) as "isMine"
      from rowhouse.sessions
      where user_id = person and expires_at > now() and last_seen_at > now() - make_interval(secs => idle_s)
      order by last_seen_at desc, id limit 100) as live));`,
  }),
  // Who was invited and cannot sign in yet, by address.
  defineConsoleFunction({
    name: "console_list_invitations",
    takes: "search text, after_email text, most integer",
    returns: "jsonb",
    body: `return jsonb_build_object(${ME}, 'invited', (select count(*) from rowhouse.invitations),
    'invitations', rowhouse.list_invitations(search, after_email, most));`,
  }),
  // Who has which role on an app, by address, and how many have one on every app.
  defineConsoleFunction({
    name: "console_list_app_people",
    takes: "app_slug text, search text, after_email text, most integer",
    returns: "jsonb",
    declares: "app uuid := rowhouse.find_app(app_slug);",
    body: `return jsonb_build_object(${ME},
    'isDisabled', (select disabled_at is not null from rowhouse.apps where id = app),
    'administrators', (select count(*) from rowhouse.users where console_role is not null and disabled_at is null),
    'people', (select coalesce(jsonb_agg(to_jsonb(listed) order by email), '[]') from (
      select ${PERSON}, role, granted_at as "grantedAt", provider
      from rowhouse.grants join rowhouse.users on id = user_id
      where app_id = app and email > after_email and ${IS_FOUND} order by email limit most) as listed));`,
  }),
];

const LINK = "link_id text, proof bytea, link_secret_id text, ends_at timestamptz";

const ACTS = [
  // What became of it: see rowhouse.invite.
  defineConsoleFunction({
    name: "console_invite",
    takes: `new_id uuid, mail text, mail_digest bytea, new_name text, new_console_role text, ${LINK}, app_slug text, new_role text`,
    returns: "text",
    isSensitive: true,
    body: `if new_console_role is not null then
    perform rowhouse.check_super_admin(who);
  end if;
  return rowhouse.invite(new_id, mail, mail_digest, new_name, new_console_role, link_id, proof, link_secret_id, ends_at,
    app_slug, new_role, who::text);`,
  }),
  // "mailed" or "made"; null where nobody waits for it.
  defineConsoleFunction({
    name: "console_resend_invitation",
    takes: `person uuid, ${LINK}`,
    returns: "text",
    isSensitive: true,
    body: `return rowhouse.resend_invitation(
    rowhouse.hold_account(who, person), link_id, proof, link_secret_id, ends_at, who::text);`,
  }),
  // Whether there was one.
  defineConsoleFunction({
    name: "console_withdraw_invitation",
    takes: "person uuid",
    returns: "boolean",
    isSensitive: true,
    body: "return rowhouse.withdraw_invitation(rowhouse.hold_account(who, person), who::text);",
  }),
  // Whether it is mailed.
  defineConsoleFunction({
    name: "console_make_password_link",
    takes: `person uuid, ${LINK}`,
    returns: "boolean",
    isSensitive: true,
    body: `return rowhouse.make_password_link(
    rowhouse.hold_account(who, person), link_id, proof, link_secret_id, ends_at, who::text);`,
  }),
  defineConsoleFunction({
    name: "console_set_console_role",
    takes: "person uuid, new_role text",
    isSensitive: true,
    body: `perform rowhouse.check_super_admin(who);
  perform rowhouse.set_console_role(rowhouse.email_of(person), new_role, who::text);`,
  }),
  defineConsoleFunction({
    name: "console_set_person_disabled",
    takes: "person uuid, disabled boolean",
    isSensitive: true,
    body: "perform rowhouse.set_disabled(rowhouse.hold_account(who, person), disabled, who::text);",
  }),
  // Whether it was another address before.
  defineConsoleFunction({
    name: "console_change_email",
    takes: "person uuid, new_mail text, mail_digest bytea, mail_secret_id text",
    returns: "boolean",
    isSensitive: true,
    body: `perform rowhouse.hold_account(who, person);
  return rowhouse.change_email(person, new_mail, mail_digest, mail_secret_id, who::text);`,
  }),
  // Whether there was a role to take away.
  defineConsoleFunction({
    name: "console_revoke_role",
    takes: "person uuid, app_slug text",
    returns: "boolean",
    isSensitive: true,
    body: "return rowhouse.revoke_role(rowhouse.email_of(person), app_slug, who::text);",
  }),
  // All sessions of a person, or one: how many.
  defineConsoleFunction({
    name: "console_end_sessions",
    takes: "person uuid, session_id text",
    returns: "integer",
    isSensitive: true,
    declares: "mail text := rowhouse.hold_account(who, person);",
    body: `return case when session_id is null then rowhouse.end_sessions(mail, who::text)
    else rowhouse.end_session(mail, session_id, who::text)::integer end;`,
  }),
  defineConsoleFunction({
    name: "console_reset_second_factor",
    takes: "person uuid",
    isSensitive: true,
    body: "perform rowhouse.reset_second_factor(rowhouse.hold_account(who, person), who::text);",
  }),
  defineConsoleFunction({
    name: "console_delete_person",
    takes: "person uuid",
    isSensitive: true,
    body: "perform rowhouse.delete_user(rowhouse.hold_account(who, person), who::text);",
  }),
];

export const CONSOLE_PEOPLE = [RULES, ...READS, ...ACTS].join("");
