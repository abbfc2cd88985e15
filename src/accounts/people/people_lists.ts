/** Lists of people and roles for operators. Never passwords or proofs of sessions. @module */
import { call, type Database } from "../../db/mod.ts";
import { callAsOperator } from "../actions/action.ts";
import { readEmail } from "./email.ts";
import type { InvitationState } from "./invitations.ts";
import type { ConsoleRole } from "./users.ts";

export type ListedUser = {
  id: string;
  email: string;
  displayName: string | null;
  consoleRole: ConsoleRole | null;
  hasPassword: boolean;
  /** Whether the person signs in with a provider and needs no password. */
  hasProvider: boolean;
  /** For an invited person who cannot sign in yet. */
  invitationState: InvitationState | null;
  createdAt: string;
  disabledAt: string | null;
};

/** At most `limit` people by address; starts after the address `after`, if it is set. */
export async function listUsers(
  deps: { admin: Database },
  { after = "", limit }: { after?: string; limit: number },
): Promise<{ users: ListedUser[]; hasMore: boolean }> {
  const values = { after_email: after.toLowerCase(), max_rows: limit + 1 };
  const users = (await call(deps.admin, "list_users", values)) as ListedUser[];
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
 * @throws {Problem} invalid_request — no one has this address
 */
export async function listSessions(
  deps: { admin: Database },
  text: string,
): Promise<SessionRecord[]> {
  const email = readEmail(text);
  const sessions = await callAsOperator(deps, "list_sessions", { mail: email });
  return sessions as SessionRecord[];
}

/** Wrong passwords since the last correct one. */
export type FailedSignIns = { attempts: number; lastAt: string; lastFrom: string | null };

/** A role on an app. */
export type Grant = {
  role: string;
  grantedAt: string;
  /** The provider whose claim gave the role; null: a person granted it. */
  provider: string | null;
};

export type UserView = ListedUser & {
  grants: (Grant & { app: string })[];
  sessions: SessionRecord[];
  failedSignIns: FailedSignIns | null;
};

/**
 * A person with the roles on apps, by app, the sessions that have not expired, oldest first, and failed sign-ins.
 *
 * @throws {Problem} invalid_request — no one has this address
 */
export async function showUser(deps: { admin: Database }, text: string): Promise<UserView> {
  const email = readEmail(text);
  const presented = await callAsOperator(deps, "show_user", { mail: email });
  const { person, ...rest } = presented as Omit<UserView, keyof ListedUser> & {
    person: ListedUser;
  };
  return { ...person, ...rest };
}

export type AppPeople = {
  grants: (Grant & { userId: string; email: string; disabledAt: string | null })[];
  /** The people with a Console role: admin on every app. */
  administrators: {
    userId: string;
    email: string;
    consoleRole: ConsoleRole;
    disabledAt: string | null;
  }[];
};

/**
 * People with a role on an app, by address.
 *
 * @throws {Problem} unknown_app
 */
export async function listGrants(deps: { admin: Database }, slug: string): Promise<AppPeople> {
  return (await callAsOperator(deps, "list_grants", { app_slug: slug })) as AppPeople;
}

/** The roles of people on an app. @throws {Problem} unknown_app */
export async function listAppRoles(deps: { admin: Database }, slug: string): Promise<string[]> {
  return await callAsOperator(deps, "list_app_roles", { app_slug: slug });
}

export type DevLeftovers = {
  /** Enabled people with an address under `localhost`; at most 10. */
  people: { id: string; email: string }[];
  /** Live keys with the name that dev gives, at most 10. */
  keys: { app: string; keyId: string }[];
};

/** `undefined` in a database of `rowhouse dev`. `db` is a login that reads people. */
export async function findDevLeftovers(deps: { db: Database }): Promise<DevLeftovers | undefined> {
  const found = await call(deps.db, "dev_leftovers", {});
  return (found ?? undefined) as DevLeftovers | undefined;
}
