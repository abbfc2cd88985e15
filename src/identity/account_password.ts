/**
 * `/account/password`: changes the password, given the current one. Wrong guesses share the sign-in limits. A change ends
 * all other sessions.
 *
 * @module
 */
import { type AccountSettings, changeOwnPassword } from "../accounts/account_settings/mod.ts";
import { NotSignedIn } from "../accounts/actions/mod.ts";
import { beginSignIn } from "../accounts/sessions/mod.ts";
import { html, redirect, renderForm } from "../pages/mod.ts";
import { renderEmailField, renderPasswordField } from "./account_fields.ts";
import { type OwnVisit, respondWithAccountPage } from "./account_page.ts";
import { readDeviceCookie, toSessionCookies } from "./cookies.ts";
import {
  findNewPasswordIssues,
  type NewPassword,
  type NewPasswordIssues,
  readNewPassword,
  renderNewPasswordFields,
} from "./new_password_fields.ts";
import { makeSessionStart } from "./page_deps.ts";
import { makePasswordRecord, verifyPassword } from "./password_record.ts";
import { ACCOUNT_PASSWORD_PATH } from "./paths.ts";
import { describeThrottle, type FormFailure } from "./sign_in_page.ts";

const CHANGED = `${ACCOUNT_PASSWORD_PATH}?changed=yes`;

type Issues = NewPasswordIssues & { present: string[] };
type Typed = NewPassword & { present: string };

export function handlePassword(visit: OwnVisit): Response {
  const isChanged = visit.context.query === "changed=yes";
  return respondWithForm(visit, { status: 200 }, isChanged);
}

export async function handlePasswordForm(visit: OwnVisit): Promise<Response> {
  const { fields, account } = visit;
  const typed = { present: fields.get("present") ?? "", ...readNewPassword(fields) };
  // Validate before counting or hashing: a typo in the new password must not use up an attempt.
  const issues = findIssues(account, typed);
  if (Object.values(issues).some((list) => list.length > 0))
    return respondWithForm(visit, { status: 422, issues });
  return await change(visit, typed);
}

function findIssues({ email, displayName, appSlugs }: AccountSettings, typed: Typed): Issues {
  const names = [email, ...(displayName === null ? [] : [displayName]), ...appSlugs];
  return {
    present: typed.present === "" ? ["Enter your current password."] : [],
    ...findNewPasswordIssues(typed, names),
  };
}

async function change(visit: OwnVisit, { present, password }: Typed): Promise<Response> {
  const { deps, account, context } = visit;
  const device = readDeviceCookie(context.request, deps.identitySecrets);
  const from = { email: account.email, address: context.address, device };
  const attempt = await beginSignIn(deps, from);
  if (!("isDisabled" in attempt)) return respondWithForm(visit, describeThrottle(attempt.waitS));
  const right = await verifyPassword(deps, attempt, present);
  if (right === undefined || attempt.known?.userId !== account.id)
    return respondWithWrongPassword(visit);
  const start = makeSessionStart(deps, context.request, account.id);
  const isDone = await changeOwnPassword(deps, {
    proof: right.proof,
    password: await makePasswordRecord(deps, account.id, password),
    ...start,
    attempt: from,
    isKnownDevice: attempt.isKnownDevice,
  });
  // Another request has just changed the password, which ended this session.
  if (!isDone) throw new NotSignedIn();
  return redirect(CHANGED, { cookies: toSessionCookies(start.session, deps.identity) });
}

function respondWithWrongPassword(visit: OwnVisit): Response {
  const present = ["This is not your current password."];
  return respondWithForm(visit, { status: 422, issues: { present, password: [], again: [] } });
}

const NO_ISSUES: Issues = { present: [], password: [], again: [] };

function respondWithForm(
  { deps, account, token }: OwnVisit,
  { status, headers, notice, issues = NO_ISSUES }: FormFailure<Issues>,
  isChanged = false,
): Response {
  const fields = [
    renderEmailField({ value: account.email, isFixed: true }),
    renderPasswordField({
      name: "present",
      label: "Current password",
      autocomplete: "current-password",
      issues: issues.present,
      isFirst: !isChanged,
    }),
    ...renderNewPasswordFields(issues, { isFirst: false }),
  ];
  const form = { action: ACCOUNT_PASSWORD_PATH, token, fields };
  return respondWithAccountPage(deps, {
    tab: "Password",
    title: "Password",
    status,
    headers,
    lead: "A new password ends all your other sessions",
    done: isChanged ? "Password changed. All your other sessions have ended." : undefined,
    notice,
    body: account.hasPassword
      ? renderForm({ ...form, button: "Change password" })
      : html`<p class="empty">You have no password. Ask your administrator for a link to set a password.</p>`,
  });
}
