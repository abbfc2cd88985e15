/** @jsxImportSource #html @jsxRuntime automatic */
/** The sign-in form, for the account page or for an app, and the response to it. @module */

import type { Part } from "../../pages/mod.ts";
import { redirectAdmitted, toQuery } from "../admit.ts";
import { clearPages } from "../cookies.ts";
import { EMAIL, PASSWORD, rejectEmpty } from "../fields.ts";
import { renderProviders } from "../oidc/buttons.tsx";
import { makeOpenForm, type OpenVisit, type PageDeps } from "../page_deps.tsx";
import { PASSKEY_FIELD } from "../passkeys/form.tsx";
import { PATHS } from "../paths.ts";
import { findRelyingParty } from "../settings.ts";
import { describeThrottle } from "../throttle.tsx";
import { offerPasskey, signInWithPasskey } from "./passkey.tsx";
import { signIn } from "./password.ts";

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
              <a href={`${PATHS.forgot}${toQuery(action)}`}>Forgot your password?</a>
            ) : (
              "Forgot your password? Ask your administrator for a link to set a new password."
            )}
          </p>
        </>
      ),
      isFocused: true,
      scripts: passkey.part === undefined ? [] : ["passkey"],
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
    if (result.kind === "throttled")
      return describeThrottle(deps, result.waitS, listOtherWays(deps, passkey !== undefined));
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

const LABELS = {
  wrong: "The email address or password is incorrect. Please check both and try again.",
  stale: "The request expired. Please try again.",
  rejected: "This passkey was not accepted. Try another passkey, or sign in another way.",
} as const;

/** The ways to sign in that have other limits. They are the same for every address: it must not show whether it has an account. */
function listOtherWays({ providers, identity, hasMail }: PageDeps, isPasskey: boolean): string[] {
  return [
    ...providers.list.map(({ settings }) => settings.label),
    ...(isPasskey ? ["your password"] : []),
    ...(!isPasskey && findRelyingParty(identity) !== undefined ? ["a passkey"] : []),
    ...(!isPasskey && hasMail ? ["a link by email"] : []),
  ];
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
