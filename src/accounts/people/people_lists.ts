/** Lists of people and roles. Never passwords or proofs of sessions. @module */
import { call, type Database } from "../../db/mod.ts";
import { callAsOperator } from "../actions/action.ts";
import { count, flag, oneOf, orNull, type Row, text, time } from "../actions/columns.ts";
import { list } from "../actions/list.ts";
import { readEmail } from "./email.ts";
import { INVITATION_STATES } from "./invitations.ts";
import { CONSOLE_ROLES, type ConsoleRole } from "./users.ts";

/** A person, as every read of people describes one. */
const PERSON = {
  email: text({ title: "Person" }),
  id: text(),
  displayName: orNull(text()),
  hasPassword: flag(),
  /** Whether the person signs in with a provider and needs no password. */
  hasProvider: flag(),
  /** For an invited person who cannot sign in yet. */
  invitationState: orNull(oneOf(INVITATION_STATES, { title: "State" })),
  consoleRole: orNull(oneOf(CONSOLE_ROLES, { title: "Console" })),
  createdAt: time({ label: "since" }),
  disabledAt: orNull(time({ label: "disabled" })),
};
export type ListedUser = Row<typeof PERSON>;

/** How the person can sign in. */
function describeSignIn({ hasPassword, hasProvider, invitationState }: ListedUser): string {
  if (invitationState !== null) return `invitation ${invitationState}`;
  if (hasProvider) return "signs in with a provider";
  return hasPassword ? "" : "no password yet";
}

export const peopleList = list({
  read: "list_people",
  name: "users",
  columns: {
    ...PERSON,
    apps: count({ title: "Apps", label: "apps" }),
    /** The last use of a live session. */
    lastSeenAt: orNull(time({ title: "Last seen", label: "seen" })),
  },
  more: { invited: count() },
  key: "email",
  ask: ({ after, limit }) => ({ search: "", after_email: after.toLowerCase(), max_rows: limit }),
  lines: { invitationState: describeSignIn },
});

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
