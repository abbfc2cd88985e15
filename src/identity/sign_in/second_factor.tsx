/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/second-factor`: the second step of a sign-in, after the password or the provider was verified. The query holds the
 * destination of the sign-in, which is checked again.
 *
 * @module
 */

import { type RequestContext, splitTarget, toTarget } from "../../http/mod.ts";
import {
  type FormField,
  type FormView,
  type Html,
  type Rejection,
  redirect,
  renderFields,
  renderForm,
  respondWithMessage,
} from "../../pages/mod.ts";
import {
  beginSecondFactor,
  type FactorAttempt,
  type FactorFrom,
  type FactorKind,
  findPendingSignIn,
  findStep,
  finishSecondFactor,
  makeTotpRecord,
  openTotp,
  type PendingSignIn,
  proveRecoveryCode,
  type RightFactor,
  readRecoveryCode,
  readTotpCode,
  recordWrongFactor,
  TOTP_CODE,
} from "../../records/sessions/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { PENDING_LIFE_S } from "../../std/limits.ts";
import {
  clearPending,
  markDevice,
  readDeviceCookie,
  readPendingCookie,
  toSessionCookies,
} from "../cookies.ts";
import { CODE } from "../fields.ts";
import { makeOpenForm, makeSessionStart, type OpenVisit, type PageDeps } from "../page_deps.tsx";
import { findPasskeyFactor, offerPasskeyFactor } from "../passkeys/factor.tsx";
import { PASSKEY_FIELD } from "../passkeys/form.tsx";
import { clearChallenge } from "../passkeys/response.ts";
import { type CheckedReturn, checkReturnTo, readReturnTo } from "../return_to.ts";
import { findRelyingParty } from "../settings.ts";
import { describeThrottle } from "../throttle.tsx";

// The forms that ask for a second factor: the code of an authenticator app, a passkey, or a
// recovery code.

const RECOVERY: FormField = {
  label: "Recovery code",
  maxLength: 80,
};
const RESET = "An administrator can reset your second factor.";

type Asked = { pending: PendingSignIn; target: CheckedReturn; rejection: Rejection | undefined };

function renderFactorForms(
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

/** Without a pending sign-in, the page redirects to the sign-in. */
export const secondFactorPage = makeOpenForm({
  title: "Verify your identity",
  read: ({ deps, context }: OpenVisit) => checkReturnTo(deps, context, readReturnTo(context.query)),
  form: async (target, visit, rejection) => {
    const presented = readPendingCookie(visit.context.request, visit.deps.identitySecrets);
    const pending = await findPendingSignIn(visit.deps, presented);
    if (pending !== undefined) return renderFactorForms(visit, { pending, target, rejection });
    return rejection === undefined ? redirect(target.back) : respondWithRestart(target);
  },
  run: async ({ deps, context, fields }, target) => {
    const typed = readTyped(fields);
    return "issues" in typed
      ? { status: 422, ...typed }
      : await handleTyped(deps, context, { target, typed });
  },
});

type Typed = { kind: FactorKind; code: string };

function readTyped(
  fields: ReadonlyMap<string, string>,
): Typed | { issues: Record<string, string[]> } {
  const passkey = fields.get(PASSKEY_FIELD);
  const isTyped = fields.has("code") || fields.has("recovery");
  if (passkey !== undefined && !isTyped) return { kind: "passkey", code: passkey };
  const recovery = fields.get("recovery");
  if (recovery !== undefined) {
    const code = readRecoveryCode(recovery);
    return code === undefined
      ? { issues: { recovery: ["Enter a recovery code of 12 letters and digits."] } }
      : { kind: "recovery", code };
  }
  const code = readTotpCode(fields.get("code"));
  return TOTP_CODE.test(code)
    ? { kind: "totp", code }
    : { issues: { code: ["Enter the 6 digits from the app."] } };
}

async function handleTyped(
  deps: PageDeps,
  context: RequestContext,
  { target, typed }: { target: CheckedReturn; typed: Typed },
): Promise<Response | Rejection> {
  const from = readFrom(deps, context, typed.kind);
  const attempt = await beginSecondFactor(deps, from);
  if (attempt === undefined) return respondWithRestart(target);
  if (!("userId" in attempt)) {
    const pending = await findPendingSignIn(deps, from.presented);
    return describeThrottle(deps, attempt.waitS, listOtherFactors(deps, typed.kind, pending));
  }
  const factor = await findFactor(deps, context, { attempt, typed });
  const finished =
    factor === undefined ? "wrong" : await finish(deps, context, { from, attempt, factor });
  if (finished === "no_sign_in") return respondWithRestart(target);
  if (finished === "wrong") {
    const { userId } = attempt;
    await recordWrongFactor(deps, { userId, kind: typed.kind, from: context.address });
    return { status: 422, ...WRONG[typed.kind] };
  }
  return redirect(target.location, { cookies: finished });
}

/** Each kind of factor has its own limits. */
function listOtherFactors(
  { identity }: PageDeps,
  kind: FactorKind,
  pending: PendingSignIn | undefined,
): string[] {
  if (pending === undefined) return [];
  const { hasTotp, passkeys, recoveryCodes } = pending;
  return [
    ...(kind !== "totp" && hasTotp ? ["a code from your app"] : []),
    ...(kind !== "passkey" && passkeys.length > 0 && findRelyingParty(identity) !== undefined
      ? ["a passkey"]
      : []),
    ...(kind !== "recovery" && recoveryCodes > 0 ? ["a recovery code"] : []),
  ];
}

/** The same text for wrong, used and malformed codes. */
const WRONG: Readonly<Record<FactorKind, Pick<Rejection, "notice" | "issues">>> = {
  totp: {
    issues: {
      code: ["The code is incorrect or was already used. Wait for the next code, then try again."],
    },
  },
  recovery: { issues: { recovery: ["The code is incorrect or was already used."] } },
  passkey: { notice: "This passkey was not accepted. Please try again." },
};

function readFrom(
  { identitySecrets }: PageDeps,
  { request, address }: RequestContext,
  kind: FactorKind,
): FactorFrom {
  const presented = readPendingCookie(request, identitySecrets);
  return { presented, kind, address, device: readDeviceCookie(request, identitySecrets) };
}

type Counted = Extract<FactorAttempt, { userId: string }>;

/** The proof of a correct factor for the database; `undefined` for a wrong factor. */
async function findFactor(
  deps: PageDeps,
  { request }: RequestContext,
  { attempt, typed: { kind, code } }: { attempt: Counted; typed: Typed },
): Promise<RightFactor | undefined> {
  const { userId, totp } = attempt;
  if (kind === "passkey") return await findPasskeyFactor(deps, request, { attempt, text: code });
  if (kind === "recovery")
    return { proofs: proveRecoveryCode(deps.identitySecrets, userId, code), count: 0 };
  const opened = totp === null ? undefined : openTotp(deps, userId, totp);
  const step = opened && findStep(opened.key, code, deps.now());
  if (opened === undefined || step === undefined) return undefined;
  const fresh = opened.isCurrent ? undefined : makeTotpRecord(deps, userId, opened.key);
  return { proofs: opened.proof, count: step, fresh };
}

type FinishOptions = { from: FactorFrom; attempt: Counted; factor: RightFactor };

/** The cookies of the new session, or the reason for the failure. */
async function finish(
  deps: PageDeps,
  { request }: RequestContext,
  { from, attempt: { userId, isKnownDevice }, factor }: FinishOptions,
): Promise<string[] | "wrong" | "no_sign_in"> {
  const start = makeSessionStart(deps, request, userId);
  const outcome = await finishSecondFactor(deps, {
    from,
    factor,
    isKnownDevice,
    ...start,
  });
  if (outcome !== "done") return outcome;
  const device = markDevice(deps, request, { userId, hasFactor: true });
  return [
    ...toSessionCookies(start.session, deps.identity),
    device,
    clearPending(),
    clearChallenge(),
  ];
}

function respondWithRestart({ back }: CheckedReturn): Response {
  const text = (
    <p>
      This sign-in is older than {toDurationText(PENDING_LIFE_S)}, was already completed, or was
      ended. Your browser must allow cookies.
    </p>
  );
  const next = { name: "Sign in again", path: back };
  return respondWithMessage(
    { title: "Please start again", text, next, hasSignOut: false },
    { status: 400, cookies: [clearPending()] },
  );
}
