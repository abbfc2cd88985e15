/**
 * `/forgot`: has a link mailed that sets a new password. Who asks learns nothing: the same answer, and the same work, for
 * everybody and for nobody.
 *
 * @module
 */
import { askForPassword, FORGOTTEN_LINK_LIFE_S } from "../accounts/mails/mod.ts";
import { toCanonicalEmail } from "../accounts/people/mod.ts";
import { type RequestContext, readForm } from "../http/mod.ts";
import { answerPage, answerSeeOther, html, renderForm, renderNotice } from "../pages/mod.ts";
import { toDurationText } from "../std/duration.ts";
import { isStorableText } from "../std/is_storable_text.ts";
import { renderEmailField } from "./account_fields.ts";
import { checkForm, makeFormToken, TOKEN_FIELD } from "./form_token.ts";
import type { PageDeps } from "./page_deps.ts";
import { FORGOT_PATH, LOGIN_PATH } from "./paths.ts";
import { describeThrottle } from "./sign_in_page.ts";

const TITLE = "Forgotten your password?";
const SENT = `${FORGOT_PATH}?sent=yes`;

export function answerForgot(deps: PageDeps, context: RequestContext): Response {
  if (!deps.hasMail) return answerWithoutMail();
  if (context.query === "sent=yes") return answerSent();
  return answerForm(deps, context, { status: 200 });
}

/** @throws {Problem} forbidden — the form is not the page's own */
export async function answerForgotForm(deps: PageDeps, context: RequestContext): Promise<Response> {
  const fields = await readForm(context.request);
  checkForm(context.request, deps.identity, { fields, binding: "form" });
  if (!deps.hasMail) return answerWithoutMail();
  const typed = fields.get("email") ?? "";
  if (typed.trim() === "")
    return answerForm(deps, context, { status: 422, faults: ["Enter your email address."] });
  const canonical = toCanonicalEmail(typed);
  // What PostgreSQL cannot store is nobody's address, but counts like any other.
  const email = isStorableText(canonical) ? canonical : "";
  const waitS = await askForPassword(deps, { email, address: context.address });
  return waitS > 0
    ? answerForm(deps, context, { ...describeThrottle(waitS), typed })
    : answerSeeOther(SENT);
}

type State = {
  status: number;
  headers?: Record<string, string>;
  notice?: string;
  typed?: string;
  faults?: string[];
};

function answerForm(deps: PageDeps, { request }: RequestContext, state: State): Response {
  const { status, headers, notice, typed, faults = [] } = state;
  const { token, cookies } = makeFormToken(request, deps.randomBytes);
  const body = html`
<h1>${TITLE}</h1>
<p class="lead">You get a mail with a link that sets a new one.</p>
${notice !== undefined && renderNotice("fault", notice)}
${renderForm({
  action: FORGOT_PATH,
  token: { name: TOKEN_FIELD, value: token },
  fields: renderEmailField({ value: typed, faults, isFirst: true }),
  button: "Send the link",
})}
<p class="aside"><a href="${LOGIN_PATH}">Back to the sign-in</a></p>`;
  return answerPage(
    { title: TITLE, body, scripts: ["page"] },
    { status, cookies, ...(headers === undefined ? {} : { headers }) },
  );
}

function answerSent(): Response {
  const body = html`
<h1>Look at your mail</h1>
<p>If somebody signs in with this address and a password, a mail with a link is on its way. The link works once, within ${toDurationText(FORGOTTEN_LINK_LIFE_S)}.</p>
<p>If none comes within a few minutes, look where your mail program puts what it takes for spam, or ask an administrator.</p>
<p><a class="button button-primary" href="${LOGIN_PATH}">Back to the sign-in</a></p>`;
  return answerPage({ title: "Look at your mail", body });
}

function answerWithoutMail(): Response {
  const body = html`
<h1>${TITLE}</h1>
<p>Ask an administrator of your apps: they can give you a link that sets a new one.</p>
<p><a class="button button-primary" href="${LOGIN_PATH}">Back to the sign-in</a></p>`;
  return answerPage({ title: TITLE, body });
}
