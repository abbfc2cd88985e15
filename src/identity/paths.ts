/** The paths of the endpoints and the pages. @module */

/** Prefix of the identity endpoints, which respond with JSON. */
export const AUTH_PATH = "/v1/auth/";
export const ME_PATH = `${AUTH_PATH}me`;
export const PEOPLE_PATH = `${AUTH_PATH}people`;
export const LOGOUT_PATH = `${AUTH_PATH}logout`;

export const AUTHORIZE_PATH = "/authorize";
export const LOGIN_PATH = "/login";
export const ACCOUNT_PATH = "/account";
export const ACCOUNT_PASSWORD_PATH = `${ACCOUNT_PATH}/password`;
/** A person's linked accounts at providers. */
export const ACCOUNT_PROVIDERS_PATH = `${ACCOUNT_PATH}/linked`;
export const ACCOUNT_SESSIONS_PATH = `${ACCOUNT_PATH}/sessions`;
/** A person's second factor. */
export const ACCOUNT_SECURITY_PATH = `${ACCOUNT_PATH}/security`;
/** Adds an authenticator app. */
export const ACCOUNT_TOTP_PATH = `${ACCOUNT_SECURITY_PATH}/app`;
export const ACCOUNT_PASSKEYS_PATH = `${ACCOUNT_SECURITY_PATH}/passkeys`;
/** The second step of a sign-in. */
export const SECOND_FACTOR_PATH = "/second-factor";
/** Asks people to add a second factor. */
export const ADD_FACTOR_PATH = "/add-second-factor";
export const FORGOT_PATH = "/forgot";
export const SET_PASSWORD_PATH = "/set-password";
/** The account page after a password was set. */
export const PASSWORD_SET = `${LOGIN_PATH}?done=password`;

/** Prefix of the start and callback paths of each provider. */
export const OIDC_PATH = "/oidc";

/** Prefix of the Console's pages, which receive the same cookies. */
export const CONSOLE_PATH = "/console";
export const CONSOLE_SIGN_IN_PATH = `${CONSOLE_PATH}/sign-in`;

/** Paths and all their parents, with and without a final slash: every path where a cookie for them can be set. */
export function withParents(paths: readonly string[]): string[] {
  const all = paths.flatMap((path) => {
    const parts = path.split("/").slice(1, -1);
    const above = parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
    return ["/", ...above.flatMap((parent) => [parent, `${parent}/`]), path];
  });
  return [...new Set(all)];
}
