/** Identity: sessions, sign-in pages, account pages and passwords. The database grants access. @module */
export * from "./auth_routes.ts";
export {
  clearPlanted,
  DEVICE_COOKIE,
  IDENTITY_COOKIE,
  PENDING_COOKIE,
  SESSION_COOKIE,
} from "./cookies.ts";
export { FormRejected, toSessionToken } from "./form_token.ts";
export { ShortProblemBody } from "./operations.ts";
export {
  type PageDeps,
  readOpenVisit,
  readPageForm,
  readSessionOfPage,
  TOKEN_HEADER,
  toActor,
} from "./page_deps.tsx";
export { pageRoutes } from "./page_routes.ts";
export { KNOWN_PASSWORDS_FILE, toPasswordVariants } from "./passwords/known_passwords.ts";
export { type Hashing, makeHashing, setPasswordByLink } from "./passwords/password.ts";
export { AUTH_PATH, CONSOLE_PATH, PATHS, SESSION_KEY_PATH } from "./paths.ts";
export { describeProblem, type RejectedRequest, respondWithProblemPage } from "./problem_page.tsx";
export { discover, makeProviders } from "./providers.ts";
export { readConsoleReturn, toConsoleSignIn } from "./return_to.ts";
export { sessionKeyCorsHeaders } from "./session_key.ts";
export type { ProviderSettings, RoleRule } from "./settings.ts";
export { DEFAULT_SETTINGS, type IdentitySettings, isHttps, toVirtualHost } from "./settings.ts";
export { type SignInTarget, signInPage } from "./sign_in/page.tsx";
