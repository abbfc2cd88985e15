/** @jsxImportSource #html @jsxRuntime automatic */
/** Dependencies of the identity pages, and their session lookup. @module */

import type { Database } from "../db/mod.ts";
import { type RequestContext, readForm } from "../http/mod.ts";
import type { Log } from "../observe.ts";
import {
  type FormFields,
  type FormPage,
  type FormVisit,
  makeFormPage,
  type NoFields,
  renderHeading,
  respondWithPage,
  TOKEN_FIELD,
} from "../pages/mod.ts";
import { type IdentitySecrets, makeSession } from "../records/secrets/mod.ts";
import {
  type FactorRule,
  makePending,
  type PageSession,
  type PageSessionOptions,
  readPageSession,
  toDeviceName,
  type Visitor,
} from "../records/sessions/mod.ts";
import type { RandomBytes } from "../std/random_text.ts";
import { hasIdentityCookie, readPageCookies, readPresented } from "./cookies.ts";
import { checkForm, type FormBinding, makeFormToken, toSessionToken } from "./form_token.ts";
import type { Hashing } from "./passwords/password.ts";
import type { Providers } from "./providers.ts";
import type { IdentitySettings } from "./settings.ts";

export type PageDeps = {
  db: Database;
  identity: IdentitySettings;
  hasConsole: boolean;
  /** Whether emails can be sent. */
  hasMail: boolean;
  identitySecrets: IdentitySecrets;
  hashing: Hashing;
  randomBytes: RandomBytes;
  /** OpenID Connect providers for sign-in. */
  providers: Providers;
  log: Log;
  makeId: () => string;
  /** Milliseconds since 1970. */
  now: () => number;
};

/** The visitor, by both cookies, and the requested apps, in one statement. */
export function readSessionOfPage(
  { db, identity, identitySecrets, providers }: PageDeps,
  { request }: RequestContext,
  options?: PageSessionOptions,
): Promise<PageSession> {
  return readPageSession(
    {
      db,
      identitySecrets,
      sessionIdleS: identity.sessionIdleS,
      hasProvider: (name) => providers.find(name) !== undefined,
    },
    readPageCookies(request, identitySecrets),
    options,
  );
}

/** The person of a request for the calls that authenticate by both cookies. */
export function toActor(
  { identity, identitySecrets }: PageDeps,
  { request, address }: RequestContext,
) {
  const cookies = { ...readPageCookies(request, identitySecrets), from: address };
  return { sessionIdleS: identity.sessionIdleS, cookies };
}

type PageFormOptions = {
  binding: FormBinding;
  maxBytes?: number;
  /** Whether a script sends the token in a header. The body stays unread. */
  isScript?: boolean;
};

/** The header with the token of a request that a script of the pages sends, and of the responses that give it to the script. */
export const TOKEN_HEADER = "form-token";

/**
 * The sent form of a page, empty for GET, and the token for the page's forms, with the cookie that it is bound to.
 *
 * @throws {FormRejected} another site sent the form, or the form token is invalid
 */
export async function readPageForm(
  { identity, randomBytes }: PageDeps,
  { request }: RequestContext,
  { binding, maxBytes, isScript = false }: PageFormOptions,
) {
  const proof =
    binding === "session"
      ? { token: toSessionToken(request), cookies: [] }
      : makeFormToken(request, randomBytes);
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (isRead) return { fields: new Map<string, string>(), ...proof };
  const fields = isScript
    ? new Map([[TOKEN_FIELD, request.headers.get(TOKEN_HEADER) ?? ""]])
    : await readForm(request, maxBytes);
  checkForm(request, identity, { fields, binding });
  return { fields, ...proof };
}

/** A new session of the browser, which replaces the sessions that it presents. */
export function makeSessionStart(deps: PageDeps, request: Request, userId: string) {
  return {
    session: makeSession(deps, userId),
    sessionMaxS: deps.identity.sessionMaxS,
    presented: readPresented(request, deps.identitySecrets),
    deviceName: toDeviceName(request.headers.get("user-agent")),
  };
}

/** Starts a sign-in whose session can wait for a second factor. */
export function makeSignInStart(deps: PageDeps, request: Request, userId: string) {
  return {
    ...makeSessionStart(deps, request, userId),
    pending: makePending(deps, userId),
    factorRule: toFactorRule(deps),
  };
}

/** The rule that decides who needs a second factor. */
function toFactorRule({
  identity,
  providers,
}: Pick<PageDeps, "identity" | "providers">): FactorRule {
  return identity.requireSecondFactor ?? (providers.list.length > 0 ? "console" : "default");
}

/** Whether this visitor must add a second factor before opening any other page. */
export function isFactorDemanded(
  deps: Pick<PageDeps, "identity" | "providers">,
  { isFactorOverdue }: Pick<Visitor, "isFactorOverdue">,
): boolean {
  return isFactorOverdue && toFactorRule(deps) === "all";
}

// The pages with a form for visitors without a session: the sign-in, its second factor, and the
// links that set a password.

/** A request for such a page. */
export type OpenVisit = FormVisit & {
  deps: PageDeps;
  context: RequestContext;
  /** Binds the token to the browser. */
  cookies: readonly string[];
};

/** @throws {FormRejected} another site sent the form, or its token is invalid */
export async function readOpenVisit(deps: PageDeps, context: RequestContext): Promise<OpenVisit> {
  return { deps, context, ...(await readPageForm(deps, context, { binding: "form" })) };
}

export function makeOpenForm<
  Visit extends OpenVisit,
  Content,
  Fields extends FormFields = NoFields,
>(form: Omit<FormPage<Visit, Content, Fields>, "respond">) {
  return makeFormPage({
    ...form,
    respond: (_content, { title, body, ...page }, visit) => {
      const { status, headers, formTargets = [], scripts = [], cookies = [] } = page;
      return respondWithPage(
        {
          title,
          body: (
            <>
              {renderHeading({ title, ...page })}
              {body}
            </>
          ),
          scripts: ["page", ...scripts],
          // Some pages ask a signed-in person to sign in again.
          hasSignOut: hasIdentityCookie(visit.context.request),
        },
        { status, headers, formTargets, cookies: [...visit.cookies, ...cookies] },
      );
    },
  });
}
