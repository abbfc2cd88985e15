/** The routes of the identity pages. @module */
import type { Route } from "../http/mod.ts";
import { answerSeeOther, assetRoutes, brandRoute } from "../pages/mod.ts";
import { enterAccount } from "./account_page.ts";
import { answerPasskeys, answerPasskeysForm } from "./account_passkeys.ts";
import { answerPassword, answerPasswordForm } from "./account_password.ts";
import { answerProfile, answerProfileForm } from "./account_profile.ts";
import { answerLinks, answerLinksForm } from "./account_providers.ts";
import { answerSecurity, answerSecurityForm } from "./account_security.ts";
import { answerSessions, answerSessionsForm } from "./account_sessions.ts";
import { answerTotp, answerTotpForm } from "./account_totp.ts";
import { answerAddFactor } from "./add_factor.ts";
import { answerAuthorize, answerAuthorizeForm } from "./authorize.ts";
import { answerForgot, answerForgotForm } from "./forgot.ts";
import { answerLogin, answerLoginForm, answerSignOut } from "./login.ts";
import type { PageDeps } from "./page_deps.ts";
import {
  ACCOUNT_PASSKEYS_PATH,
  ACCOUNT_PASSWORD_PATH,
  ACCOUNT_PATH,
  ACCOUNT_PROVIDERS_PATH,
  ACCOUNT_SECURITY_PATH,
  ACCOUNT_SESSIONS_PATH,
  ACCOUNT_TOTP_PATH,
  ADD_FACTOR_PATH,
  AUTHORIZE_PATH,
  FORGOT_PATH,
  LOGIN_PATH,
  OIDC_PATH,
  SECOND_FACTOR_PATH,
  SET_PASSWORD_PATH,
  SIGN_OUT_PATH,
} from "./paths.ts";
import { answerProviderCallback } from "./provider_callback.ts";
import { answerProviderStart } from "./provider_start.ts";
import { answerSecondFactor, answerSecondFactorForm } from "./second_factor.ts";
import { answerSetPassword, answerSetPasswordForm } from "./set_password.ts";

export const pageRoutes: readonly Route<PageDeps>[] = [
  { method: "GET", path: "/", access: "open", handle: () => answerSeeOther(LOGIN_PATH) },
  { method: "GET", path: AUTHORIZE_PATH, access: "open", handle: answerAuthorize },
  { method: "POST", path: AUTHORIZE_PATH, access: "open", handle: answerAuthorizeForm },
  { method: "GET", path: LOGIN_PATH, access: "open", handle: answerLogin },
  { method: "POST", path: LOGIN_PATH, access: "open", handle: answerLoginForm },
  { method: "GET", path: SECOND_FACTOR_PATH, access: "open", handle: answerSecondFactor },
  { method: "POST", path: SECOND_FACTOR_PATH, access: "open", handle: answerSecondFactorForm },
  { method: "GET", path: ADD_FACTOR_PATH, access: "open", handle: answerAddFactor },
  ...own(ACCOUNT_PATH, { show: answerProfile, take: answerProfileForm }),
  ...own(ACCOUNT_PASSWORD_PATH, { show: answerPassword, take: answerPasswordForm }),
  ...own(ACCOUNT_PASSKEYS_PATH, { show: answerPasskeys, take: answerPasskeysForm }),
  ...own(ACCOUNT_PROVIDERS_PATH, { show: answerLinks, take: answerLinksForm }),
  ...own(ACCOUNT_SECURITY_PATH, { show: answerSecurity, take: answerSecurityForm }),
  ...own(ACCOUNT_TOTP_PATH, { show: answerTotp, take: answerTotpForm }),
  ...own(ACCOUNT_SESSIONS_PATH, { show: answerSessions, take: answerSessionsForm }),
  { method: "POST", path: SIGN_OUT_PATH, access: "open", handle: answerSignOut },
  { method: "GET", path: FORGOT_PATH, access: "open", handle: answerForgot },
  { method: "POST", path: FORGOT_PATH, access: "open", handle: answerForgotForm },
  { method: "GET", path: SET_PASSWORD_PATH, access: "open", handle: answerSetPassword },
  { method: "POST", path: SET_PASSWORD_PATH, access: "open", handle: answerSetPasswordForm },
  { method: "GET", path: `${OIDC_PATH}/:provider`, access: "open", handle: answerProviderStart },
  {
    method: "GET",
    path: `${OIDC_PATH}/:provider/callback`,
    access: "open",
    handle: answerProviderCallback,
  },
  ...assetRoutes,
  brandRoute,
];

type Handle = Parameters<typeof enterAccount>[0];

/** The routes of an account page and its form, which require a session. */
function own(path: string, { show, take }: { show: Handle; take: Handle }): Route<PageDeps>[] {
  return [
    { method: "GET", path, access: "open", handle: enterAccount(show) },
    { method: "POST", path, access: "open", handle: enterAccount(take) },
  ];
}
