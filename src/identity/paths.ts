/** The paths of the endpoints and the pages. @module */

/** The beginning of all endpoints: everything below it answers in their form. */
export const AUTH_PATH = "/v1/auth/";
export const ME_PATH = `${AUTH_PATH}me`;
export const LOGOUT_PATH = `${AUTH_PATH}logout`;

export const AUTHORIZE_PATH = "/authorize";
export const LOGIN_PATH = "/login";
export const ACCOUNT_PATH = "/account";
export const ACCOUNT_PASSWORD_PATH = `${ACCOUNT_PATH}/password`;
/** The accounts at providers with which a person may sign in. */
export const ACCOUNT_PROVIDERS_PATH = `${ACCOUNT_PATH}/linked`;
export const ACCOUNT_SESSIONS_PATH = `${ACCOUNT_PATH}/sessions`;
/** The second factor of a person. */
export const ACCOUNT_SECURITY_PATH = `${ACCOUNT_PATH}/security`;
/** How an authenticator app is added. */
export const ACCOUNT_TOTP_PATH = `${ACCOUNT_SECURITY_PATH}/app`;
export const ACCOUNT_PASSKEYS_PATH = `${ACCOUNT_SECURITY_PATH}/passkeys`;
/** Where a sign-in goes on that waits for the second factor. */
export const SECOND_FACTOR_PATH = "/second-factor";
/** Where people are asked to add a second factor. */
export const ADD_FACTOR_PATH = "/add-second-factor";
export const SIGN_OUT_PATH = "/sign-out";
export const FORGOT_PATH = "/forgot";
export const SET_PASSWORD_PATH = "/set-password";
/** The account of a person who has just set a password. */
export const PASSWORD_SET = `${LOGIN_PATH}?done=password`;

/** Below it are, for each provider by name, where a sign-in with it starts and where it sends people back to. */
export const OIDC_PATH = "/oidc";

/** Below it are the pages of the Console, to which the same cookies are sent. */
export const CONSOLE_PATH = "/console";
export const CONSOLE_SIGN_IN_PATH = `${CONSOLE_PATH}/sign-in`;

/** Paths with all their parents, with and without a final slash: wherever a cookie for them may be set. */
export function withParents(paths: readonly string[]): string[] {
  const all = paths.flatMap((path) => {
    const parts = path.split("/").slice(1, -1);
    const above = parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
    return ["/", ...above.flatMap((parent) => [parent, `${parent}/`]), path];
  });
  return [...new Set(all)];
}
