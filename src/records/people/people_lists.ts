/** Lists of people and roles. Never passwords or proofs of sessions. @module */
import { call, type Database } from "../../db/mod.ts";
import { callAsOperator } from "../actions/action.ts";
import {
  type Checked,
  check,
  count,
  flag,
  many,
  oneOf,
  orNull,
  type Row,
  record,
  text,
  time,
} from "../actions/columns.ts";
import { list, type RowsOf } from "../actions/list.ts";
import { readEmail } from "./addresses.ts";
import { INVITATION, INVITATION_STATES } from "./invitations.ts";
import { CONSOLE_ROLES, type ConsoleRole } from "./people.ts";

/** A person, as every read of people describes one. */
export const PERSON = {
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
  /** Null if the person has never signed in. */
  lastSignInAt: orNull(time({ label: "last sign-in" })),
  disabledAt: orNull(time({ label: "disabled" })),
};
export type ListedUser = Row<typeof PERSON>;

export const peopleList = list({
  read: "list_people",
  name: "users",
  columns: {
    ...PERSON,
    apps: count({ title: "Apps", label: "apps" }),
    lastSignInAt: orNull(time({ label: false })),
    /** The last use of a session that exists, or else the last sign-in. */
    lastSeenAt: orNull(time({ title: "Last seen", label: "seen" })),
  },
  more: { invited: count() },
  key: "email",
  sorts: ["email", "consoleRole", "apps", "lastSeenAt"],
  ask: ({ after, limit }) => ({ search: "", after_email: after.toLowerCase(), max_rows: limit }),
});

export const sessionList = list({
  read: "list_sessions",
  name: "sessions",
  columns: {
    id: text({ title: "Session" }),
    device: orNull(text()),
    address: orNull(text({ label: "from" })),
    createdAt: time({ title: "Signed in", label: "since" }),
    lastSeenAt: time({ title: "Last seen", label: "seen" }),
    expiresAt: time({ title: "Ends", label: "until" }),
  },
  of: "email",
  ask: ({ of }) => ({ email: of, person: null, max_idle_s: null }),
});

/** Wrong passwords since the last correct one. */
export const FAILED_SIGN_INS = record({
  attempts: count(),
  lastAt: time(),
  lastFrom: orNull(text()),
});
export type FailedSignIns = Checked<typeof FAILED_SIGN_INS>;

const GRANT = {
  role: text({ title: "Role" }),
  grantedAt: time({ title: "Since", label: "since" }),
  /** The provider whose claim gave the role; null: a person granted it. */
  provider: orNull(text()),
};
export type Grant = Row<typeof GRANT>;

/** The roles of a person, as every read of a person returns them. */
export const PERSON_GRANTS = { app: text({ title: "App" }), ...GRANT, isDisabled: flag() };

/** A person with the roles on apps, by app, the live sessions, latest first, and failed sign-ins. */
export const USER_DETAILS = {
  sessions: many(record(sessionList.columns)),
  failedSignIns: orNull(FAILED_SIGN_INS),
};
const USER_VIEW = record({ ...PERSON, grants: many(record(PERSON_GRANTS)), ...USER_DETAILS });
type UserView = Checked<typeof USER_VIEW>;

/** What the Console's pages read of a person. */
export const PERSON_PAGE = {
  person: record({
    ...PERSON,
    /** When the unused password link expires. */
    linkEndsAt: orNull(time()),
    invitation: orNull(record(INVITATION)),
    /** Whether the person has an authenticator app. */
    hasTotp: flag(),
    passkeys: count(),
    /** Remaining codes. */
    recoveryCodes: count(),
    failedSignIns: orNull(FAILED_SIGN_INS),
    /** Whether the person is the only super_admin who can sign in. */
    isLast: flag(),
    addressDigest: orNull(text()),
    addressSecretId: orNull(text()),
  }),
  grants: many(record(PERSON_GRANTS)),
  /** The latest 100 live sessions. */
  sessions: many(record(sessionList.columns)),
};
type StoredPage = Row<typeof PERSON_PAGE>;
export type PersonPage = Omit<StoredPage, "person"> & {
  me: { id: string; role: ConsoleRole };
  person: Omit<StoredPage["person"], "addressDigest" | "addressSecretId"> & {
    /** Whether this service set the address and so sends links to it. */
    isConfirmed: boolean;
  };
};

export function toPersonName({
  displayName,
  email,
}: Pick<ListedUser, "displayName" | "email">): string {
  const name = displayName ?? email;
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}

/** @throws {Problem} invalid_request — no one has this address */
export async function showUser(deps: { admin: Database }, address: string): Promise<UserView> {
  const values = { email: readEmail(address) };
  return check(USER_VIEW, await callAsOperator(deps, "show_user", values), "show_user");
}

const { email, id, displayName, ...REST } = PERSON;
/** The people with a role on an app, and those with a Console role, which is admin on every app. */
export const appPeopleList = list({
  read: "list_app_people",
  name: "grants",
  columns: {
    email,
    id,
    displayName,
    role: GRANT.role,
    provider: GRANT.provider,
    ...REST,
    consoleRole: orNull(oneOf(CONSOLE_ROLES)),
    createdAt: time({ label: false }),
    lastSignInAt: orNull(time({ label: false })),
    grantedAt: GRANT.grantedAt,
  },
  more: {
    isDisabled: flag(),
    administrators: many(
      record({ id, email, consoleRole: oneOf(CONSOLE_ROLES), disabledAt: PERSON.disabledAt }),
    ),
  },
  of: "app",
  key: "email",
  ask: ({ of, after, limit }) => ({
    ...{ app_slug: of, search: "", after_email: after.toLowerCase(), max_rows: limit },
  }),
});
export type AppPerson = RowsOf<typeof appPeopleList>;

export const APP_ROLES = record({ roles: many(text()) });

/** The roles of people on an app. @throws {Problem} unknown_app */
export async function listAppRoles(deps: { admin: Database }, slug: string): Promise<string[]> {
  const found = await callAsOperator(deps, "list_app_roles", { app_slug: slug });
  return check(APP_ROLES, found, "list_app_roles").roles;
}

export const DEV_LEFTOVERS = record({
  /** Enabled people with an address under `localhost`; at most 10. */
  people: many(record({ id, email })),
  /** Live keys with the name that dev gives, at most 10. */
  keys: many(record({ app: text(), keyId: text() })),
});
export type DevLeftovers = Checked<typeof DEV_LEFTOVERS>;

/** `undefined` in a database of `rowhouse dev`. `db` is a login that reads people. */
export async function findDevLeftovers(deps: { db: Database }): Promise<DevLeftovers | undefined> {
  const found = await call(deps.db, "dev_leftovers", {});
  return check(orNull(DEV_LEFTOVERS), found, "dev_leftovers") ?? undefined;
}
