/**
 * `POST /session-key?app=<slug>` on the host of the pages: exchanges both cookies of a session for a key of the person on this
 * app, with which a page reads and writes rows. Only a page of an origin that the app has registered gets one.
 *
 * The shared cookie alone opens nothing here: the browser sends it to every host of the domain, whose server can store it.
 *
 * @module
 */
import {
  checkJsonBody,
  corsHeaders,
  type RequestContext,
  type Route,
  respondWithJson,
  withCookies,
} from "../http/mod.ts";
import { Problem } from "../problem.ts";
import type { Origins } from "../records/apps/mod.ts";
import { openPersonKey } from "../records/sessions/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";
import {
  type AuthDeps,
  NO_STORE,
  readSlug,
  respondWithAuthProblem,
  toReadingDeps,
} from "./auth_routes.ts";
import { clearPlanted, readPageCookies } from "./cookies.ts";
import { OPERATIONS, type SessionKeyBody } from "./operations.ts";
import { SESSION_KEY_PATH } from "./paths.ts";

export type SessionKeyDeps = AuthDeps & { randomBytes: RandomBytes; keyPrefix: string };

export const sessionKeyRoute: Route<SessionKeyDeps> = {
  method: "POST",
  path: SESSION_KEY_PATH,
  access: "session",
  preview: "browser",
  previewed: { browser: OPERATIONS.sessionKey },
  handle: handleSessionKey,
};

async function handleSessionKey(
  deps: SessionKeyDeps,
  { request, query, address }: RequestContext,
): Promise<Response> {
  const slug = readSlug(query);
  if (slug === undefined) throw new Problem("invalid_request");
  const origin = request.headers.get("origin");
  if (origin === null || !isOriginOf(deps, origin, slug)) throw new Problem("forbidden");
  if (!SITES.has(request.headers.get("sec-fetch-site"))) throw new Problem("forbidden");
  // No form, link or image sends this type: a browser first asks whether the page may.
  checkJsonBody(request);
  const cookies = readPageCookies(request, deps.identitySecrets);
  if (cookies.session === "" || cookies.identity === "") throw new Problem("unauthenticated");
  const opened = await openPersonKey(
    { ...toReadingDeps(deps), randomBytes: deps.randomBytes, keyPrefix: deps.keyPrefix },
    {
      cookies: { ...cookies, from: address },
      slug,
      origin,
      demandsFactor: deps.identity.requireSecondFactor === "all",
    },
  );
  if (opened.isConflict) {
    const cleared = clearPlanted(request, deps.identity);
    return withCookies(respondWithAuthProblem(new Problem("unauthenticated")), cleared);
  }
  if (opened.user === undefined) throw new Problem("unauthenticated");
  if (!opened.isAppKnown) throw new Problem("unknown_app");
  if (opened.waitS !== undefined) throw new Problem("rate_limited", { retryAfterS: opened.waitS });
  if (opened.key === undefined) throw new Problem("forbidden");
  const { text: key, expiresInS } = opened.key;
  const body: SessionKeyBody = { key, expiresInS, user: opened.user };
  return respondWithJson(body, { headers: NO_STORE });
}

/** All apps are hosts of the pages' domain. Some clients do not send the header. */
const SITES: ReadonlySet<string | null> = new Set([null, "same-site", "same-origin"]);

/** Whether exactly this app has registered the origin; never `null`, the origin of sandboxed frames and files. */
function isOriginOf(
  { origins }: { origins: Origins },
  origin: string,
  slug: string | undefined,
): boolean {
  const appId = slug === undefined ? undefined : origins.findAppId(slug);
  return appId !== undefined && origin !== "null" && origins.isOf(origin, appId);
}

/** The CORS headers of this endpoint, for every status: only pages of the requested app read a response. */
export function sessionKeyCorsHeaders(
  { origins }: { origins: Origins },
  { origin, query }: { origin: string | null; query: string },
): Record<string, string> {
  const [slug, ...more] = new URLSearchParams(query).getAll("app");
  const isAllowed = origin !== null && more.length === 0 && isOriginOf({ origins }, origin, slug);
  return corsHeaders(origin, isAllowed, { credentials: true });
}
