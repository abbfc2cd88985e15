/**
 * `/forgot`: emails a link that sets a new password and continues to the app that the person was signing in to. Response and
 * timing do not depend on whether the address has an account.
 *
 * @module
 */
import { askForPassword, FORGOTTEN_LINK_LIFE_S } from "../accounts/mails/mod.ts";
import { toCanonicalEmail } from "../accounts/people/mod.ts";
import { type RequestContext, readForm } from "../http/mod.ts";
import { html, redirect, renderForm, renderNotice, respondWithPage } from "../pages/mod.ts";
import { toDurationText } from "../std/duration.ts";
import { isStorableText } from "../std/is_storable_text.ts";
import { renderEmailField } from "./account_fields.ts";
import { checkForm, makeFormToken } from "./form_token.ts";
import type { PageDeps } from "./page_deps.ts";
import { FORGOT_PATH, LOGIN_PATH } from "./paths.ts";
import { type CheckedReturn, checkReturnTo, readReturnTo, toReturnQuery } from "./return_to.ts";
import { describeThrottle, type FormFailure } from "./sign_in_page.ts";

const TITLE = "Forgot your password?";

/** @throws {Problem} unknown_app; invalid_request — the return address is invalid */
export async function handleForgot(deps: PageDeps, context: RequestContext): Promise<Response> {
  if (!deps.hasMail) return respondWithoutMail();
  const { back } = await checkReturnTo(deps, context, readReturnTo(context.query));
  if (new URLSearchParams(context.query).has("sent")) return respondWithSent(back);
  return respondWithForm(deps, context, { status: 200, back });
}

/** @throws {Problem} forbidden — the form token is invalid; and as {@linkcode handleForgot} */
export async function handleForgotForm(deps: PageDeps, context: RequestContext): Promise<Response> {
  const fields = await readForm(context.request);
  checkForm(context.request, deps.identity, { fields, binding: "form" });
  if (!deps.hasMail) return respondWithoutMail();
  const returnTo = readReturnTo(context.query);
  const { back } = await checkReturnTo(deps, context, returnTo);
  const typed = fields.get("email") ?? "";
  if (typed.trim() === "")
    return respondWithForm(deps, context, {
      status: 422,
      back,
      issues: ["Enter your email address."],
    });
  const canonical = toCanonicalEmail(typed);
  // An address that PostgreSQL cannot store has no account, but must use up an attempt like any other.
  const email = isStorableText(canonical) ? canonical : "";
  const waitS = await askForPassword(deps, {
    email,
    address: context.address,
    returnTo: returnTo.kind === "app" ? returnTo : undefined,
  });
  if (waitS > 0) return respondWithForm(deps, context, { ...describeThrottle(waitS), back, typed });
  const query = new URLSearchParams(toReturnQuery(returnTo));
  return redirect(`${FORGOT_PATH}?${new URLSearchParams([["sent", "yes"], ...query])}`);
}

type State = Pick<CheckedReturn, "back"> & FormFailure<string[]> & { typed?: string };

function respondWithForm(deps: PageDeps, context: RequestContext, state: State): Response {
  const { status, headers, notice, typed, issues = [], back } = state;
  const { token, cookies } = makeFormToken(context.request, deps.randomBytes);
  const body = html`
<h1>${TITLE}</h1>
<p class="lead">We will email you a link to set a new password</p>
${notice !== undefined && renderNotice("error", notice)}
${renderForm({
  action: `${FORGOT_PATH}${toReturnQuery(readReturnTo(context.query))}`,
  token,
  fields: renderEmailField({ value: typed, issues, isFirst: true }),
  button: "Send link",
})}
<p class="aside"><a href="${back}">Back to sign-in</a></p>`;
  return respondWithPage(
    { title: TITLE, body, scripts: ["page"], hasSignOut: false },
    { status, cookies, headers },
  );
}

function respondWithSent(back: string): Response {
  const body = html`
<h1>Check your email</h1>
<p>If this address has an account with a password, we sent an email with a link. The link works once and expires in ${toDurationText(FORGOTTEN_LINK_LIFE_S)}.</p>
<p>If no email arrives within a few minutes, check your spam folder or contact your administrator.</p>
<p><a class="button button-primary" href="${back}">Back to sign-in</a></p>`;
  return respondWithPage({ title: "Check your email", body, hasSignOut: false });
}

function respondWithoutMail(): Response {
  const body = html`
<h1>${TITLE}</h1>
<p>Ask your administrator for a link to set a new password.</p>
<p><a class="button button-primary" href="${LOGIN_PATH}">Back to sign-in</a></p>`;
  return respondWithPage({ title: TITLE, body, hasSignOut: false });
}
