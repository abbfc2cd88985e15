/**
 * How every page of the Console is entered: with both cookies, by an administrator. Who is not signed in is sent to sign in
 * and back; who signed in too long ago for a sensitive act, too; anyone else is told that this is not for them, and
 * nothing else. The database decides, in the call that reads or acts.
 *
 * @module
 */
import {
  type ConsoleActor,
  ConsoleRefused,
  SecondFactorNeeded,
  type ShownCookies,
  SignInTooOld,
} from "../accounts/actions/mod.ts";
import type { RowsKey } from "../accounts/console/mod.ts";
import type { Database } from "../db/mod.ts";
import { type RequestContext, readForm, splitTarget, toTarget } from "../http/mod.ts";
import {
  ADD_FACTOR_PATH,
  CONSOLE_PATH,
  CONSOLE_SIGN_IN_PATH,
  checkForm,
  clearPlanted,
  LOGIN_PATH,
  type PageDeps,
  readPageCookies,
  readSessionOfPage,
  toSessionToken,
} from "../identity/mod.ts";
import { answerPage, answerSeeOther, html } from "../pages/mod.ts";
import { Problem } from "../problem.ts";

export type ConsolePageDeps = PageDeps & {
  /** Unset: there is no Console. */
  consoleDb: Database | undefined;
  keyPrefix: string;
  /** Sends a request to the gateway, whatever its origin; unset where the gateway's address is unknown. */
  callApi: ((request: Request) => Promise<Response>) | undefined;
  /** Keys for rows, by a digest of who uses them for what. */
  rowsKeys: Map<string, RowsKey>;
  /** Whether the list endpoint searches and sorts, as far as this process knows. */
  hasFilters: boolean;
};

/** A row may be sent back whole. */
const MAX_FORM_BYTES = 102_400;

/** A request for one page. */
export type Visit = {
  /** With the cookies, by which actions know who acts. */
  deps: ConsolePageDeps & ConsoleActor;
  cookies: ShownCookies;
  context: RequestContext;
  /** What was sent; empty for a page that is only read. */
  fields: ReadonlyMap<string, string>;
  /** For the forms of the page. */
  token: string;
};

type Handle = (visit: Visit) => Promise<Response>;

/** @throws {Problem} unknown_route — there is no Console here; forbidden — the form is not the page's own */
export function enter(
  handle: Handle,
): (deps: ConsolePageDeps, context: RequestContext) => Promise<Response> {
  return async (deps, context) => {
    const visit = await toVisit(deps, context);
    try {
      return await handle(visit);
    } catch (error) {
      if (error instanceof SignInTooOld) return answerToSignIn(context);
      if (error instanceof SecondFactorNeeded) return answerToFactor(context);
      if (error instanceof ConsoleRefused) return await answerRefused(deps, context);
      throw error;
    }
  };
}

async function toVisit(deps: ConsolePageDeps, context: RequestContext): Promise<Visit> {
  const { consoleDb, identity } = deps;
  const { request } = context;
  if (consoleDb === undefined) throw new Problem("unknown_route");
  const fields =
    request.method === "POST" ? await readForm(request, MAX_FORM_BYTES) : new Map<string, string>();
  if (request.method === "POST") checkForm(request, identity, { fields, binding: "session" });
  const cookies = { ...readPageCookies(request, deps.identitySecrets), from: context.address };
  return {
    deps: { ...deps, consoleDb, sessionIdleS: identity.sessionIdleS, cookies },
    cookies,
    context,
    fields,
    token: toSessionToken(request),
  };
}

/** To the password, and back to this page. */
export function answerToSignIn(
  { request }: RequestContext,
  cookies: readonly string[] = [],
): Response {
  const to = toTarget(splitTarget(request.url));
  return answerSeeOther(`${CONSOLE_SIGN_IN_PATH}?${new URLSearchParams({ to })}`, { cookies });
}

/** To the page that asks for a second factor, and back to this one. */
function answerToFactor({ request }: RequestContext): Response {
  const to = request.method === "GET" ? toTarget(splitTarget(request.url)) : CONSOLE_PATH;
  return answerSeeOther(`${ADD_FACTOR_PATH}?${new URLSearchParams({ to })}`);
}

async function answerRefused(deps: ConsolePageDeps, context: RequestContext): Promise<Response> {
  const { visitor } = await readSessionOfPage(deps, context);
  if (visitor === undefined)
    return answerToSignIn(context, clearPlanted(context.request, deps.identity));
  const body = html`
<h1>The Console is for administrators</h1>
<p>You are signed in as <strong>${visitor.email}</strong>, which is not an administrator account. Ask an administrator for access. Your account page lists your apps.</p>
<p><a class="button button-primary" href="${LOGIN_PATH}">Your account</a></p>`;
  return answerPage({ title: "Access denied", body }, { status: 403 });
}
