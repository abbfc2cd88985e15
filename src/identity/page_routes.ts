/** The identity pages as a table. @module */
import type { Route } from "../http/mod.ts";
import { answerSeeOther, assetRoutes } from "../pages/mod.ts";
import { answerAuthorize, answerAuthorizeForm } from "./authorize.ts";
import { answerLogin, answerLoginForm, answerSignOut } from "./login.ts";
import type { PageDeps } from "./page_deps.ts";
import { answerPasswordSet, answerSetPassword, answerSetPasswordForm } from "./set_password.ts";

const OPEN = { kind: "open" } as const;

export const pageRoutes: readonly Route<PageDeps>[] = [
  { method: "GET", path: "/", access: OPEN, handle: () => answerSeeOther("/login") },
  { method: "GET", path: "/authorize", access: OPEN, handle: answerAuthorize },
  { method: "POST", path: "/authorize", access: OPEN, handle: answerAuthorizeForm },
  { method: "GET", path: "/login", access: OPEN, handle: answerLogin },
  { method: "POST", path: "/login", access: OPEN, handle: answerLoginForm },
  { method: "POST", path: "/sign-out", access: OPEN, handle: answerSignOut },
  { method: "GET", path: "/set-password", access: OPEN, handle: answerSetPassword },
  { method: "POST", path: "/set-password", access: OPEN, handle: answerSetPasswordForm },
  { method: "GET", path: "/password-set", access: OPEN, handle: answerPasswordSet },
  ...assetRoutes,
];
