/** @jsxImportSource #html @jsxRuntime automatic */
/** The forms that ask for a second factor: the code of an authenticator app, a passkey, or a recovery code. @module */
import type { PendingSignIn } from "../accounts/sessions/mod.ts";
import { splitTarget, toTarget } from "../http/mod.ts";
import {
  type FormField,
  type FormView,
  type Html,
  type Rejection,
  renderFields,
  renderForm,
} from "../pages/mod.ts";
import { CODE } from "./account_fields.ts";
import type { OpenVisit } from "./open_page.tsx";
import { offerPasskeyFactor } from "./passkey_factor.tsx";
import type { CheckedReturn } from "./return_to.ts";

const RECOVERY: FormField = {
  label: "Recovery code",
  maxLength: 80,
};
const RESET = "An administrator can reset your second factor.";

type Asked = { pending: PendingSignIn; target: CheckedReturn; rejection: Rejection | undefined };

export function renderFactorForms(
  { deps, context: { request }, fields: sent, token }: OpenVisit,
  { pending, target, rejection }: Asked,
): FormView {
  const isRecovery = sent.has("recovery");
  const form = { action: toTarget(splitTarget(request.url)), token };
  const isAgain = rejection !== undefined;
  const passkey = offerPasskeyFactor(deps, request, { ...form, pending, isAgain });
  const code = { ...CODE, hint: "The current 6 digits from your authenticator app." };
  const recovery = {
    ...RECOVERY,
    hint: `Each code works once. You have ${pending.recoveryCodes} left.`,
  };
  return {
    lead: (
      <>
        Signing in as <strong>{pending.email}</strong>
      </>
    ),
    instead: (
      <>
        {pending.hasTotp &&
          renderForm({
            ...form,
            fields: renderFields({ code }, { ...rejection, sent, isFocused: !isRecovery }),
            button: "Continue",
          })}
        {passkey.part}
        {pending.recoveryCodes > 0 &&
          renderRecovery(
            pending,
            isRecovery,
            renderForm({
              ...form,
              fields: renderFields({ recovery }, { ...rejection, sent, isFocused: isRecovery }),
              button: "Use this code",
              tone: "quiet",
            }),
          )}
        <p class="aside">
          {pending.recoveryCodes === 0 && `Lost your second factor? ${RESET} `}
          <a href={target.back}>Use another account</a>
        </p>
      </>
    ),
    scripts: passkey.part === undefined ? [] : ["passkey"],
    cookies: passkey.cookies,
    formTargets: target.formTargets,
  };
}

function renderRecovery(
  { hasTotp, passkeys }: PendingSignIn,
  isRecovery: boolean,
  form: Html,
): Html {
  const isOpen = isRecovery || (!hasTotp && passkeys.length === 0);
  return (
    <details class="other-way" open={isOpen}>
      <summary>Use a recovery code</summary>
      {form}
      <p class="aside">Lost your recovery codes? {RESET}</p>
    </details>
  );
}
