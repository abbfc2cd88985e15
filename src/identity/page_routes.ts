/** The identity pages as a table. @module */
import type { Route } from "../http/mod.ts";
import { answerSeeOther, assetRoutes } from "../pages/mod.ts";
import { answerAuthorize, answerAuthorizeForm } from "./authorize.ts";
import { answerLogin, answerLoginForm, answerSignOut } from "./login.ts";
import type { PageDeps } from "./page_deps.ts";
import {
  AUTHORIZE_PATH,
  LOGIN_PATH,
  PASSWORD_SET_PATH,
  SET_PASSWORD_PATH,
  SIGN_OUT_PATH,
} from "./paths.ts";
import { answerPasswordSet, answerSetPassword, answerSetPasswordForm } from "./set_password.ts";

export const pageRoutes: readonly Route<PageDeps>[] = [
  { method: "GET", path: "/", access: "open", handle: () => answerSeeOther(LOGIN_PATH) },
  { method: "GET", path: AUTHORIZE_PATH, access: "open", handle: answerAuthorize },
  { method: "POST", path: AUTHORIZE_PATH, access: "open", handle: answerAuthorizeForm },
  { method: "GET", path: LOGIN_PATH, access: "open", handle: answerLogin },
  { method: "POST", path: LOGIN_PATH, access: "open", handle: answerLoginForm },
  { method: "POST", path: SIGN_OUT_PATH, access: "open", handle: answerSignOut },
  { method: "GET", path: SET_PASSWORD_PATH, access: "open", handle: answerSetPassword },
  { method: "POST", path: SET_PASSWORD_PATH, access: "open", handle: answerSetPasswordForm },
  { method: "GET", path: PASSWORD_SET_PATH, access: "open", handle: answerPasswordSet },
  ...assetRoutes,
];
