/** The identity pages as a table. @module */
import type { Route } from "../http/mod.ts";
import { answerSeeOther, assetRoutes } from "../pages/mod.ts";
import { answerAuthorize, answerAuthorizeForm } from "./authorize.ts";
import { answerLogin, answerLoginForm, answerSignOut } from "./login.ts";
import type { PageDeps } from "./page_deps.ts";
import { answerPasswordSet, answerSetPassword, answerSetPasswordForm } from "./set_password.ts";

export const pageRoutes: readonly Route<PageDeps>[] = [
  { method: "GET", path: "/", access: "open", handle: () => answerSeeOther("/login") },
  { method: "GET", path: "/authorize", access: "open", handle: answerAuthorize },
  { method: "POST", path: "/authorize", access: "open", handle: answerAuthorizeForm },
  { method: "GET", path: "/login", access: "open", handle: answerLogin },
  { method: "POST", path: "/login", access: "open", handle: answerLoginForm },
  { method: "POST", path: "/sign-out", access: "open", handle: answerSignOut },
  { method: "GET", path: "/set-password", access: "open", handle: answerSetPassword },
  { method: "POST", path: "/set-password", access: "open", handle: answerSetPasswordForm },
  { method: "GET", path: "/password-set", access: "open", handle: answerPasswordSet },
  ...assetRoutes,
];
