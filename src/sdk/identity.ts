/**
 * The identity client: whether someone is signed in and may use this app, and how to sign in and out. For browsers: the
 * client neither sees nor keeps the cookie, and asks the service each time.
 *
 * @example
 * ```ts
 * import { createIdentityClient } from "rowhouse/identity";
 *
 * const identity = createIdentityClient({
 *   url: "https://api.example.org",
 *   identityUrl: "https://id.example.org",
 *   app: "wiki",
 * });
 *
 * async function start() {
 *   const user = await identity.requireUser({ onForbidden: () => console.log("Ask for access") });
 *   console.log(`Hello, ${user.displayName ?? user.email}`);
 * }
 * ```
 * @module
 */

/** A person, as the service describes them. */
export type IdentityUser = {
  readonly id: string;
  readonly email: string;
  readonly displayName: string | null;
  readonly avatarUrl: string | null;
  /** The role on this app; null if no app was asked about, or no role is granted. */
  readonly role: string | null;
};

/** Signed in and allowed, signed in without a role on this app, or not signed in. */
export type SessionState =
  | { readonly status: "authenticated"; readonly user: IdentityUser }
  | { readonly status: "forbidden"; readonly user: IdentityUser }
  | { readonly status: "unauthenticated" };

/** Where everything is. */
export type IdentityClientOptions = {
  /** The gateway, such as `https://api.example.org`. */
  readonly url: string;
  /** The identity pages, such as `https://id.example.org`. */
  readonly identityUrl: string;
  /** This app's slug. */
  readonly app: string;
};

/** Settings of {@linkcode IdentityClient.requireUser}. */
export type RequireUserOptions = {
  /** Where to come back to after sign-in. Default: the current page. */
  readonly redirectUri?: string | undefined;
  /** What to do with a person who has no role on this app, instead of an error. */
  readonly onForbidden?: ((user: IdentityUser) => unknown) | undefined;
};

/** What the app can ask. All methods can be destructured. */
export type IdentityClient = {
  /**
   * The person, or null if no one is signed in. Does not ask about an app: `role` is null.
   *
   * @throws {IdentityError} the service answered something other than 200, 401 or 403
   */
  readonly getUser: () => Promise<IdentityUser | null>;
  /**
   * Who is here, as far as this app is concerned.
   *
   * @throws {IdentityError} as `getUser`; 404 `unknown_app` if no app has this slug
   */
  readonly getSession: () => Promise<SessionState>;
  /** Whether anyone is signed in, allowed here or not. @throws {IdentityError} as `getUser` */
  readonly isAuthenticated: () => Promise<boolean>;
  /** Whether the person may use this app; with `role`, whether exactly in that role. @throws {IdentityError} as `getSession` */
  readonly hasAccess: (role?: string) => Promise<boolean>;
  /**
   * The person who may use this app. Everyone else is sent to sign-in or to `onForbidden`, and the promise never settles,
   * so that nothing after it runs.
   *
   * @throws {IdentityError} as `getSession`; 403 `forbidden` without `onForbidden`
   */
  readonly requireUser: (options?: RequireUserOptions) => Promise<IdentityUser>;
  /** The sign-in page that comes back to `redirectUri`. Default: the current page. */
  readonly loginUrl: (redirectUri?: string) => string;
  /** Goes there. */
  readonly login: (redirectUri?: string) => void;
  /** Ends the session, then goes to `redirectTo`, even where the request failed. Default: the sign-in page. */
  readonly logout: (redirectTo?: string) => Promise<void>;
};

/**
 * The service refused or failed. If no answer came at all, the error of `fetch` is thrown as it is.
 *
 * @example
 * ```ts
 * import { IdentityError } from "rowhouse/identity";
 * import { expect } from "bun:test";
 *
 * const error = new IdentityError(404, "unknown_app");
 * expect(error).toBeInstanceOf(Error);
 * expect([error.status, error.code]).toEqual([404, "unknown_app"]);
 * ```
 */
export class IdentityError extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The service's code; `request_failed` if it gave none. */
  readonly code: string;

  constructor(status: number, code: string) {
    super(`The identity service returned ${status} ${code}`);
    this.name = "IdentityError";
    this.status = status;
    this.code = code;
  }
}

/** A sign-out that takes longer than this must not keep the person on the page. */
const LOGOUT_LIMIT_MS = 5000;

/**
 * A client for one app. Creating it reads nothing and sends nothing.
 *
 * @throws {TypeError} for a `url` or `identityUrl` that cannot work
 *
 * @example
 * ```ts
 * import { createIdentityClient } from "rowhouse/identity";
 * import { expect } from "bun:test";
 *
 * const identity = createIdentityClient({
 *   url: "https://api.example.org",
 *   identityUrl: "https://id.example.org",
 *   app: "wiki",
 * });
 * expect(identity.loginUrl("https://wiki.example.org/a?b=c")).toBe(
 *   "https://id.example.org/authorize?app=wiki&redirect_uri=https%3A%2F%2Fwiki.example.org%2Fa%3Fb%3Dc",
 * );
 * ```
 */
export function createIdentityClient(options: IdentityClientOptions): IdentityClient {
  const url = readUrl("url", options.url);
  const identityUrl = readUrl("identityUrl", options.identityUrl);
  const { app } = options;

  /** The user on 200, the status on 401 and 403. */
  async function ask(query: string): Promise<IdentityUser | 401 | 403> {
    const response = await fetch(`${url}/v1/auth/me${query}`, { credentials: "include" });
    const { status } = response;
    if (status === 401 || status === 403) return status;
    const body: unknown = await response.json().catch(() => undefined);
    if (status === 200 && isUser(body)) return body;
    throw new IdentityError(status, readRefusal(body));
  }

  async function getUser(): Promise<IdentityUser | null> {
    const answer = await ask("");
    return typeof answer === "number" ? null : answer;
  }

  async function getSession(): Promise<SessionState> {
    const answer = await ask(`?app=${encodeURIComponent(app)}`);
    if (typeof answer !== "number") return { status: "authenticated", user: answer };
    // Between the two calls the session may have ended.
    const user = answer === 403 ? await getUser() : null;
    return user === null ? { status: "unauthenticated" } : { status: "forbidden", user };
  }

  function loginUrl(redirectUri = here().href): string {
    const uri = encodeURIComponent(redirectUri.replace(UNSAFE, encodeURIComponent));
    return `${identityUrl}/authorize?app=${encodeURIComponent(app)}&redirect_uri=${uri}`;
  }

  function login(redirectUri?: string): void {
    goTo(loginUrl(redirectUri));
  }

  async function requireUser(wanted: RequireUserOptions = {}): Promise<IdentityUser> {
    const session = await getSession();
    if (session.status === "authenticated") return session.user;
    if (session.status === "unauthenticated") login(wanted.redirectUri);
    else if (wanted.onForbidden === undefined) throw new IdentityError(403, "forbidden");
    else await wanted.onForbidden(session.user);
    return await new Promise<never>(() => undefined);
  }

  async function endSession(): Promise<void> {
    await fetch(`${url}/v1/auth/logout`, {
      method: "POST",
      credentials: "include",
      keepalive: true,
      signal: AbortSignal.timeout(LOGOUT_LIMIT_MS),
    });
  }

  return {
    getUser,
    getSession,
    isAuthenticated: async () => (await getUser()) !== null,
    hasAccess: async (role) => {
      const session = await getSession();
      return (
        session.status === "authenticated" && (role ?? session.user.role) === session.user.role
      );
    },
    requireUser,
    loginUrl,
    login,
    logout: async (redirectTo = `${identityUrl}/login`) => {
      // Leave even if it failed: the sign-in page shows whether the session has ended.
      await endSession().catch(() => undefined);
      goTo(redirectTo);
    },
  };
}

/** The page. @throws {TypeError} there is no browser */
function here(): Location {
  if (typeof location === "object") return location;
  throw new TypeError(
    "Cannot determine the page to return to: pass a redirectUri outside a browser",
  );
}

/** @throws {TypeError} there is no browser */
function goTo(target: string): void {
  if (typeof location !== "object")
    throw new TypeError(`Cannot redirect to ${target} outside a browser`);
  location.assign(target);
}

/** What a browser leaves unescaped in a page's address and the service takes for a trick. */
const UNSAFE = /["<>^`{|}]/g;

/** Without final slashes. @throws {TypeError} it cannot be a service's address */
function readUrl(setting: string, url: string): string {
  if (/^https?:\/\/[^\s?#@]+$/.test(url)) return url.replace(/\/+$/, "");
  throw new TypeError(`Cannot use this ${setting}: must look like https://api.example.org`);
}

function isUser(body: unknown): body is IdentityUser {
  return readText(body, "id") !== undefined && readText(body, "email") !== undefined;
}

function readRefusal(body: unknown): string {
  return readText(body, "error") ?? "request_failed";
}

function readText(body: unknown, key: string): string | undefined {
  const value: unknown = Object(body)[key];
  return typeof value === "string" ? value : undefined;
}
