/**
 * `/set-password`: a link sets a password once, signs the person in, and continues to the app that is stored with the link.
 * It also accepts an invitation. Opening the page does not use up the link, so link previews do no harm.
 *
 * @module
 */
import { findPasswordLink, type PasswordLink } from "../accounts/people/mod.ts";
import { signInByLink } from "../accounts/sessions/mod.ts";
import { type RequestContext, readForm } from "../http/mod.ts";
import { type Html, html, renderForm, respondWithPage } from "../pages/mod.ts";
import { renderEmailField } from "./account_fields.ts";
import { toFormTargets } from "./authorize_query.ts";
import { readDeviceCookie } from "./cookies.ts";
import { checkForm, makeFormToken } from "./form_token.ts";
import {
  findNewPasswordIssues,
  type NewPasswordIssues,
  readNewPassword,
  renderNewPasswordFields,
} from "./new_password_fields.ts";
import { makeSignInStart, type PageDeps } from "./page_deps.ts";
import { makePasswordRecord } from "./password_record.ts";
import { LOGIN_PATH, PASSWORD_SET, SET_PASSWORD_PATH } from "./paths.ts";
import { renderInvitedProviders } from "./provider_buttons.ts";
import { readRedirectUri } from "./redirect_uri.ts";
import { toReturnQuery } from "./return_to.ts";
import { toCookies } from "./sign_in.ts";
import { redirectAdmitted } from "./sign_in_page.ts";

const LINK_FIELD = "link";

/** The form for a valid link. */
export async function handleSetPassword(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const text = readLinkText(new URLSearchParams(context.query).getAll("token"));
  const link = await findPasswordLink(deps, text);
  if (link === undefined) return respondWithUnusableLink(context.query);
  return respondWithForm(deps, context, { text, link, issues: { password: [], again: [] } });
}

/** Sets the password, or lists all validation errors. @throws {Problem} forbidden */
export async function handleSetPasswordForm(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const fields = await readForm(context.request);
  checkForm(context.request, deps.identity, { fields, binding: "form" });
  const text = fields.get(LINK_FIELD) ?? "";
  // Check before hashing: hashing is expensive, so it requires a valid link.
  const link = await findPasswordLink(deps, text);
  if (link === undefined) return respondWithUnusableLink("token");
  const typed = readNewPassword(fields);
  const issues = findNewPasswordIssues(typed, toNames(link));
  if (issues.password.length + issues.again.length > 0)
    return respondWithForm(deps, context, { text, link, issues });
  return await handleNewPassword(deps, context, { link, password: typed.password });
}

/** Continues to the app, or to the second factor first. */
async function handleNewPassword(
  deps: PageDeps,
  { request, address }: RequestContext,
  { link, password }: { link: PasswordLink; password: string },
): Promise<Response> {
  const { userId } = link;
  const start = makeSignInStart(deps, request, userId);
  const outcome = await signInByLink(deps, link, {
    password: await makePasswordRecord(deps, userId, password),
    ...start,
    address,
  });
  if (outcome === "wrong") return respondWithUnusableLink("token");
  const device = readDeviceCookie(request, deps.identitySecrets);
  const cookies = toCookies(deps, outcome, { userId, ...start, device });
  const { location, query } = toTarget(link);
  return redirectAdmitted(
    { kind: outcome, cookies },
    { location, action: `${LOGIN_PATH}${query}` },
  );
}

/** The destination, checked against the app's current targets, and the query that names it. */
function toTarget({ returnTo }: PasswordLink): { location: string; query: string } {
  const location = returnTo && readRedirectUri(returnTo.redirectUri, returnTo.app.targets);
  if (returnTo === undefined || location === undefined)
    return { location: PASSWORD_SET, query: "" };
  const { app, redirectUri } = returnTo;
  return { location, query: toReturnQuery({ kind: "app", slug: app.slug, redirectUri }) };
}

/** Empty if the query has more than one token. */
function readLinkText([text = "", ...more]: readonly string[]): string {
  return more.length === 0 ? text : "";
}

function toNames({ email, displayName, appSlugs }: PasswordLink): string[] {
  return [email, ...(displayName === undefined ? [] : [displayName]), ...appSlugs];
}

type State = { text: string; link: PasswordLink; issues: NewPasswordIssues };

function respondWithForm(
  deps: PageDeps,
  { request }: RequestContext,
  { text, link, issues }: State,
): Response {
  const { token, cookies } = makeFormToken(request, deps.randomBytes);
  const isRejected = issues.password.length + issues.again.length > 0;
  const { location, query } = toTarget(link);
  const providers =
    link.isInvitation && renderInvitedProviders(deps.providers, { email: link.email, query });
  const title = providers === false ? "Choose a password" : "Accept your invitation";
  const body = html`
<h1>${title}</h1>
<p class="lead">${renderPurpose(link)}</p>
${providers}
${renderForm({
  action: SET_PASSWORD_PATH,
  token,
  fields: [
    // In the body, not in the URL: proxies log URLs.
    html`<input type="hidden" name="${LINK_FIELD}" value="${text}">`,
    renderEmailField({
      value: link.email,
      isFixed: true,
    }),
    ...renderNewPasswordFields(issues, { isFirst: true }),
  ],
  button:
    link.returnTo === undefined
      ? "Set password"
      : `Set password and open ${link.returnTo.app.slug}`,
})}`;
  const formTargets = location === PASSWORD_SET ? [] : toFormTargets(deps.identity, location);
  const status = isRejected ? 422 : 200;
  return respondWithPage({ title, body, scripts: ["page"] }, { status, cookies, formTargets });
}

/** An invitation names up to 4 apps. */
function renderPurpose({ isInvitation, appSlugs }: PasswordLink): Html {
  const [first, ...more] = appSlugs;
  if (!isInvitation || first === undefined || more.length > 3)
    return html`for the account that signs you in to all your apps`;
  return html`You are invited to <b>${first}</b>${more.map((slug) => html`, <b>${slug}</b>`)}.`;
}

// The same page for every invalid link: it must not reveal the person or the reason.
function respondWithUnusableLink(query: string): Response {
  const why =
    query === ""
      ? "The link is incomplete: its end is missing."
      : "The link was used, replaced by a newer link, withdrawn, or has expired. Each link works once.";
  const body = html`
<h1>This link cannot be used</h1>
<p>${why}</p>
<p>Ask your administrator for a new link. If you already set your password, sign in.</p>
<p><a class="button button-primary" href="${LOGIN_PATH}">Sign in</a></p>`;
  return respondWithPage({ title: "This link cannot be used", body }, { status: 404 });
}
