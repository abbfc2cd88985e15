/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/authorize`: an app sends a person here to sign in, and the person returns to a registered target of the app. With a
 * session, the redirect is immediate. Repeated redirects in a short time end at a page that explains the loop.
 *
 * @module
 */
import type { RequestContext } from "../../http/mod.ts";
import { redirect, respondWithMessage } from "../../pages/mod.ts";
import { checkAuthorizeQuery, readAuthorizeQuery, toFormTargets } from "../authorize_query.ts";
import { makeHostCookie } from "../cookies.ts";
import {
  isFactorDemanded,
  type PageDeps,
  readOpenVisit,
  readSessionOfPage,
} from "../page_deps.tsx";
import { PATHS } from "../paths.ts";
import { readReturnTo, toAddFactor } from "../return_to.ts";
import { type SignInTarget, signInPage } from "./page.tsx";

/** Counts redirects from one app in quick succession. */
const RETURNS = makeHostCookie("__Host-rowhouse_returns", 20);
const MAX_RETURNS = 5;

/** The sign-in form, or a redirect to the app if the person has a session. */
export async function handleAuthorize(deps: PageDeps, context: RequestContext): Promise<Response> {
  const authorizeQuery = readAuthorizeQuery(context.query);
  const session = await readSessionOfPage(deps, context, { slug: authorizeQuery.slug });
  const { app, href } = checkAuthorizeQuery(authorizeQuery, session.app);
  if (session.visitor !== undefined && isFactorDemanded(deps, session.visitor))
    return redirect(toAddFactor(readReturnTo(context.query)));
  if (session.visitor !== undefined) return redirectToApp(context, { slug: app.slug, href });
  const { isConflict } = session;
  const target = toSignInTarget(deps, { query: context.query, slug: app.slug, href });
  const visit = await readOpenVisit(deps, context);
  return await signInPage.show({ ...visit, target: { ...target, isConflict } });
}

/** The response to the form; the target is checked again. */
export async function handleAuthorizeForm(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const visit = await readOpenVisit(deps, context);
  const authorizeQuery = readAuthorizeQuery(context.query);
  const session = await readSessionOfPage(deps, context, { slug: authorizeQuery.slug });
  const { app, href } = checkAuthorizeQuery(authorizeQuery, session.app);
  const target = toSignInTarget(deps, { query: context.query, slug: app.slug, href });
  return await signInPage.submit({ ...visit, target });
}

type SignInTargetOptions = { query: string; slug: string; href: string };

function toSignInTarget(
  { identity }: PageDeps,
  { query, slug, href }: SignInTargetOptions,
): SignInTarget {
  const parameters = new URLSearchParams(query);
  const action = new URLSearchParams({
    app: slug,
    redirect_uri: parameters.get("redirect_uri") ?? "",
  });
  return {
    action: `${PATHS.authorize}?${action}`,
    app: { slug, host: new URL(href).host },
    location: href,
    formTargets: toFormTargets(identity, href),
  };
}

/** A redirect to the app, unless the app has just sent the same visitor several times. */
function redirectToApp(
  { request }: RequestContext,
  { slug, href }: { slug: string; href: string },
): Response {
  const count = readReturns(request, slug);
  if (count >= MAX_RETURNS) return respondWithLoop({ slug, href }, [RETURNS.clear()]);
  return redirect(href, { cookies: [RETURNS.set(`${slug}.${count + 1}`)] });
}

function readReturns(request: Request, slug: string): number {
  const [, counted, count] = /^([a-z0-9-]+)\.(\d)$/.exec(RETURNS.read(request) ?? "") ?? [];
  return counted === slug ? Number(count) : 0;
}

function respondWithLoop(
  { slug, href }: { slug: string; href: string },
  cookies: readonly string[],
): Response {
  const { host, protocol } = new URL(href);
  const text = (
    <>
      <p>
        You are signed in, but <strong>{slug}</strong> at {host} does not detect it and redirects
        you here again.
      </p>
      <p>
        Usually the app is open at an address that does not receive the sign-in cookie, or your
        browser blocks its cookies
        {protocol === "http:" && <>, or the app must be opened with https</>}. If this keeps
        happening, contact your administrator.
      </p>
    </>
  );
  const below = (
    <p>
      <a href={PATHS.login}>Your account</a>
    </p>
  );
  return respondWithMessage(
    {
      ...{ title: "Too many redirects", heading: `${slug} keeps redirecting you`, text, below },
      next: { name: `Try ${slug} again`, path: href },
    },
    { status: 409, cookies },
  );
}
