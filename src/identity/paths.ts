/** The paths of the endpoints and the pages. @module */

/** Prefix of the identity endpoints, which respond with JSON. */
export const AUTH_PATH = "/v1/auth/";
export const ME_PATH = `${AUTH_PATH}me`;
export const PEOPLE_PATH = `${AUTH_PATH}people`;
export const LOGOUT_PATH = `${AUTH_PATH}logout`;

/** Exchanges a session for a person's key, on the host of the pages. */
export const SESSION_KEY_PATH = "/session-key";

/** The pages; the Console has others below its prefix. */
export const PATHS = {
  authorize: "/authorize",
  login: "/login",
  passkeys: "/account/security/passkeys",
  password: "/account/password",
  /** A person's accounts at providers. */
  linked: "/account/linked",
  sessions: "/account/sessions",
  /** Adds an authenticator app. */
  totp: "/account/security/app",
  /** A person's second factor. */
  security: "/account/security",
  account: "/account",
  /** Asks people to add a second factor. */
  addFactor: "/add-second-factor",
  /** The second step of a sign-in. */
  secondFactor: "/second-factor",
  forgot: "/forgot",
  setPassword: "/set-password",
  consoleSignIn: "/console/sign-in",
} as const;
/** The account page after a password was set. */
export const PASSWORD_SET = `${PATHS.login}?done=password`;

/** Prefix of the start and callback paths of each provider. */
export const OIDC_PATH = "/oidc";

/** Prefix of the Console's pages, which receive the same cookies. */
export const CONSOLE_PATH = "/console";

/** Paths and all their parents, with and without a final slash: every path where a cookie for them can be set. */
export function withParents(paths: readonly string[]): string[] {
  const all = paths.flatMap((path) => {
    const parts = path.split("/").slice(1, -1);
    const above = parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
    return ["/", ...above.flatMap((parent) => [parent, `${parent}/`]), path];
  });
  return [...new Set(all)];
}
