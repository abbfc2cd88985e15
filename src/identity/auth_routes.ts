/**
 * `GET /v1/auth/me`, `GET /v1/auth/people` and `POST /v1/auth/logout`, called by browser apps with the shared cookie. One
 * statement each. The database decides everything: an outage signs no one in or out.
 *
 * @module
 */

import type { Database } from "../db/mod.ts";
import {
  corsHeaders,
  type RequestContext,
  type Route,
  respondEmpty,
  respondWithJson,
  withCookies,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { APP_SLUG, type Origins } from "../records/apps/mod.ts";
import type { IdentitySecrets } from "../records/secrets/mod.ts";
import { endSessions, type PeoplePage, readMe, readPeople } from "../records/sessions/mod.ts";
import { MAX_PEOPLE } from "../std/limits.ts";
import { isUuid } from "../std/patterns.ts";
import { clearSession, readSessionCookie } from "./cookies.ts";
import { OPERATIONS, type PeopleBody, type ShortProblemBody, type UserBody } from "./operations.ts";
import { LOGOUT_PATH, ME_PATH, PEOPLE_PATH } from "./paths.ts";
import type { Providers } from "./providers.ts";
import type { IdentitySettings } from "./settings.ts";

export type AuthDeps = {
  db: Database;
  origins: Origins;
  identity: IdentitySettings;
  identitySecrets: IdentitySecrets;
  providers: Pick<Providers, "find">;
};

export const NO_STORE = { "cache-control": "no-store" };

export const authRoutes: readonly Route<AuthDeps>[] = [
  { method: "GET", path: ME_PATH, access: "session", operation: OPERATIONS.me, handle: handleMe },
  {
    method: "GET",
    path: PEOPLE_PATH,
    access: "session",
    operation: OPERATIONS.people,
    handle: handlePeople,
  },
  {
    method: "POST",
    path: LOGOUT_PATH,
    access: "optional-session",
    operation: OPERATIONS.logout,
    handle: handleLogout,
  },
];

async function handleMe(deps: AuthDeps, { request, query }: RequestContext): Promise<Response> {
  const slug = readSlug(query);
  const { presented, reading, demandsFactor } = toReading(deps, request);
  const me = await readMe(reading, presented, { slug, demandsFactor });
  if (me.isConflict) return respondWithConflict(deps);
  if (me.user === undefined) throw new Problem("unauthenticated");
  if (slug !== undefined && !me.isAppKnown) throw new Problem("unknown_app");
  if (slug !== undefined && me.user.role === null) throw new Problem("forbidden");
  return respondWithJson(me.user satisfies UserBody, { headers: NO_STORE });
}

async function handlePeople(deps: AuthDeps, { request, query }: RequestContext): Promise<Response> {
  const { presented, reading, demandsFactor } = toReading(deps, request);
  const page = readPeoplePage(query);
  const me = await readPeople(reading, presented, { ...page, demandsFactor });
  if (me.isConflict) return respondWithConflict(deps);
  if (me.user === undefined) throw new Problem("unauthenticated");
  if (!me.isAppKnown) throw new Problem("unknown_app");
  if (me.people === undefined) throw new Problem("forbidden");
  const body: PeopleBody = { people: me.people, next: me.next };
  return respondWithJson(body, { headers: NO_STORE });
}

/** Reads a session. @throws {Problem} unauthenticated — without a session */
function toReading(deps: AuthDeps, request: Request) {
  const presented = readSessionCookie(request, deps.identitySecrets);
  // Without a session, no query is needed.
  if (presented === "") throw new Problem("unauthenticated");
  return {
    presented,
    reading: toReadingDeps(deps),
    demandsFactor: deps.identity.requireSecondFactor === "all",
  };
}

/** What a read of a session needs. */
export function toReadingDeps({ db, identity, identitySecrets, providers }: AuthDeps) {
  const hasProvider = (name: string) => providers.find(name) !== undefined;
  return { db, identitySecrets, sessionIdleS: identity.sessionIdleS, hasProvider };
}

/** Several live sessions count as no session. */
function respondWithConflict({ identity }: AuthDeps): Response {
  return withCookies(
    respondWithAuthProblem(new Problem("unauthenticated")),
    clearSession(identity),
  );
}

async function handleLogout(
  deps: AuthDeps,
  { request, address }: RequestContext,
): Promise<Response> {
  const origin = request.headers.get("origin");
  if (origin !== null && !isLogoutOrigin(deps, origin)) throw new Problem("forbidden");
  // All apps are same-site with the gateway; older browsers do not send this header.
  if (request.headers.get("sec-fetch-site") === "cross-site") throw new Problem("forbidden");
  const presented = readSessionCookie(request, deps.identitySecrets);
  await endSessions(deps, { presented, from: address });
  return withCookies(respondEmpty({ headers: NO_STORE }), clearSession(deps.identity));
}

/** Whether an origin can sign people out: registered origins, the pages and the gateway. */
function isLogoutOrigin({ origins, identity }: AuthDeps, origin: string): boolean {
  return (
    origins.isRegistered(origin) || origin === identity.identityUrl || origin === identity.publicUrl
  );
}

/** The `app` parameter. @throws {Problem} invalid_request — malformed or repeated */
export function readSlug(query: string): string | undefined {
  const [slug, ...more] = new URLSearchParams(query).getAll("app");
  if (more.length > 0) throw new Problem("invalid_request");
  if (slug !== undefined && !APP_SLUG.test(slug)) throw new Problem("invalid_request");
  return slug;
}

/** An id below every user's id. */
const NO_ID = "00000000-0000-0000-0000-000000000000";
const PEOPLE_PARAMETERS = ["app", "after", "limit"];

/** The requested page of people. @throws {Problem} invalid_request — a parameter is missing, wrong, unknown or repeated */
function readPeoplePage(query: string): PeoplePage {
  const slug = readSlug(query);
  const parameters = new URLSearchParams(query);
  const names = [...parameters.keys()];
  const isKnown = names.every((name) => PEOPLE_PARAMETERS.includes(name));
  const after = parameters.get("after") ?? NO_ID;
  const limit = parameters.get("limit") ?? String(MAX_PEOPLE);
  if (slug === undefined || !isKnown || new Set(names).size < names.length || !isUuid(after))
    throw new Problem("invalid_request");
  if (!/^[1-9]\d{0,8}$/.test(limit)) throw new Problem("invalid_request");
  return { slug, after: after.toLowerCase(), limit: Math.min(Number(limit), MAX_PEOPLE) };
}

/** A problem as browser apps receive it: only the code, and `request_failed` for every server error. */
export function respondWithAuthProblem(problem: Problem): Response {
  const body: ShortProblemBody = {
    error: problem.status >= 500 ? "request_failed" : problem.code,
  };
  const headers = { ...problem.headers, ...NO_STORE };
  return respondWithJson(body, { status: problem.status, headers });
}

/**
 * The CORS headers of identity endpoints, for every status. They allow the origins of the requested app, or any registered
 * origin if the app is unknown or missing. Pages of a disabled app read errors and the response to a sign-out, but no person.
 */
export function authCorsHeaders(
  { origins }: Pick<AuthDeps, "origins">,
  { origin, query, hasPerson }: { origin: string | null; query: string; hasPerson: boolean },
): Record<string, string> {
  const [slug, ...more] = new URLSearchParams(query).getAll("app");
  const appId = slug === undefined || more.length > 0 ? undefined : origins.findAppId(slug);
  const isAllowed =
    origin !== null &&
    (!hasPerson || origins.isEnabled(origin)) &&
    (appId === undefined ? origins.isRegistered(origin) : origins.isOf(origin, appId));
  return corsHeaders(origin, isAllowed, { credentials: true });
}
