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
import { handleProviderCallback } from "./oidc/callback.ts";
import { handleProviderStart } from "./oidc/start.ts";
import { type OpenVisit, type PageDeps, readOpenVisit } from "./page_deps.tsx";
import { OIDC_PATH, PATHS } from "./paths.ts";
import { type SessionKeyDeps, sessionKeyRoute } from "./session_key.ts";
import { handleAuthorize, handleAuthorizeForm } from "./sign_in/authorize.tsx";
import { forgotPage } from "./sign_in/forgot.tsx";
import {
  handleLogin,
  handleLoginForm,
  handleSignOut,
  handleSignOutPage,
} from "./sign_in/login.tsx";
import { secondFactorPage } from "./sign_in/second_factor.tsx";
import { setPasswordPage } from "./sign_in/set_password.tsx";

export const pageRoutes: readonly Route<PageDeps & SessionKeyDeps>[] = [
  { method: "GET", path: "/", access: "open", handle: () => redirect(PATHS.login) },
  { method: "GET", path: PATHS.authorize, access: "open", handle: handleAuthorize },
  { method: "POST", path: PATHS.authorize, access: "open", handle: handleAuthorizeForm },
  { method: "GET", path: PATHS.login, access: "open", handle: handleLogin },
  { method: "POST", path: PATHS.login, access: "open", handle: handleLoginForm },
  ...open(PATHS.secondFactor, secondFactorPage),
  { method: "GET", path: PATHS.addFactor, access: "open", handle: handleAddFactor },
  ...own(PATHS.account, profilePage),
  ...own(PATHS.password, passwordPage),
  ...own(PATHS.passkeys, passkeysPage),
  ...own(PATHS.linked, linksPage),
  ...own(PATHS.security, securityPage),
  ...own(PATHS.totp, totpPage),
  ...own(PATHS.sessions, sessionsPage),
  { method: "GET", path: SIGN_OUT_PATH, access: "open", handle: handleSignOutPage },
  { method: "POST", path: SIGN_OUT_PATH, access: "open", handle: handleSignOut },
  ...open(PATHS.forgot, forgotPage),
  ...open(PATHS.setPassword, setPasswordPage),
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
