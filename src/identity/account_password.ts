/**
 * `/account/password`: changes the password, given the current one. Wrong guesses share the sign-in limits. A change ends
 * all other sessions.
 *
 * @module
 */

import { changeOwnPassword, type OwnAccount } from "../accounts/account_settings/mod.ts";
import { NotSignedIn } from "../accounts/actions/mod.ts";
import { makeSession } from "../accounts/secrets/mod.ts";
import { beginSignIn, toDeviceName } from "../accounts/sessions/mod.ts";
import { answerSeeOther, html, renderForm, renderNotice } from "../pages/mod.ts";
import { renderEmailField, renderPasswordField } from "./account_fields.ts";
import { answerAccountPage, type OwnVisit } from "./account_page.ts";
import { readDeviceCookie, toSessionCookies } from "./cookies.ts";
import { TOKEN_FIELD } from "./form_token.ts";
import {
  findNewPasswordFaults,
  type NewPassword,
  type NewPasswordFaults,
  readNewPassword,
  renderNewPasswordFields,
} from "./new_password_fields.ts";
import { makePasswordRecord, verifyPassword } from "./password_record.ts";
import { ACCOUNT_PASSWORD_PATH } from "./paths.ts";
import { describeThrottle } from "./sign_in_page.ts";

const CHANGED = `${ACCOUNT_PASSWORD_PATH}?changed=yes`;

type Faults = NewPasswordFaults & { present: string[] };
type Typed = NewPassword & { present: string };
type Trouble = {
  status: number;
  headers?: Record<string, string>;
  notice?: string;
  faults?: Faults;
};

export function answerPassword(visit: OwnVisit): Response {
  const isChanged = visit.context.query === "changed=yes";
  return answerForm(visit, { status: 200 }, isChanged);
}

export async function answerPasswordForm(visit: OwnVisit): Promise<Response> {
  const { fields, account } = visit;
  const typed = { present: fields.get("present") ?? "", ...readNewPassword(fields) };
  // Validate before counting or hashing: a typo in the new password must not use up an attempt.
  const faults = findFaults(account, typed);
  if (Object.values(faults).some((list) => list.length > 0))
    return answerForm(visit, { status: 422, faults });
  return await change(visit, typed);
}

function findFaults({ email, displayName, appSlugs }: OwnAccount, typed: Typed): Faults {
  const names = [email, ...(displayName === null ? [] : [displayName]), ...appSlugs];
  return {
    present: typed.present === "" ? ["Enter your current password."] : [],
    ...findNewPasswordFaults(typed, names),
  };
}

async function change(visit: OwnVisit, { present, password }: Typed): Promise<Response> {
  const { deps, shown, account, context } = visit;
  const device = readDeviceCookie(context.request, deps.identitySecrets);
  const from = { email: account.email, address: context.address, device };
  const attempt = await beginSignIn(deps, from);
  if (!("isDisabled" in attempt)) return answerForm(visit, describeThrottle(attempt.waitS));
  const right = await verifyPassword(deps, attempt, present);
  if (right === undefined || attempt.known?.userId !== account.id) return answerWrong(visit);
  const session = makeSession(deps, account.id);
  const isDone = await changeOwnPassword(deps, shown, {
    proof: right.proof,
    password: await makePasswordRecord(deps, account.id, password),
    session,
    sessionMaxS: deps.identity.sessionMaxS,
    attempt: from,
    isKnownDevice: attempt.isKnownDevice,
    deviceName: toDeviceName(context.request.headers.get("user-agent")),
  });
  // Another request has just changed the password, which ended this session.
  if (!isDone) throw new NotSignedIn();
  return answerSeeOther(CHANGED, { cookies: toSessionCookies(session, deps.identity) });
}

function answerWrong(visit: OwnVisit): Response {
  const present = ["This is not your current password."];
  return answerForm(visit, { status: 422, faults: { present, password: [], again: [] } });
}

const NO_FAULTS: Faults = { present: [], password: [], again: [] };

function answerForm(
  { deps, account, token }: OwnVisit,
  { status, headers, notice, faults = NO_FAULTS }: Trouble,
  isChanged = false,
): Response {
  const fields = [
    renderEmailField({ value: account.email, isFixed: true }),
    renderPasswordField({
      name: "present",
      label: "Current password",
      autocomplete: "current-password",
      faults: faults.present,
      isFirst: !isChanged,
    }),
    ...renderNewPasswordFields(faults, { isFirst: false }),
  ];
  const form = {
    action: ACCOUNT_PASSWORD_PATH,
    token: { name: TOKEN_FIELD, value: token },
    fields,
  };
  return answerAccountPage(deps, {
    tab: "Password",
    title: "Password",
    status,
    ...(headers === undefined ? {} : { headers }),
    body: html`<p class="lead">A new password ends all your other sessions</p>
${isChanged && renderNotice("remark", "Password changed. All your other sessions have ended.")}
${notice !== undefined && renderNotice("fault", notice)}
${account.hasPassword ? renderForm({ ...form, button: "Change password" }) : html`<p class="empty">You have no password. Ask your administrator for a link to set a password.</p>`}`,
  });
}
