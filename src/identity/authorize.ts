/**
 * `/authorize`: an app sends a person here to sign in, and the person returns to one of the app's own targets. Whoever is
 * already signed in returns at once; whoever is sent here again and again is told why.
 *
 * @module
 */
import { type RequestContext, readCookies, readForm, toSetCookie } from "../http/mod.ts";
import { answerPage, answerSeeOther, html } from "../pages/mod.ts";
import { checkAuthorizeQuery, readAuthorizeQuery, toFormTargets } from "./authorize_query.ts";
import { isFactorDemanded, type PageDeps, readSessionOfPage } from "./page_deps.ts";
import { AUTHORIZE_PATH, LOGIN_PATH } from "./paths.ts";
import { readReturnTo, toAddFactor } from "./return_to.ts";
import { answerSignIn, answerSignInForm, type SignInTarget } from "./sign_in_page.ts";

/** Counts how often an app has sent its visitor back here without a pause. */
const RETURNS_COOKIE = "__Host-rowhouse_returns";
const MAX_RETURNS = 5;
const PAUSE_S = 20;

/** The form, or the way back for whoever is signed in. */
export async function answerAuthorize(deps: PageDeps, context: RequestContext): Promise<Response> {
  const authorizeQuery = readAuthorizeQuery(context.query);
  const session = await readSessionOfPage(deps, context, { slug: authorizeQuery.slug });
  const { app, href } = checkAuthorizeQuery(authorizeQuery, session.app);
  if (session.visitor !== undefined && isFactorDemanded(deps, session.visitor))
    return answerSeeOther(toAddFactor(readReturnTo(context.query)));
  if (session.visitor !== undefined) return answerReturn(context, { slug: app.slug, href });
  return answerSignInForm(deps, context, {
    ...toSignInTarget(deps, { query: context.query, slug: app.slug, href }),
    isConflict: session.isConflict,
  });
}

/** The answer to the form; the target is checked again. */
export async function answerAuthorizeForm(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const authorizeQuery = readAuthorizeQuery(context.query);
  const fields = await readForm(context.request);
  const session = await readSessionOfPage(deps, context, { slug: authorizeQuery.slug });
  const { app, href } = checkAuthorizeQuery(authorizeQuery, session.app);
  const target = toSignInTarget(deps, { query: context.query, slug: app.slug, href });
  return await answerSignIn(deps, context, { target, fields });
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
    action: `${AUTHORIZE_PATH}?${action}`,
    app: { slug, host: new URL(href).host },
    location: href,
    formTargets: toFormTargets(identity, href),
  };
}

/** Back to the app at once, unless it has just sent the same visitor several times. */
function answerReturn(
  { request }: RequestContext,
  { slug, href }: { slug: string; href: string },
): Response {
  const count = readReturns(request, slug);
  const cookie = (value: string, maxAgeS: number) =>
    toSetCookie(RETURNS_COOKIE, value, { path: "/", maxAgeS });
  if (count >= MAX_RETURNS) return answerLoop({ slug, href }, [cookie("", 0)]);
  return answerSeeOther(href, { cookies: [cookie(`${slug}.${count + 1}`, PAUSE_S)] });
}

function readReturns(request: Request, slug: string): number {
  const [value] = readCookies(request.headers.get("cookie"), RETURNS_COOKIE);
  const [, counted, count] = /^([a-z0-9-]+)\.(\d)$/.exec(value ?? "") ?? [];
  return counted === slug ? Number(count) : 0;
}

function answerLoop(
  { slug, href }: { slug: string; href: string },
  cookies: readonly string[],
): Response {
  const { host, protocol } = new URL(href);
  const body = html`
<h1>${slug} keeps sending you back</h1>
<p>You are signed in, but <strong>${slug}</strong> at ${host} does not notice, and keeps asking.</p>
<p>Usually its page is open at an address that does not receive the sign-in cookie, or your browser blocks cookies for it${protocol === "http:" && html`, or it should be opened with https`}. If this keeps happening, tell whoever runs the app.</p>
<p><a class="button button-primary" href="${href}">Try ${slug} again</a></p>
<p><a href="${LOGIN_PATH}">Your account</a></p>`;
  return answerPage({ title: "Too many redirects", body }, { status: 409, cookies });
}
