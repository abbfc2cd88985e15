/**
 * `/second-factor`: the second step of a sign-in, after the password or the provider was verified. The query holds the
 * destination of the sign-in, which is checked again.
 *
 * @module
 */
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
  proveRecoveryCode,
  type RightFactor,
  readRecoveryCode,
  readTotpCode,
  recordWrongFactor,
  TOTP_CODE,
} from "../accounts/sessions/mod.ts";
import { type RequestContext, readForm } from "../http/mod.ts";
import { html, redirect, respondWithPage } from "../pages/mod.ts";
import {
  clearPending,
  markFactorDevice,
  readDeviceCookie,
  readPendingCookie,
  toSessionCookies,
} from "./cookies.ts";
import { checkForm } from "./form_token.ts";
import { makeSessionStart, type PageDeps } from "./page_deps.ts";
import { clearChallenge } from "./passkey_challenge.ts";
import { findPasskeyFactor } from "./passkey_factor.ts";
import { PASSKEY_FIELD } from "./passkey_form.ts";
import { type CheckedReturn, checkReturnTo, readReturnTo } from "./return_to.ts";
import { type FactorFailure, respondWithFactorForm } from "./second_factor_page.ts";
import { describeThrottle } from "./sign_in_page.ts";

/** The form; without a pending sign-in, a redirect to the sign-in. */
export async function handleSecondFactor(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const target = await checkReturnTo(deps, context, readReturnTo(context.query));
  return await respondWithForm(deps, context, { target, failure: { status: 200 } });
}

/** Creates the session, or shows the form again with an error. @throws {Problem} forbidden */
export async function handleSecondFactorForm(
  deps: PageDeps,
  context: RequestContext,
): Promise<Response> {
  const fields = await readForm(context.request);
  checkForm(context.request, deps.identity, { fields, binding: "form" });
  const target = await checkReturnTo(deps, context, readReturnTo(context.query));
  const typed = readTyped(fields);
  if ("issue" in typed) {
    const failure = { status: 422, issues: [typed.issue], kind: typed.kind };
    return await respondWithForm(deps, context, { target, failure });
  }
  return await handleTyped(deps, context, { target, typed });
}

type Typed = { kind: FactorKind; code: string };
type FormState = { target: CheckedReturn; failure: FactorFailure };

function readTyped(
  fields: ReadonlyMap<string, string>,
): Typed | { kind: FactorKind; issue: string } {
  const passkey = fields.get(PASSKEY_FIELD);
  const isTyped = fields.has("code") || fields.has("recovery");
  if (passkey !== undefined && !isTyped) return { kind: "passkey", code: passkey };
  const recovery = fields.get("recovery");
  if (recovery !== undefined) {
    const code = readRecoveryCode(recovery);
    return code === undefined
      ? { kind: "recovery", issue: "Enter a recovery code of 12 letters and digits." }
      : { kind: "recovery", code };
  }
  const code = readTotpCode(fields.get("code"));
  return TOTP_CODE.test(code)
    ? { kind: "totp", code }
    : { kind: "totp", issue: "Enter the 6 digits from the app." };
}

async function handleTyped(
  deps: PageDeps,
  context: RequestContext,
  { target, typed }: { target: CheckedReturn; typed: Typed },
): Promise<Response> {
  const from = readFrom(deps, context, typed.kind);
  const attempt = await beginSecondFactor(deps, from);
  if (attempt === undefined) return respondWithRestart(target);
  if (!("userId" in attempt))
    return await respondWithForm(deps, context, {
      target,
      failure: { ...describeThrottle(attempt.waitS), kind: typed.kind },
    });
  const factor = await findFactor(deps, context, { attempt, typed });
  const finished =
    factor === undefined ? "wrong" : await finish(deps, context, { from, attempt, factor });
  if (finished === "no_sign_in") return respondWithRestart(target);
  if (finished === "wrong") {
    const { userId } = attempt;
    await recordWrongFactor(deps, { userId, kind: typed.kind, from: context.address });
    const text = WRONG[typed.kind];
    const failure = {
      status: 422,
      kind: typed.kind,
      ...(typed.kind === "passkey" ? { notice: text } : { issues: [text] }),
    };
    return await respondWithForm(deps, context, { target, failure });
  }
  return redirect(target.location, { cookies: finished });
}

/** The same text for wrong, used and malformed codes. */
const WRONG: Readonly<Record<FactorKind, string>> = {
  totp: "The code is incorrect or was already used. Wait for the next code, then try again.",
  recovery: "The code is incorrect or was already used.",
  passkey: "This passkey was not accepted. Please try again.",
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
  const device = markFactorDevice(deps, request, userId);
  return [
    ...toSessionCookies(start.session, deps.identity),
    device,
    clearPending(),
    clearChallenge(),
  ];
}

async function respondWithForm(
  deps: PageDeps,
  context: RequestContext,
  { target, failure }: FormState,
): Promise<Response> {
  const presented = readPendingCookie(context.request, deps.identitySecrets);
  const pending = await findPendingSignIn(deps, presented);
  if (pending !== undefined)
    return respondWithFactorForm(deps, context, { pending, target, failure });
  return failure.status === 200 ? redirect(target.back) : respondWithRestart(target);
}

function respondWithRestart({ back }: CheckedReturn): Response {
  const body = html`
<h1>Please start again</h1>
<p>This sign-in is older than 10 minutes, was already completed, or was ended. Your browser must allow cookies.</p>
<p><a class="button button-primary" href="${back}">Sign in again</a></p>`;
  return respondWithPage(
    { title: "Please start again", body },
    { status: 400, cookies: [clearPending()] },
  );
}
