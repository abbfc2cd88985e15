/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/account/password`: changes the password, given the current one. Wrong guesses share the sign-in limits. A change ends
 * all other sessions.
 *
 * @module
 */

import { type Part, type Rejection, redirect, renderForm } from "../../pages/mod.ts";
import {
  changeOwnPassword,
  changeOwnProfile,
  type OwnSecondFactor,
  PICTURE_MAX_CHARS,
} from "../../records/account_settings/mod.ts";
import { NotSignedIn, SignInTooOld } from "../../records/actions/mod.ts";
import { isDisplayName, NAME_MAX_CHARS } from "../../records/people/mod.ts";
import { beginSignIn } from "../../records/sessions/mod.ts";
import { isStorableText } from "../../std/text.ts";
import { readDeviceCookie, toSessionCookies } from "../cookies.ts";
import { makeSessionStart } from "../page_deps.tsx";
import { makePasswordRecord, verifyPassword } from "../passwords/password.ts";
import { ACCOUNT_PASSWORD_PATH, ACCOUNT_PATH, CONSOLE_PATH } from "../settings.ts";
import { describeThrottle } from "../sign_in_page.tsx";
import {
  EMAIL,
  makeAccountForm,
  makeNewPasswordFields,
  type OwnVisit,
  PASSWORD,
  rejectEmpty,
  respondWithAccountPage,
  type TabName,
} from "./page.tsx";

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
  if (!("isDisabled" in attempt)) return describeThrottle(attempt.waitS);
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
  return redirect(`${ACCOUNT_PASSWORD_PATH}?${CHANGED}`, {
    cookies: toSessionCookies(start.session, deps.identity),
  });
}

// `/account`: a person's name and picture URL, which apps receive.

export const profilePage = makeAccountForm({
  tab: "Profile",
  title: "Profile",
  lead: "Apps receive this profile and your email address",
  notices: new Map([["saved=yes", "Profile saved."]]),
  read: ({ account }) => account,
  fields: ({ displayName, avatarUrl }) => ({
    name: {
      label: "Name",
      autocomplete: "name",
      maxLength: NAME_MAX_CHARS,
      value: displayName ?? "",
      isOptional: true,
      isRetained: true,
      check: findNameIssues,
    },
    picture: {
      label: "Picture URL",
      type: "url",
      autocomplete: "photo",
      hint: "Apps load the picture from this URL. Rowhouse never does.",
      maxLength: PICTURE_MAX_CHARS,
      value: avatarUrl ?? "",
      isOptional: true,
      isRetained: true,
      check: findPictureIssues,
    },
  }),
  form: ({ isAdministrator }, { deps }) => ({
    button: "Save",
    below: deps.hasConsole && isAdministrator && (
      <p class="more">
        <a href={CONSOLE_PATH}>Back to the Console</a>
      </p>
    ),
  }),
  run: async ({ deps }, _account, { name, picture }) => {
    await changeOwnProfile(deps, {
      displayName: name === "" ? null : name,
      avatarUrl: picture === "" ? null : new URL(picture).href,
    });
    return redirect(`${ACCOUNT_PATH}?saved=yes`);
  },
});

function findNameIssues(name: string): string[] {
  if ([...name].length > NAME_MAX_CHARS) return [`Use at most ${NAME_MAX_CHARS} characters.`];
  return isDisplayName(name) ? [] : ["Use visible characters on one line."];
}

/** Apps put the URL into their pages, so only `https:` URLs without credentials are valid. */
function findPictureIssues(text: string): string[] {
  if (text === "") return [];
  const url = URL.canParse(text) && isStorableText(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "")
    return ["Enter a URL that begins with https://, or leave this field empty."];
  return url.href.length > PICTURE_MAX_CHARS
    ? [`Use at most ${PICTURE_MAX_CHARS} characters.`]
    : [];
}

// The confirmation page before a second factor or a linked account is removed. Its form is sent to
// the page that lists the item.

/** The field that distinguishes the forms of a page. */
export const ACTION_FIELD = "act";

type Removal = {
  /** The page that lists the item and accepts the form. */
  action: string;
  title: string;
  /** The consequence of the removal. */
  text: Part;
  hidden?: Readonly<Record<string, string>>;
};

/** The item that the query asks to remove. */
export function readRemoved(query: string): string | undefined {
  return new URLSearchParams(query).get("remove") ?? undefined;
}

/** The confirmation page for a second factor. @throws {SignInTooOld} */
export function respondWithRemoval(
  visit: OwnVisit,
  { isFresh, totpSince, passkeys }: OwnSecondFactor,
  { text, ...removal }: Removal,
): Response {
  const isLast = passkeys + (totpSince === null ? 0 : 1) === 1;
  const body = (
    <>
      <p>{text}</p>
      {isLast && (
        <p class="notice notice-warn">
          This is your only second factor. Without it, your password or provider is enough to sign
          in, and your recovery codes stop working.
        </p>
      )}
    </>
  );
  return respondWithQuestion(visit, {
    tab: "Security",
    intent: "remove",
    isFresh,
    ...removal,
    text: body,
  });
}

type Question = Removal & { tab: TabName; intent: string; isFresh: boolean };

/** @throws {SignInTooOld} */
export function respondWithQuestion(
  { deps, token }: OwnVisit,
  { tab, intent, isFresh, action, title, text, hidden }: Question,
): Response {
  if (!isFresh) throw new SignInTooOld();
  const body = (
    <>
      {text}
      {renderForm({
        action,
        token,
        hidden: { [ACTION_FIELD]: intent, ...hidden },
        button: title,
      })}
      <p class="more">
        <a href={action}>Cancel</a>
      </p>
    </>
  );
  return respondWithAccountPage(deps, { tab, title, body });
}
