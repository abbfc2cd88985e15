/**
 * The cookies of a session: one for every host under the cookie's domain, and one for the pages only. A sibling host can
 * plant the first cookie on any path. It can neither read nor plant the second cookie, which `__Host-` binds to this host.
 *
 * @module
 */

import * as v from "valibot";
import { readCookies, splitTarget, toSetCookie } from "../http/mod.ts";
import { SIGN_OUT_PATH } from "../pages/mod.ts";
import {
  type IdentitySecrets,
  type NewSession,
  type Sealing,
  seal,
  toPresented,
  unseal,
} from "../records/secrets/mod.ts";
import {
  type Device,
  type NewPending,
  readDevice,
  toDeviceText,
  toPendingCookieText,
} from "../records/sessions/mod.ts";
import { DAY_S } from "../std/duration.ts";
import { PENDING_LIFE_S } from "../std/limits.ts";
import type { RandomBytes } from "../std/random_text.ts";
import {
  LOGOUT_PATH,
  ME_PATH,
  OIDC_PATH,
  PATHS,
  PEOPLE_PATH,
  SESSION_KEY_PATH,
  withParents,
} from "./paths.ts";
import type { IdentitySettings } from "./settings.ts";

/** Sent to every host under `COOKIE_DOMAIN`. */
export const SESSION_COOKIE = "__Secure-rowhouse_session";
/** Sent only to the identity pages, which require both cookies. */
export const IDENTITY_COOKIE = "__Host-rowhouse_identity";
/** Whether a browser has a session, which can have ended: then pages link to the sign-out. */
export function hasIdentityCookie({ headers }: Request): boolean {
  return readCookies(headers.get("cookie"), IDENTITY_COOKIE).length > 0;
}

/** Marks a known device. Not a session: signing out does not clear it. */
export const DEVICE_COOKIE = "__Host-rowhouse_device";
/** Identifies a sign-in that waits for the second factor. Not a session. */
export const PENDING_COOKIE = "__Host-rowhouse_pending";
/** The maximum lifetime that browsers allow. */
const DEVICE_MAX_S = 400 * DAY_S;

/** Every path where a planted cookie would be sent to an endpoint or a page. */
const SESSION_PATHS = withParents([ME_PATH, PEOPLE_PATH, LOGOUT_PATH]);
const PAGE_PATHS = withParents([
  ...Object.values(PATHS),
  SESSION_KEY_PATH,
  SIGN_OUT_PATH,
  `${OIDC_PATH}/`,
]);

/** The sessions in the shared cookies, as the SQL function expects them. */
export function readSessionCookie(request: Request, secrets: IdentitySecrets): string {
  return toPresented(
    secrets,
    "session",
    readCookies(request.headers.get("cookie"), SESSION_COOKIE),
  );
}

/** Both cookies, for the pages. */
export function readPageCookies(
  request: Request,
  secrets: IdentitySecrets,
): { session: string; identity: string } {
  const header = request.headers.get("cookie");
  return {
    session: toPresented(secrets, "session", readCookies(header, SESSION_COOKIE)),
    identity: toPresented(secrets, "identity", readCookies(header, IDENTITY_COOKIE)),
  };
}

/** The sessions in both cookies, which a sign-in ends. */
export function readPresented(request: Request, secrets: IdentitySecrets): string {
  const { session, identity } = readPageCookies(request, secrets);
  return [session, identity].filter((text) => text !== "").join(",");
}

/** The `Set-Cookie` headers of a sign-in. */
export function toSessionCookies(session: NewSession, settings: IdentitySettings): string[] {
  const maxAgeS = settings.sessionMaxS;
  return [
    toSetCookie(SESSION_COOKIE, session.sessionText, {
      path: "/",
      domain: settings.cookieDomain,
      maxAgeS,
    }),
    toSetCookie(IDENTITY_COOKIE, session.identityText, { path: "/", maxAgeS }),
  ];
}

/** The `Set-Cookie` headers that clear the shared cookie from every path of the gateway's endpoints. */
export function clearSession({ cookieDomain }: IdentitySettings): string[] {
  return clear(SESSION_PATHS, cookieDomain);
}

/** The `Set-Cookie` headers that clear the shared cookie from every path of the pages, and the pages' own cookie. */
export function clearPages({ cookieDomain }: IdentitySettings): string[] {
  return [
    ...clear([...new Set([...SESSION_PATHS, ...PAGE_PATHS])], cookieDomain),
    toSetCookie(IDENTITY_COOKIE, "", { path: "/", maxAgeS: 0 }),
  ];
}

/** Request paths that are valid as a cookie's path. */
const COOKIE_PATH = /^[\w/.~%-]{1,200}$/;

/**
 * The `Set-Cookie` headers that clear cookies planted on this page's own path. The sign-in page does not receive those
 * cookies, and would redirect the visitor back to this page forever.
 */
export function clearPlanted({ headers, url }: Request, settings: IdentitySettings): string[] {
  if (readCookies(headers.get("cookie"), SESSION_COOKIE).length < 2) return [];
  const { path } = splitTarget(url);
  const own = COOKIE_PATH.test(path) ? withParents([path]) : [];
  return [...new Set([...clear(own, settings.cookieDomain), ...clearPages(settings)])];
}

function clear(paths: readonly string[], domain: string | undefined): string[] {
  return paths.map((path) => toSetCookie(SESSION_COOKIE, "", { path, domain, maxAgeS: 0 }));
}

/** A cookie of this host alone: no other host can read or plant it. Without a life, it ends with the browser's session. */
export function makeHostCookie(name: `__Host-${string}`, lifeS?: number) {
  const options = { path: "/", ...(lifeS !== undefined && { maxAgeS: lifeS }) };
  return {
    /** The `Set-Cookie` header, which replaces an earlier cookie of this browser. */
    set: (value: string): string => toSetCookie(name, value, options),
    clear: (): string => toSetCookie(name, "", { path: "/", maxAgeS: 0 }),
    /** `undefined` if it is missing or ambiguous. */
    read: ({ headers }: Request): string | undefined => {
      const [value, ...more] = readCookies(headers.get("cookie"), name);
      return more.length === 0 ? value : undefined;
    },
  };
}

const DEVICE = makeHostCookie(DEVICE_COOKIE, DEVICE_MAX_S);
const PENDING = makeHostCookie(PENDING_COOKIE, PENDING_LIFE_S);

/** The browser's known device, independent of the session. */
export function readDeviceCookie(request: Request, secrets: IdentitySecrets): Device | undefined {
  return readDevice(secrets, DEVICE.read(request) ?? "");
}

/** The `Set-Cookie` header of a device after a sign-in. */
export function markDevice(
  deps: { identitySecrets: IdentitySecrets; randomBytes: RandomBytes },
  request: Request,
  of: { userId: string; hasFactor: boolean },
): string {
  return DEVICE.set(toDeviceText(deps, readDeviceCookie(request, deps.identitySecrets), of));
}

/** The browser's pending sign-in, as the SQL function expects it; empty if there is none. */
export function readPendingCookie(request: Request, secrets: IdentitySecrets): string {
  const text = PENDING.read(request);
  return text === undefined ? "" : toPendingCookieText(secrets, text);
}

/** The `Set-Cookie` header of a pending sign-in. */
export function toPendingCookie({ text }: NewPending): string {
  return PENDING.set(text);
}

export const clearPending = PENDING.clear;

// Cookies with JSON that is sealed with the service's secret: no other host can read or plant them.

export type SealDeps = { identitySecrets: IdentitySecrets; randomBytes: RandomBytes };
export type UnsealDeps = { identitySecrets: IdentitySecrets; now: () => number };

/** Sealed without an owner: the person is unknown at this point, or part of the content. */
export function makeSealedCookie<Content extends { startedAtS: number }>({
  name,
  purpose,
  schema,
  lifeS,
}: {
  name: `__Host-${string}`;
  purpose: Sealing["purpose"];
  schema: v.GenericSchema<Content>;
  lifeS: number;
}) {
  const sealing = { purpose, owner: "" };
  const cookie = makeHostCookie(name, lifeS);
  /** `undefined` if the text was not sealed by this service and release. */
  const parse = (text: string | undefined): Content | undefined => {
    const parsed = text === undefined ? undefined : v.safeParse(schema, JSON.parse(text));
    return parsed?.success === true ? parsed.output : undefined;
  };
  return {
    set: (deps: SealDeps, content: Content): string => {
      const by = deps.identitySecrets.current;
      const sealed = seal({ by, ...sealing }, JSON.stringify(content), deps);
      return cookie.set(sealed.toString("base64url"));
    },
    clear: cookie.clear,
    /** The content; `undefined` if it is missing, ambiguous or expired. */
    read: (request: Request, { identitySecrets, now }: UnsealDeps): Content | undefined => {
      const text = cookie.read(request);
      if (text === undefined) return undefined;
      const bytes = Buffer.from(text, "base64url");
      for (const by of identitySecrets.all) {
        const content = parse(unseal({ by, ...sealing }, bytes));
        if (content !== undefined)
          return now() / 1000 - content.startedAtS < lifeS ? content : undefined;
      }
      return undefined;
    },
  };
}
