/**
 * `/set-password`: a link from an administrator sets a password once, by which an invitation is accepted. Opening the page does not use it up, so that link previews
 * do no harm. @module
 */
import { findPasswordLink, type PasswordLink, usePasswordLink } from "../accounts/people/mod.ts";
import { type RequestContext, readForm } from "../http/mod.ts";
import { answerPage, answerSeeOther, type Html, html, renderForm } from "../pages/mod.ts";
import { renderEmailField } from "./account_fields.ts";
import { checkForm, makeFormToken, TOKEN_FIELD } from "./form_token.ts";
import {
  findNewPasswordFaults,
  type NewPasswordFaults,
  readNewPassword,
  renderNewPasswordFields,
} from "./new_password_fields.ts";
import type { PageDeps } from "./page_deps.ts";
import { makePasswordRecord } from "./password_record.ts";
import { LOGIN_PATH, PASSWORD_SET_PATH, SET_PASSWORD_PATH } from "./paths.ts";
import { renderInvitedProviders } from "./provider_buttons.ts";

const LINK_FIELD = "link";

/** The form for whoever has a link. */
export async function answerSetPassword(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const text = readLinkText(new URLSearchParams(context.query).getAll("token"));
  const link = await findPasswordLink(deps, text);
  if (link === undefined) return answerUnusable(context.query);
  return answerForm(deps, context, { text, link, faults: { password: [], again: [] } });
}

/** Sets the password, or lists all reasons against it. @throws {Problem} forbidden */
export async function answerSetPasswordForm(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const fields = await readForm(context.request);
  checkForm(context.request, deps.identity, { fields, binding: "form" });
  const text = fields.get(LINK_FIELD) ?? "";
  // Checked before anything is hashed: only whoever has a link may cost the service a hash.
  const link = await findPasswordLink(deps, text);
  if (link === undefined) return answerUnusable("token");
  const typed = readNewPassword(fields);
  const faults = findNewPasswordFaults(typed, toNames(link));
  if (faults.password.length + faults.again.length > 0)
    return answerForm(deps, context, { text, link, faults });
  const record = await makePasswordRecord(deps, link.userId, typed.password);
  return (await usePasswordLink(deps, link, record))
    ? answerSeeOther(PASSWORD_SET_PATH)
    : answerUnusable("token");
}

/** The page after a password was set. */
export function answerPasswordSet(): Response {
  const body = html`
<h1>Your password is set</h1>
<p class="lead">The link that you used cannot be used again. Wherever you were signed in, you have been signed out.</p>
<p><a class="button button-primary" href="${LOGIN_PATH}">Sign in</a></p>`;
  return answerPage({ title: "Your password is set", body });
}

/** If it is given twice, none counts. */
function readLinkText([text = "", ...more]: readonly string[]): string {
  return more.length === 0 ? text : "";
}

function toNames({ email, displayName, appSlugs }: PasswordLink): string[] {
  return [email, ...(displayName === undefined ? [] : [displayName]), ...appSlugs];
}

type State = { text: string; link: PasswordLink; faults: NewPasswordFaults };

function answerForm(
  deps: PageDeps,
  { request }: RequestContext,
  { text, link, faults }: State,
): Response {
  const { token, cookies } = makeFormToken(request, deps.randomBytes);
  const isRefused = faults.password.length + faults.again.length > 0;
  const providers = link.isInvitation && renderInvitedProviders(deps.providers, link.email);
  const title = providers === false ? "Choose a password" : "Accept your invitation";
  const body = html`
<h1>${title}</h1>
<p class="lead">${renderPurpose(link)}</p>
${providers}
${renderForm({
  action: SET_PASSWORD_PATH,
  token: { name: TOKEN_FIELD, value: token },
  fields: [
    // In the body: what is in an address ends up in the logs of every proxy.
    html`<input type="hidden" name="${LINK_FIELD}" value="${text}">`,
    renderEmailField({
      value: link.email,
      isFixed: true,
    }),
    ...renderNewPasswordFields(faults, { isFirst: true }),
  ],
  button: "Set password",
})}`;
  return answerPage({ title, body, scripts: ["page"] }, { status: isRefused ? 422 : 200, cookies });
}

/** An invitation names the apps, as far as there is room for them. */
function renderPurpose({ isInvitation, appSlugs }: PasswordLink): Html {
  const [first, ...more] = appSlugs;
  if (!isInvitation || first === undefined || more.length > 3)
    return html`for the account that signs you in to all your apps`;
  return html`You are invited to <b>${first}</b>${more.map((slug) => html`, <b>${slug}</b>`)}.`;
}

// The same for every link that is none: of whom it was, and why it ended, is not told.
function answerUnusable(query: string): Response {
  const why =
    query === ""
      ? "It is incomplete: its end is missing."
      : "It has been used already, was replaced by a newer one, was withdrawn, or has expired. Each link works once.";
  const body = html`
<h1>This link cannot be used</h1>
<p>${why}</p>
<p>Ask whoever gave it to you for a new one. If you have set your password already, just sign in.</p>
<p><a class="button button-primary" href="${LOGIN_PATH}">Sign in</a></p>`;
  return answerPage({ title: "This link cannot be used", body }, { status: 404 });
}
