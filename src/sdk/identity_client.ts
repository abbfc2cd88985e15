/** The methods of the identity client. How it learns the session is its caller's. @module */
import { readServiceUrl } from "./service_url.ts";

/** A person, as described by the service. */
export type IdentityUser = {
  readonly id: string;
  readonly email: string;
  readonly displayName: string | null;
  readonly avatarUrl: string | null;
  /** The role in this app; null if the request named no app, or the person has no role. */
  readonly role: string | null;
};

/** A person with a role on this app, as other people with a role see them. */
export type AppPerson = {
  readonly id: string;
  readonly displayName: string | null;
  readonly avatarUrl: string | null;
  /** The role on this app. */
  readonly role: string;
};

/** Signed in with access, signed in without a role in this app, or not signed in. */
export type SessionState =
  | { readonly status: "authenticated"; readonly user: IdentityUser }
  | { readonly status: "forbidden"; readonly user: IdentityUser }
  | { readonly status: "unauthenticated"; readonly user?: never };

/** Settings of a client. */
export type IdentityClientOptions = {
  /** The URL of the gateway, such as `https://api.example.org`. */
  readonly url: string;
  /** The URL of the identity pages, such as `https://id.example.org`. */
  readonly identityUrl: string;
  /** This app's slug. */
  readonly app: string;
};

/** Settings of {@linkcode IdentityClient.requireUser}. */
export type RequireUserOptions = {
  /** The page to return to after sign-in. Default: the current page. */
  readonly redirectUri?: string | undefined;
  /** Called instead of an error if the person has no role in this app. */
  readonly onForbidden?: ((user: IdentityUser) => unknown) | undefined;
};

/** The identity client of one app. All methods can be destructured. */
export type IdentityClient = {
  /**
   * The signed-in person, or null. The request names no app, so `role` is null.
   *
   * @throws {IdentityError} for any status except 200, 401 and 403
   */
  readonly getUser: () => Promise<IdentityUser | null>;
  /** The session for this app. @throws {IdentityError} as `getUser`; 404 `unknown_app` if no app has this slug */
  readonly getSession: () => Promise<SessionState>;
  /** Whether a person is signed in, with or without access to this app. @throws {IdentityError} as `getUser` */
  readonly isAuthenticated: () => Promise<boolean>;
  /**
   * Whether the person can use this app; with `role`, whether the person has exactly that role.
   *
   * @throws {IdentityError} as `getSession`
   */
  readonly hasAccess: (role?: string) => Promise<boolean>;
  /**
   * Everyone with a role on this app, by id, for a person with a role on it; at most 1,000 people per request. An
   * administrator turns the list on for the app.
   *
   * @throws {IdentityError} 401 `unauthenticated`; 403 `forbidden`: no role, or the list is off; otherwise as `getSession`
   */
  readonly listPeople: () => Promise<AppPerson[]>;
  /**
   * The signed-in person with access to this app. Otherwise redirects to sign-in or calls `onForbidden`, and the promise
   * never settles, so the code after it does not run.
   *
   * @throws {IdentityError} as `getSession`; 403 `forbidden` without `onForbidden`
   */
  readonly requireUser: (options?: RequireUserOptions) => Promise<IdentityUser>;
  /**
   * The URL of the sign-in page that returns to `redirectUri`. Default: the current page, or the first page of its origin if
   * the service would reject the current page.
   */
  readonly loginUrl: (redirectUri?: string) => string;
  /** Opens the sign-in page. */
  readonly login: (redirectUri?: string) => void;
  /** Ends the session, then opens `redirectTo`, even if the request fails. Default: the sign-in page. */
  readonly logout: (redirectTo?: string) => Promise<void>;
};

/**
 * An error response of the service. Without a response, the client throws the error of `fetch`.
 *
 * @example
 * ```ts
 * import { IdentityError } from "rowhouse/identity";
 *
 * const error = new IdentityError(404, "unknown_app");
 * expect(error).toBeInstanceOf(Error);
 * expect([error.status, error.code]).toEqual([404, "unknown_app"]);
 * ```
 */
export class IdentityError extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The service's code; `request_failed` if the response has no code. */
  readonly code: string;

  constructor(status: number, code: string) {
    super(`The identity service returned ${status} ${code}`);
    this.name = "IdentityError";
    this.status = status;
    this.code = code;
  }
}

/** After this time, sign-out leaves the page without waiting for the response. */
const LOGOUT_LIMIT_MS = 5000;

/** A client that learns the session by `askSession`, which can ask the service by its argument. */
export function makeIdentityClient(
  options: IdentityClientOptions,
  askSession: (ask: () => Promise<SessionState>) => Promise<SessionState>,
): IdentityClient {
  const url = readServiceUrl("url", options.url);
  const identityUrl = readServiceUrl("identityUrl", options.identityUrl);
  const ofApp = `?app=${encodeURIComponent(options.app)}`;

  /** The status, and the body of 200. @throws {IdentityError} for other statuses, unless the caller expects them */
  async function ask<Body>(
    path: string,
    isBody: (body: unknown) => body is Body,
    expected: readonly number[] = [],
  ): Promise<{ status: number; body: Body | undefined }> {
    const response = await fetch(url + path, { credentials: "include" });
    const { status } = response;
    const body: unknown = await response.json().catch(() => undefined);
    if (status === 200 && isBody(body)) return { status, body };
    if (expected.includes(status)) return { status, body: undefined };
    throw new IdentityError(status, readText(body, "error") ?? "request_failed");
  }

  const askUser = (query: string) => ask(`/v1/auth/me${query}`, isUser, [401, 403]);

  async function getUser(): Promise<IdentityUser | null> {
    return (await askUser("")).body ?? null;
  }

  const getSession = () => askSession(askService);

  async function askService(): Promise<SessionState> {
    const { status, body } = await askUser(ofApp);
    if (body !== undefined) return { status: "authenticated", user: body };
    // The session may have ended between the two calls.
    const user = status === 403 ? await getUser() : null;
    return user === null ? { status: "unauthenticated" } : { status: "forbidden", user };
  }

  async function listPeople(): Promise<AppPerson[]> {
    const people: AppPerson[] = [];
    for (let after = ""; ; ) {
      const { body } = await ask(`/v1/auth/people${ofApp}${after}`, isPeoplePage);
      people.push(...(body?.people ?? []));
      if (typeof body?.next !== "string") return people;
      after = `&after=${encodeURIComponent(body.next)}`;
    }
  }

  function loginUrl(redirectUri?: string): string {
    const page = (redirectUri ?? here().href).replace(UNSAFE, encodeURIComponent);
    const isUsable = redirectUri !== undefined || !REJECTED.test(page);
    const uri = encodeURIComponent(isUsable ? page : new URL("/", page).href);
    return `${identityUrl}/authorize${ofApp}&redirect_uri=${uri}`;
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
    listPeople,
    requireUser,
    loginUrl,
    login,
    logout: async (redirectTo = `${identityUrl}/login`) => {
      // Leave even on failure: the sign-in page shows whether the session has ended.
      await endSession().catch(() => undefined);
      goTo(redirectTo);
    },
  };
}

/** The current page. @throws {TypeError} outside a browser */
function here(): Location {
  if (typeof location === "object") return location;
  throw new TypeError(
    "Cannot determine the page to return to: pass a redirectUri outside a browser",
  );
}

/** @throws {TypeError} outside a browser */
function goTo(target: string): void {
  if (typeof location !== "object")
    throw new TypeError(`Cannot redirect to ${target} outside a browser`);
  location.assign(target);
}

/** Characters that a browser does not escape in a page's URL, but the service rejects. */
const UNSAFE = /["<>\\^`{|}]/g;
/** Pages that the service does not return to: over 2,048 characters, an empty segment, an escaped delimiter. */
const REJECTED = /^.{2049}|^https?:..[^?#]*(\/\/|%(2f|5c|00|0a|0d|25))/i;

export function isUser(body: unknown): body is IdentityUser {
  return readText(body, "id") !== undefined && readText(body, "email") !== undefined;
}

type PeoplePage = { readonly people: readonly AppPerson[]; readonly next: string | null };

function isPeoplePage(body: unknown): body is PeoplePage {
  const { people, next }: { people?: unknown; next?: unknown } = Object(body);
  return Array.isArray(people) && (next === null || typeof next === "string");
}

function readText(body: unknown, key: string): string | undefined {
  const value: unknown = Object(body)[key];
  return typeof value === "string" ? value : undefined;
}
