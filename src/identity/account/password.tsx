/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/account/password`: changes the password, given the current one. Wrong guesses share the sign-in limits. A change ends
 * all other sessions.
 *
 * @module
 */

import { type Rejection, redirect } from "../../pages/mod.ts";
import { changeOwnPassword } from "../../records/account_settings/mod.ts";
import { NotSignedIn } from "../../records/actions/mod.ts";
import { beginSignIn } from "../../records/sessions/mod.ts";
import { readDeviceCookie, toSessionCookies } from "../cookies.ts";
import { EMAIL, makeNewPasswordFields, PASSWORD, rejectEmpty } from "../fields.ts";
import { makeSessionStart } from "../page_deps.tsx";
import { makePasswordRecord, verifyPassword } from "../passwords/password.ts";
import { PATHS } from "../paths.ts";
import { describeThrottle } from "../throttle.tsx";
import { makeAccountForm, type OwnVisit } from "./page.tsx";

const CHANGED = "changed=yes";

export const passwordPage = makeAccountForm({
  tab: "Password",
  title: "Password",
  lead: "A new password ends all your other sessions",
  notices: new Map([[CHANGED, "Password changed. All your other sessions have ended."]]),
  read: ({ account }) => account,
  fields: (account) => ({
    email: { ...EMAIL, value: account.email, isFixed: true },
    present: {
      ...PASSWORD,
      label: "Current password",
      check: rejectEmpty("Enter your current password."),
    },
    ...makeNewPasswordFields(account),
  }),
  form: ({ hasPassword }, { context }) =>
    hasPassword
      ? { button: "Change password", isFocused: context.query !== CHANGED }
      : {
          instead: (
            <p class="empty">
              You have no password. Ask your administrator for a link to set a password.
            </p>
          ),
        },
  // Fields are validated before counting or hashing: a typo in the new password must not use up an attempt.
  run: (visit, _account, { present, password }) => change(visit, { present, password }),
});

type Typed = { present: string; password: string };

async function change(
  visit: OwnVisit,
  { present, password }: Typed,
): Promise<Response | Rejection> {
  const { deps, account, context } = visit;
  const device = readDeviceCookie(context.request, deps.identitySecrets);
  const from = { email: account.email, address: context.address, device };
  const attempt = await beginSignIn(deps, from);
  if (!("isDisabled" in attempt)) return describeThrottle(deps, attempt.waitS);
  const right = await verifyPassword(deps, attempt, present);
  if (right === undefined || attempt.known?.userId !== account.id)
    return { status: 422, issues: { present: ["This is not your current password."] } };
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
  return redirect(`${PATHS.password}?${CHANGED}`, {
    cookies: toSessionCookies(start.session, deps.identity),
  });
}
