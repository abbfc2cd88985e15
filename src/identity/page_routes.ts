/** The routes of the identity pages. @module */
import type { Route } from "../http/mod.ts";
import { assetRoutes, brandRoute, redirect, SIGN_OUT_PATH } from "../pages/mod.ts";
import { handleAddFactor } from "./account/add_factor.tsx";
import { enterAccount, type OwnVisit } from "./account/page.tsx";
import { passkeysPage } from "./account/passkeys.tsx";
import { passwordPage } from "./account/password.tsx";
import { profilePage } from "./account/profile.tsx";
import { linksPage } from "./account/providers.tsx";
import { securityPage } from "./account/security.tsx";
import { sessionsPage } from "./account/sessions.tsx";
import { totpPage } from "./account/totp.tsx";
import { handleAuthorize, handleAuthorizeForm } from "./authorize.tsx";
import { handleLogin, handleLoginForm, handleSignOut, handleSignOutPage } from "./login.tsx";
import { handleProviderCallback } from "./oidc/callback.ts";
import { handleProviderStart } from "./oidc/start.ts";
import { type OpenVisit, type PageDeps, readOpenVisit } from "./page_deps.tsx";
import { forgotPage, setPasswordPage } from "./passwords/forgot.tsx";
import { secondFactorPage } from "./second_factor.tsx";
import { type SessionKeyDeps, sessionKeyRoute } from "./session_key.ts";
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
} from "./settings.ts";

export const pageRoutes: readonly Route<PageDeps & SessionKeyDeps>[] = [
  { method: "GET", path: "/", access: "open", handle: () => redirect(LOGIN_PATH) },
  { method: "GET", path: AUTHORIZE_PATH, access: "open", handle: handleAuthorize },
  { method: "POST", path: AUTHORIZE_PATH, access: "open", handle: handleAuthorizeForm },
  { method: "GET", path: LOGIN_PATH, access: "open", handle: handleLogin },
  { method: "POST", path: LOGIN_PATH, access: "open", handle: handleLoginForm },
  ...open(SECOND_FACTOR_PATH, secondFactorPage),
  { method: "GET", path: ADD_FACTOR_PATH, access: "open", handle: handleAddFactor },
  ...own(ACCOUNT_PATH, profilePage),
  ...own(ACCOUNT_PASSWORD_PATH, passwordPage),
  ...own(ACCOUNT_PASSKEYS_PATH, passkeysPage),
  ...own(ACCOUNT_PROVIDERS_PATH, linksPage),
  ...own(ACCOUNT_SECURITY_PATH, securityPage),
  ...own(ACCOUNT_TOTP_PATH, totpPage),
  ...own(ACCOUNT_SESSIONS_PATH, sessionsPage),
  { method: "GET", path: SIGN_OUT_PATH, access: "open", handle: handleSignOutPage },
  { method: "POST", path: SIGN_OUT_PATH, access: "open", handle: handleSignOut },
  ...open(FORGOT_PATH, forgotPage),
  ...open(SET_PASSWORD_PATH, setPasswordPage),
  { method: "GET", path: `${OIDC_PATH}/:provider`, access: "open", handle: handleProviderStart },
  {
    method: "GET",
    path: `${OIDC_PATH}/:provider/callback`,
    access: "open",
    handle: handleProviderCallback,
  },
  sessionKeyRoute,
  ...assetRoutes,
  brandRoute,
];

type FormOf<Visit> = Record<"show" | "submit", (visit: Visit) => Response | Promise<Response>>;

/** The routes of an account page and its form, which require a session. */
function own(path: string, { show, submit }: FormOf<OwnVisit>): Route<PageDeps>[] {
  return [
    { method: "GET", path, access: "open", handle: enterAccount(show) },
    { method: "POST", path, access: "open", handle: enterAccount(submit) },
  ];
}

/** The routes of a page and its form, which require no session. */
function open(path: string, page: FormOf<OpenVisit>): Route<PageDeps>[] {
  return (["GET", "POST"] as const).map((method) => ({
    method,
    path,
    access: "open",
    handle: async (deps, context) =>
      await page[method === "GET" ? "show" : "submit"](await readOpenVisit(deps, context)),
  }));
}
