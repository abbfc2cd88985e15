/** The page that asks for a second factor: the code of an authenticator app, a passkey, or a recovery code. @module */
import type { FactorKind, PendingSignIn } from "../accounts/sessions/mod.ts";
import { type RequestContext, splitTarget, toTarget } from "../http/mod.ts";
import {
  type Html,
  html,
  renderField,
  renderForm,
  renderNotice,
  respondWithPage,
} from "../pages/mod.ts";
import { makeFormToken } from "./form_token.ts";
import type { PageDeps } from "./page_deps.ts";
import { offerPasskeyFactor } from "./passkey_factor.ts";
import type { CheckedReturn } from "./return_to.ts";
import type { FormFailure } from "./sign_in_page.ts";

export type FactorFailure = FormFailure<string[]> & {
  /** The submitted form. */
  kind?: FactorKind;
};

const CODE_CHARS = 40;
const RESET = "An administrator can reset your second factor.";

export function respondWithFactorForm(
  deps: PageDeps,
  { request }: RequestContext,
  state: { pending: PendingSignIn; target: CheckedReturn; failure: FactorFailure },
): Response {
  const { pending, target, failure } = state;
  const { token, cookies } = makeFormToken(request, deps.randomBytes);
  const form = { action: toTarget(splitTarget(request.url)), token };
  const isAgain = failure.status !== 200;
  const passkey = offerPasskeyFactor(deps, request, { ...form, pending, isAgain });
  const body = html`
<h1>Verify your identity</h1>
<p class="lead">Signing in as <strong>${pending.email}</strong></p>
${failure.notice !== undefined && renderNotice("error", failure.notice)}
${pending.hasTotp && renderForm({ ...form, fields: renderCode(failure), button: "Continue" })}
${passkey.part}
${pending.recoveryCodes > 0 && renderRecovery(form, { pending, failure })}
<p class="aside">${pending.recoveryCodes === 0 && `Lost your second factor? ${RESET} `}<a href="${target.back}">Use another account</a></p>`;
  return respondWithPage(
    {
      title: "Verify your identity",
      body,
      scripts: passkey.part === undefined ? ["page"] : ["page", "passkey"],
    },
    {
      status: failure.status,
      cookies: [...cookies, ...passkey.cookies],
      formTargets: target.formTargets,
      headers: failure.headers,
    },
  );
}

function renderCode({ kind, issues = [] }: FactorFailure): Html {
  return renderField({
    name: "code",
    label: "Code",
    hint: "The current 6 digits from your authenticator app.",
    type: "text",
    inputMode: "numeric",
    autocomplete: "one-time-code",
    maxLength: CODE_CHARS,
    issues: kind === "recovery" ? [] : issues,
    isFirst: kind !== "recovery",
  });
}

type Form = Pick<Parameters<typeof renderForm>[0], "action" | "token">;

function renderRecovery(
  form: Form,
  { pending, failure }: { pending: PendingSignIn; failure: FactorFailure },
): Html {
  const isOpen = failure.kind === "recovery" || (!pending.hasTotp && pending.passkeys.length === 0);
  const field = renderField({
    name: "recovery",
    label: "Recovery code",
    hint: `Each code works once. You have ${pending.recoveryCodes} left.`,
    type: "text",
    autocomplete: "off",
    maxLength: 2 * CODE_CHARS,
    issues: failure.kind === "recovery" ? (failure.issues ?? []) : [],
    isFirst: failure.kind === "recovery",
  });
  return html`<details class="other-way"${isOpen && html` open`}><summary>Use a recovery code</summary>
${renderForm({ ...form, fields: field, button: "Use this code", tone: "quiet" })}
<p class="aside">Lost your recovery codes? ${RESET}</p></details>`;
}
