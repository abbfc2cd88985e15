/** @jsxImportSource #html @jsxRuntime automatic */
/** The sign-in form, for the account page or for an app, and the response to it. @module */
import { readCookies } from "../http/mod.ts";
import { type Part, redirect } from "../pages/mod.ts";
import { EMAIL, PASSWORD, rejectEmpty } from "./account_fields.ts";
import { clearPages, IDENTITY_COOKIE } from "./cookies.ts";
import { makeOpenForm, type OpenVisit } from "./open_page.tsx";
import { PASSKEY_FIELD } from "./passkey_form.tsx";
import { offerPasskey, signInWithPasskey } from "./passkey_sign_in.tsx";
import {
  ACCOUNT_SECURITY_PATH,
  ADD_FACTOR_PATH,
  FORGOT_PATH,
  SECOND_FACTOR_PATH,
} from "./paths.ts";
import { renderProviders } from "./provider_buttons.tsx";
import { findRelyingParty } from "./relying_party.ts";
import { type Admitted, signIn } from "./sign_in.ts";

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
  /** Whether the browser sent conflicting cookies, which the empty form clears. */
  isConflict?: boolean;
  /** Result of the previous action, such as a sign-out. */
  done?: string | undefined;
};
type SignInVisit = OpenVisit & { target: SignInTarget };

export const signInPage = makeOpenForm({
  title: "Sign in",
  read: ({ target }: SignInVisit) => target,
  fields: ({ email }, { deps }) => ({
    email: {
      ...EMAIL,
      // The browser also suggests passkeys in the field.
      autocomplete:
        findRelyingParty(deps.identity) !== undefined ? "username webauthn" : "username",
      value: email,
      isRetained: true,
      check: unlessPasskey(rejectEmpty("Enter your email address.")),
    },
    password: { ...PASSWORD, check: unlessPasskey(rejectEmpty("Enter your password.")) },
  }),
  form: (target, { deps, context, token }, rejection) => {
    const { action, done, formTargets = [], isConflict = false } = target;
    const isAgain = rejection?.notice !== undefined;
    const passkey = offerPasskey(deps, context.request, { action, token, isAgain });
    return {
      lead: renderLead(target),
      done,
      above: renderProviders(deps.providers, action),
      button: "Sign in",
      below: (
        <>
          {passkey.part}
          <p class="aside">
            {deps.hasMail ? (
              <a href={`${FORGOT_PATH}${toQuery(action)}`}>Forgot your password?</a>
            ) : (
              "Forgot your password? Ask your administrator for a link to set a new password."
            )}
          </p>
        </>
      ),
      isFocused: true,
      scripts: passkey.part === undefined ? [] : ["passkey"],
      // Some pages ask a signed-in person to sign in again.
      hasSignOut: readCookies(context.request.headers.get("cookie"), IDENTITY_COOKIE).length > 0,
      cookies: [...passkey.cookies, ...(isConflict ? clearPages(deps.identity) : [])],
      formTargets,
    };
  },
  sentTo: ({ target }) => target.action,
  run: async ({ deps, context, fields }, target, typed) => {
    const passkey = readPasskey(fields);
    const result =
      passkey === undefined
        ? await signIn(deps, context, typed)
        : await signInWithPasskey(deps, context, passkey);
    if (result.kind === "throttled") return describeThrottle(result.waitS);
    if ("cookies" in result) return redirectAdmitted(result, target);
    return { status: 422, notice: LABELS[result.kind] };
  },
});

/** Scripts can send the hidden fields of both forms: a password takes precedence. */
function readPasskey(sent: OpenVisit["fields"]): string | undefined {
  return sent.has("password") ? undefined : sent.get(PASSKEY_FIELD);
}

function unlessPasskey(check: (value: string) => string[]) {
  return (value: string, sent: OpenVisit["fields"]) =>
    readPasskey(sent) === undefined ? check(value) : [];
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

const LABELS = {
  wrong: "The email address or password is incorrect. Please check both and try again.",
  stale: "The request expired. Please try again.",
  rejected: "This passkey was not accepted. Try another passkey, or sign in another way.",
} as const;

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

function renderLead({ app, lead }: SignInTarget): Part {
  if (lead !== undefined) return lead;
  if (app === undefined) return "to see and open your apps";
  return (
    <>
      to continue to <strong>{app.slug}</strong> at {app.host}
    </>
  );
}
