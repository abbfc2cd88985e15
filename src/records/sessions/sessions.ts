/**
 * Sessions: found by the browser's cookies, ended by sign-out. Nothing is cached, so a revocation takes effect immediately.
 * Secrets never reach these functions, only their proofs.
 *
 * @module
 */

import { call, type Database } from "../../db/mod.ts";
import { type PageCookies, toVisitor, type VisitorActor } from "../actions/action.ts";
import type { AppTargets } from "../apps/targets.ts";
import { type StoredGrant, toGrantedRole } from "../people/roles.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import type { NewSession } from "../secrets/secrets.ts";

export type SessionDeps = {
  db: Database;
  sessionIdleS: number;
  identitySecrets: IdentitySecrets;
  /** Whether people can sign in with the provider of this name. */
  hasProvider: (name: string) => boolean;
};

/** `isConflict`: the browser presented several live sessions, which count as no session. */
type Presence = { isConflict: boolean };

type Me = Presence & {
  user: IdentityUser | undefined;
  /** Whether the requested app exists and is enabled. */
  isAppKnown: boolean;
};

export type IdentityUser = {
  id: string;
  email: string;
  displayName: string | null;
  avatarUrl: string | null;
  role: string | null;
};

export type VisitorApp = { slug: string; role: string; url: string | null };
export type Visitor = {
  id: string;
  email: string;
  displayName: string | null;
  isAdministrator: boolean;
  /** The deadline for a second factor; null if none is required or the person has one. */
  factorDueAt: string | null;
  isFactorOverdue: boolean;
  /** Whether the last sign-in is recent enough for pages that require it. */
  isFresh: boolean;
};
export type PageSession = Presence & {
  visitor: Visitor | undefined;
  app: AppTargets | undefined;
  apps: VisitorApp[];
  hasMoreApps: boolean;
};

/** One app by slug, a list of apps, or neither. */
export type PageSessionOptions = { slug?: string; list?: { search: string; limit: number } };

type RoleSource = { isAdministrator: boolean; appId: string; grant: StoredGrant | null };

/**
 * A Console role makes a person admin on every app. A role from a provider's claim counts only while the provider is
 * configured: otherwise no sign-in could revoke the role.
 */
function toRole(
  { identitySecrets, hasProvider }: SessionDeps,
  userId: string,
  { isAdministrator, appId, grant }: RoleSource,
): string | undefined {
  if (isAdministrator) return "admin";
  if (grant === null) return undefined;
  const [, provider] = grant;
  if (provider !== null && !hasProvider(provider)) return undefined;
  return toGrantedRole(identitySecrets, { userId, appId }, grant);
}

/**
 * The person of these sessions, and their role on the requested app. If everyone needs a second factor, a person past the
 * deadline counts as signed out.
 */
export async function readMe(
  deps: SessionDeps,
  presented: string,
  { slug, demandsFactor }: { slug: string | undefined; demandsFactor: boolean },
): Promise<Me> {
  const [found] = await call(
    deps.db,
    "read_me",
    {
      presented,
      idle_s: deps.sessionIdleS,
      app_slug: slug,
      demands_factor: demandsFactor,
    },
    { isShort: true },
  );
  if (found === undefined) throw new Error("read_me returned no row");
  return toMe(deps, found);
}

/** Converts a row of `read_me`. */
function toMe(
  deps: SessionDeps,
  found: { live: number; is_app_known: boolean; person: unknown },
): Me {
  return {
    isConflict: found.live > 1,
    isAppKnown: found.is_app_known,
    user: found.person === null ? undefined : toUser(deps, found.person as MePerson),
  };
}

type MePerson = Omit<IdentityUser, "role"> & { on: RoleSource | null };

export function toUser(deps: SessionDeps, { on, ...person }: MePerson): IdentityUser {
  return { ...person, role: (on && toRole(deps, person.id, on)) ?? null };
}

/** The visitor of the identity pages, which require both cookies of one session, with the requested apps. */
export async function readPageSession(
  deps: SessionDeps,
  cookies: PageCookies,
  { slug, list }: PageSessionOptions = {},
): Promise<PageSession> {
  const found = await call(deps.db, "read_page_session", {
    presented: cookies.session,
    presented_identity: cookies.identity,
    idle_s: deps.sessionIdleS,
    app_slug: slug,
    app_search: list?.search,
    max_rows: (list?.limit ?? 0) + 1,
  });
  const visitor = (found.visitor ?? undefined) as Visitor | undefined;
  const listed = found.apps as (Omit<VisitorApp, "role"> & RoleSource)[];
  return {
    isConflict: found.live > 1,
    visitor,
    app: (found.app ?? undefined) as AppTargets | undefined,
    apps: listed.slice(0, list?.limit).flatMap(({ slug, url, ...on }) => {
      const role = visitor && toRole(deps, visitor.id, on);
      return role === undefined ? [] : [{ slug, role, url }];
    }),
    hasMoreApps: list !== undefined && listed.length > list.limit,
  };
}

/** Ends every session that is presented with either of its secrets. The audit log keeps an entry. */
export async function endSessions(
  deps: { db: Database },
  { presented, from }: { presented: string; from: string },
): Promise<void> {
  await call(deps.db, "sign_out", { presented, client_address: from });
}

/** Ends all sessions of the signed-in person, and the sign-ins that wait for a second factor. Requires both cookies. */
export async function endSessionsEverywhere(actor: VisitorActor): Promise<void> {
  await call(actor.db, "sign_out_everywhere", {}, { visitor: toVisitor(actor) });
}

export type SessionStart = {
  session: NewSession;
  /** Max lifetime, regardless of use. */
  sessionMaxS: number;
  /** Sessions that the browser presented: they are ended. */
  presented: string;
  /** The browser, such as `Firefox on Linux`. */
  deviceName: string;
  /** Whether this person has signed in on this device before. */
  isKnownDevice: boolean;
};

/** The arguments of every SQL function that creates a session. */
export function toSessionValues({
  session,
  sessionMaxS,
  presented,
  deviceName,
}: Omit<SessionStart, "isKnownDevice">) {
  return {
    presented,
    new_id: session.id,
    new_session_digest: session.sessionDigest,
    new_identity_digest: session.identityDigest,
    new_secret_id: session.secretId,
    max_s: sessionMaxS,
    device_name: deviceName,
  };
}

// The people of an app, for a person with a role on it. Never reads an address of another person.

export type AppPerson = {
  id: string;
  displayName: string | null;
  avatarUrl: string | null;
  role: string;
};

/** People with ids above `after`, by id. */
export type PeoplePage = { slug: string; after: string; limit: number };

type PeopleResult = Me & {
  /** `undefined` if the app does not list its people, or the person has no role on it. */
  people: AppPerson[] | undefined;
  /** The `after` of the next page; null at the end. */
  next: string | null;
};

/** The person of these sessions, as `readMe` returns it, and a page of the enabled people with a role on the app. */
export async function readPeople(
  deps: SessionDeps,
  presented: string,
  { slug, after, limit, demandsFactor }: PeoplePage & { demandsFactor: boolean },
): Promise<PeopleResult> {
  const maxRows = limit + 1;
  const [found] = await call(
    deps.db,
    "read_people",
    {
      presented,
      idle_s: deps.sessionIdleS,
      app_slug: slug,
      demands_factor: demandsFactor,
      after_id: after,
      max_rows: maxRows,
    },
    { isShort: true },
  );
  if (found === undefined) throw new Error("read_people returned no row");
  const me = toMe(deps, found);
  const listed = found.people as (Omit<AppPerson, "role"> & { on: RoleSource })[] | null;
  if (listed === null || (me.user?.role ?? null) === null)
    return { ...me, people: undefined, next: null };
  const page = listed.slice(0, limit);
  return {
    ...me,
    people: page.flatMap(({ on, ...person }) => {
      const role = toRole(deps, person.id, on);
      return role === undefined ? [] : [{ ...person, role }];
    }),
    next: listed.length > limit ? (page.at(-1)?.id ?? null) : null,
  };
}
