/** Who there is, and who may open what: for operators to read. Shows neither passwords nor what proves a session. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import { readEmail } from "./email.ts";
import type { InvitationState } from "./invitations.ts";
import { unknownApp } from "./keys.ts";
import { type ConsoleRole, unknownUser } from "./users.ts";
import { toUtcText } from "./utc_text.ts";

export type ListedUser = {
  id: string;
  email: string;
  displayName: string | null;
  consoleRole: ConsoleRole | null;
  hasPassword: boolean;
  hasProvider: boolean;
  /** Of whoever was invited and cannot sign in yet. */
  invitationState: InvitationState | null;
  createdAt: string;
  disabledAt: string | null;
};

/** Of a row of `rowhouse.users`. */
const USER = `'id', users.id, 'email', users.email, 'displayName', users.display_name, 'consoleRole', users.console_role,
  'hasPassword', users.password_hash is not null,
  'hasProvider', exists (select from rowhouse.provider_links where user_id = users.id),
  'invitationState', rowhouse.invitation_state(users.id), 'createdAt', ${toUtcText("users.created_at")}, 'disabledAt', ${toUtcText("users.disabled_at")}`;

/** People by address: at most `limit`, those after an address if one is given. */
export async function listUsers(
  deps: { admin: Database },
  { after = "", limit }: { after?: string; limit: number },
): Promise<{ users: ListedUser[]; hasMore: boolean }> {
  const [row] = await deps.admin.query<{ users: string }>(
    `select coalesce(json_agg(json_build_object(${USER}) order by email), '[]')::text as users from (
      select * from rowhouse.users where email > $1 order by email limit $2::int4 + 1) as users`,
    [after.toLowerCase(), limit],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const users = JSON.parse(row?.users ?? "[]") as ListedUser[];
  return { users: users.slice(0, limit), hasMore: users.length > limit };
}

export type SessionRecord = {
  id: string;
  createdAt: string;
  lastSeenAt: string;
  expiresAt: string;
};

/**
 * The sessions of a person that have not expired.
 *
 * @throws {Problem} invalid_request — nobody has this address
 */
export async function listSessions(
  deps: { admin: Database },
  text: string,
): Promise<SessionRecord[]> {
  const email = readEmail(text);
  const [row] = await deps.admin.query<{ sessions: string }>(
    `select (select coalesce(json_agg(json_build_object('id', sessions.id, 'createdAt', sessions.created_at,
        'lastSeenAt', sessions.last_seen_at, 'expiresAt', sessions.expires_at) order by sessions.created_at), '[]')
      from rowhouse.sessions where user_id = users.id and expires_at > now())::text as sessions
    from rowhouse.users where email = $1`,
    [email],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw unknownUser(email);
  return JSON.parse(row.sessions) as SessionRecord[];
}

export type ShownUser = ListedUser & {
  /** `provider` is whose claim gave the role; null: a person did. */
  grants: { app: string; role: string; grantedAt: string; provider: string | null }[];
  sessions: SessionRecord[];
};

/**
 * A person with the roles on apps, by app, and the sessions that have not expired, oldest first.
 *
 * @throws {Problem} invalid_request — nobody has this address
 */
export async function showUser(deps: { admin: Database }, text: string): Promise<ShownUser> {
  const email = readEmail(text);
  const [row] = await deps.admin.query<{ person: string }>(
    `select json_build_object(${USER},
      'grants', (select coalesce(json_agg(json_build_object('app', slug, 'role', role,
          'grantedAt', ${toUtcText("granted_at")}, 'provider', provider) order by slug), '[]')
        from rowhouse.grants join rowhouse.apps on apps.id = app_id where user_id = users.id),
      'sessions', (select coalesce(json_agg(json_build_object('id', sessions.id,
          'createdAt', ${toUtcText("sessions.created_at")}, 'lastSeenAt', ${toUtcText("last_seen_at")},
          'expiresAt', ${toUtcText("expires_at")}) order by sessions.created_at), '[]')
        from rowhouse.sessions where user_id = users.id and expires_at > now()))::text as person
    from rowhouse.users where email = $1`,
    [email],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw unknownUser(email);
  return JSON.parse(row.person) as ShownUser;
}

export type AppPeople = {
  grants: {
    userId: string;
    email: string;
    role: string;
    grantedAt: string;
    /** Whose claim gave the role; null: a person did. */
    provider: string | null;
    disabledAt: string | null;
  }[];
  /** Whom a Console role makes admin on every app. */
  administrators: {
    userId: string;
    email: string;
    consoleRole: ConsoleRole;
    disabledAt: string | null;
  }[];
};

/**
 * Who may open an app, by address.
 *
 * @throws {Problem} unknown_app
 */
export async function listGrants(deps: { admin: Database }, slug: string): Promise<AppPeople> {
  const [row] = await deps.admin.query<{ people: string }>(
    `select json_build_object(
      'grants', (select coalesce(json_agg(json_build_object('userId', users.id, 'email', email, 'role', role,
          'grantedAt', ${toUtcText("granted_at")}, 'provider', provider, 'disabledAt', ${toUtcText("users.disabled_at")}) order by email), '[]')
        from rowhouse.grants join rowhouse.users on users.id = user_id where app_id = apps.id),
      'administrators', (select coalesce(json_agg(json_build_object('userId', users.id, 'email', email,
          'consoleRole', console_role, 'disabledAt', ${toUtcText("users.disabled_at")}) order by email), '[]')
        from rowhouse.users where console_role is not null))::text as people
    from rowhouse.apps where slug = $1`,
    [slug],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (row === undefined) throw unknownApp(slug);
  return JSON.parse(row.people) as AppPeople;
}
