/** The sign-in form, for the account page or for an app, and the response to it. @module */
import { type RequestContext, readCookies } from "../http/mod.ts";
import {
  type Html,
  html,
  type PageOptions,
  redirect,
  renderForm,
  renderNotice,
  respondWithPage,
} from "../pages/mod.ts";
import { renderEmailField, renderPasswordField } from "./account_fields.ts";
import { clearPages, IDENTITY_COOKIE } from "./cookies.ts";
import { checkForm, makeFormToken } from "./form_token.ts";
import type { PageDeps } from "./page_deps.ts";
import { PASSKEY_FIELD } from "./passkey_form.ts";
import { offerPasskey, type PasskeySignIn, signInWithPasskey } from "./passkey_sign_in.ts";
import {
  ACCOUNT_SECURITY_PATH,
  ADD_FACTOR_PATH,
  FORGOT_PATH,
  SECOND_FACTOR_PATH,
} from "./paths.ts";
import { renderProviders } from "./provider_buttons.ts";
import { type Admitted, type SignIn, signIn } from "./sign_in.ts";

export type SignInTarget = {
  /** The form's action, with the query that names the app. */
  action: string;
  /** The app that the person signs in to; `undefined` on the account page. */
  app?: { slug: string; host: string };
  /** The purpose of the sign-in, if it is neither an app nor the account page. */
  lead?: string;
  /** The prefilled address. */
  email?: string | undefined;
  location: string;
  /** Origins of possible redirects after the form. */
  formTargets?: readonly string[];
};

/** The empty form; clears conflicting cookies. */
export function respondWithSignInForm(
  deps: PageDeps,
  { request }: RequestContext,
  target: SignInTarget & { isConflict: boolean; done?: string | undefined },
): Response {
  const { email, done } = target;
  return respondWithForm(deps, target, {
    request,
    cookies: target.isConflict ? clearPages(deps.identity) : [],
    status: 200,
    ...(email === undefined ? {} : { email }),
    ...(done === undefined ? {} : { done }),
  });
}

/** The response to the form: a redirect to `location`, or the form with errors. @throws {Problem} forbidden */
export async function handleSignIn(
  deps: PageDeps,
  context: RequestContext,
  { target, fields }: { target: SignInTarget; fields: ReadonlyMap<string, string> },
): Promise<Response> {
  checkForm(context.request, deps.identity, { fields, binding: "form" });
  const email = fields.get("email") ?? "";
  // Scripts can send the hidden fields of both forms: a password takes precedence.
  const passkey = fields.has("password") ? undefined : fields.get(PASSKEY_FIELD);
  const result =
    passkey === undefined
      ? await signIn(deps, context, { email, password: fields.get("password") ?? "" })
      : await signInWithPasskey(deps, context, passkey);
  if ("cookies" in result) return redirectAdmitted(result, target);
  const { request } = context;
  return respondWithForm(deps, target, { request, email, ...toFailure(result) });
}

/** Redirects to the destination, or to the second factor first; its query holds the destination. */
export function redirectAdmitted(
  { kind, cookies }: Admitted,
  { location, action }: Pick<SignInTarget, "location" | "action">,
): Response {
  const query = toQuery(action);
  if (kind === "pending") return redirect(`${SECOND_FACTOR_PATH}${query}`, { cookies });
  if (kind === "asked" && location !== ACCOUNT_SECURITY_PATH)
    return redirect(`${ADD_FACTOR_PATH}${query}`, { cookies });
  return redirect(location, { cookies });
}

/** The query with its question mark; empty without a query. */
function toQuery(path: string): string {
  return /\?.*/.exec(path)?.[0] ?? "";
}

/** The status of a form that is shown again, with a notice above it or the issues of its fields. */
export type FormFailure<Issues> = Pick<PageOptions, "headers"> & {
  status: number;
  notice?: string;
  issues?: Issues;
};
type Failure = FormFailure<{ email: string[]; password: string[] }>;

const LABELS = {
  wrong: "The email address or password is incorrect. Please check both and try again.",
  stale: "The request expired. Please try again.",
  rejected: "This passkey was not accepted. Try another passkey, or sign in another way.",
} as const;

function toFailure(result: Exclude<SignIn | PasskeySignIn, { cookies: string[] }>): Failure {
  if (result.kind === "incomplete") return { status: 422, issues: result.issues };
  if (result.kind === "throttled") return describeThrottle(result.waitS);
  return { status: 422, notice: LABELS[result.kind] };
}

export function describeThrottle(waitS: number) {
  return {
    status: 429,
    headers: { "retry-after": String(waitS) },
    notice: `Too many sign-in attempts. Please wait ${toWait(waitS)}, then try again.`,
  };
}

const DAY_MINUTES = 1440;

/** The time to wait, such as "5 minutes". */
export function toWait(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes > DAY_MINUTES) return `${Math.ceil(minutes / DAY_MINUTES)} days`;
  return minutes === 1 ? "a minute" : `${minutes} minutes`;
}

type FormState = Failure & {
  request: Request;
  cookies?: readonly string[];
  email?: string;
  /** Result of the previous action, such as a sign-out. */
  done?: string;
};

function respondWithForm(deps: PageDeps, target: SignInTarget, state: FormState): Response {
  const { request, notice, cookies = [] } = state;
  const { action } = target;
  const { token, cookies: ofToken } = makeFormToken(request, deps.randomBytes);
  const isAgain = notice !== undefined;
  const passkey = offerPasskey(deps, request, { action, token, isAgain });
  const hasPasskeys = passkey.part !== undefined;
  const body = html`
<h1>Sign in</h1>
${renderLead(target)}
${state.done !== undefined && renderNotice("info", state.done)}
${notice !== undefined && renderNotice("error", notice)}
${renderProviders(deps.providers, action)}
${renderForm({
  action,
  token,
  fields: renderFields(state, { hasPasskeys }),
  button: "Sign in",
})}
${passkey.part}
<p class="aside">${deps.hasMail ? html`<a href="${FORGOT_PATH}${toQuery(action)}">Forgot your password?</a>` : "Forgot your password? Ask your administrator for a link to set a new password."}</p>`;
  return respondWithPage(
    {
      title: "Sign in",
      body,
      scripts: hasPasskeys ? ["page", "passkey"] : ["page"],
      // Some pages ask a signed-in person to sign in again.
      hasSignOut: readCookies(request.headers.get("cookie"), IDENTITY_COOKIE).length > 0,
    },
    {
      status: state.status,
      cookies: [...ofToken, ...passkey.cookies, ...cookies],
      formTargets: target.formTargets ?? [],
      headers: state.headers,
    },
  );
}

function renderLead({ app, lead }: SignInTarget): Html {
  if (lead !== undefined) return html`<p class="lead">${lead}</p>`;
  if (app === undefined) return html`<p class="lead">to see and open your apps</p>`;
  return html`<p class="lead">to continue to <strong>${app.slug}</strong> at ${app.host}</p>`;
}

function renderFields(
  { email, issues }: FormState,
  { hasPasskeys }: { hasPasskeys: boolean },
): Html[] {
  const isEmailGiven = email !== undefined && email !== "";
  return [
    renderEmailField({
      value: email,
      issues: issues?.email ?? [],
      isFirst: !isEmailGiven,
      hasPasskeys,
    }),
    renderPasswordField({
      name: "password",
      label: "Password",
      autocomplete: "current-password",
      issues: issues?.password ?? [],
      isFirst: isEmailGiven,
    }),
  ];
}
