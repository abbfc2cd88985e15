/** `/login` and `/sign-out`: a person's own page, with the apps that they may open and the ways to sign out. @module */
import {
  endSessions,
  endSessionsEverywhere,
  type Visitor,
  type VisitorApp,
} from "../accounts/mod.ts";
import { type RequestContext, readCookies, readForm } from "../http/mod.ts";
import { answerPage, answerSeeOther, type Html, html, renderForm } from "../pages/mod.ts";
import { renderTabs } from "./account_page.ts";
import { clearPages, IDENTITY_COOKIE, readPageCookies } from "./cookies.ts";
import { checkForm, TOKEN_FIELD, toSessionToken } from "./form_token.ts";
import { type PageDeps, readSessionOfPage } from "./page_deps.ts";
import { CONSOLE_PATH, LOGIN_PATH, SIGN_OUT_PATH } from "./paths.ts";
import { answerSignIn, answerSignInForm, type SignInTarget } from "./sign_in_page.ts";

const OWN_TARGET: SignInTarget = { action: LOGIN_PATH, location: LOGIN_PATH };
const SIGNED_OUT = `${LOGIN_PATH}?signed-out=here`;
const SIGNED_OUT_EVERYWHERE = `${LOGIN_PATH}?signed-out=everywhere`;
/** What was done before the form is shown, by the value of `signed-out`. */
const REMARKS: ReadonlyMap<string | null, string> = new Map([
  ["here", "You are signed out."],
  ["everywhere", "You are signed out, here and wherever else you were signed in."],
]);

/** The apps of whoever is signed in, otherwise the form. */
export async function answerLogin(deps: PageDeps, context: RequestContext): Promise<Response> {
  const session = await readSessionOfPage(deps, context);
  if (session.visitor !== undefined)
    return answerAccount(
      deps,
      { visitor: session.visitor, apps: session.apps },
      {
        token: toSessionToken(context.request),
        hasConsole: deps.hasConsole && session.visitor.isAdministrator,
      },
    );
  return answerSignInForm(deps, context, {
    ...OWN_TARGET,
    isConflict: session.isConflict,
    remark: REMARKS.get(new URLSearchParams(context.query).get("signed-out")),
  });
}

/** The form's answer. */
export async function answerLoginForm(deps: PageDeps, context: RequestContext): Promise<Response> {
  const fields = await readForm(context.request);
  return await answerSignIn(deps, context, { target: OWN_TARGET, fields });
}

/** Ends this session, or all of this person's. @throws {Problem} forbidden */
export async function answerSignOut(
  deps: PageDeps,
  { request, address: from }: RequestContext,
): Promise<Response> {
  const fields = await readForm(request);
  // A second tab, or a second click: there is nothing left to end.
  if (readCookies(request.headers.get("cookie"), IDENTITY_COOKIE).length === 0)
    return answerSeeOther(SIGNED_OUT);
  checkForm(request, deps.identity, { fields, binding: "session" });
  const cookies = readPageCookies(request, deps.identitySecrets);
  const isEverywhere = fields.get("everywhere") === "yes";
  const presented = [cookies.session, cookies.identity].join(",");
  if (isEverywhere) await endSessionsEverywhere(deps, { ...cookies, from });
  else await endSessions(deps, { presented, from });
  return answerSeeOther(isEverywhere ? SIGNED_OUT_EVERYWHERE : SIGNED_OUT, {
    cookies: clearPages(deps.identity),
  });
}

type SignedIn = { visitor: Visitor; apps: readonly VisitorApp[] };

function answerAccount(
  deps: PageDeps,
  { visitor: { email, displayName }, apps }: SignedIn,
  { token, hasConsole }: { token: string; hasConsole: boolean },
): Response {
  const body = html`${renderTabs(deps, "Apps")}
<h1>${displayName === null ? "You are signed in" : `Hello, ${displayName}`}</h1>
<p class="lead">Signed in as <strong>${email}</strong></p>
<h2>Your apps</h2>
${apps.length === 0 ? renderNoApps() : html`<ul class="apps">${apps.map(renderApp)}</ul>`}
${hasConsole && html`<p class="more"><a href="${CONSOLE_PATH}">Open the Console</a> to administer apps and keys.</p>`}
<div class="actions">
${renderSignOut(token, { isEverywhere: false })}
${renderSignOut(token, { isEverywhere: true })}
</div>`;
  return answerPage({ title: "Your apps", body, width: "wide", scripts: ["page"] });
}

function renderNoApps(): Html {
  return html`<p class="empty">You do not have access to any app yet. Ask whoever runs the one you need.</p>`;
}

function renderApp({ slug, role, url }: VisitorApp): Html {
  const inside = html`<span class="app-mark" aria-hidden="true">${slug.charAt(0)}</span>
<span class="app-text"><span class="app-name">${slug}</span><span class="app-host">${url === null ? "has no address yet" : new URL(url).host}</span></span>
<span class="role"><span class="visually-hidden">your role: </span>${role}</span>`;
  return url === null
    ? html`<li><div class="app">${inside}</div></li>`
    : html`<li><a class="app" href="${url}/">${inside}</a></li>`;
}

function renderSignOut(token: string, { isEverywhere }: { isEverywhere: boolean }): Html {
  return renderForm({
    action: SIGN_OUT_PATH,
    token: { name: TOKEN_FIELD, value: token },
    fields: isEverywhere && html`<input type="hidden" name="everywhere" value="yes">`,
    button: isEverywhere ? "Sign out everywhere" : "Sign out",
    look: "quiet",
  });
}
