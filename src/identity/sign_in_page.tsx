/** @jsxImportSource #html @jsxRuntime automatic */
/** The sign-in form, for the account page or for an app, and the response to it. @module */

import type { RequestContext } from "../http/mod.ts";
import { type Html, type Part, redirect } from "../pages/mod.ts";
import { beginPasskey, finishPasskeySignIn } from "../records/sessions/mod.ts";
import { EMAIL, PASSWORD, rejectEmpty } from "./account/page.tsx";
import { clearPages, markDevice, readDeviceCookie, toSessionCookies } from "./cookies.ts";
import { renderProviders } from "./oidc/buttons.tsx";
import { makeOpenForm, makeSessionStart, type OpenVisit, type PageDeps } from "./page_deps.tsx";
import { PASSKEY_FIELD, renderPasskeyForm, toRequestOptions } from "./passkeys/form.tsx";
import {
  clearChallenge,
  makeChallenge,
  readAssertion,
  readChallenge,
  verifyAssertion,
} from "./passkeys/response.ts";
import { findRelyingParty, PATHS } from "./settings.ts";
import { type Admitted, signIn } from "./sign_in.ts";

// Sign-in with a passkey and no password. User verification makes the passkey both factors. The
// passkey names its owner, so the page reveals nothing about any account.

const PURPOSE = { kind: "sign-in" } as const;

/** The button of a sign-in page and its cookies; empty where browsers do not support passkeys. */
function offerPasskey(
  deps: PageDeps,
  request: Request,
  form: { action: string; token: string; isAgain: boolean },
): { part: Html | undefined; cookies: string[] } {
  const party = findRelyingParty(deps.identity);
  if (party === undefined) return { part: undefined, cookies: [] };
  const { challenge, cookies } = makeChallenge(deps, request, {
    purpose: PURPOSE,
    isNew: form.isAgain,
  });
  const part = (
    <div data-passkey-part hidden>
      <p class="or">or</p>
      {renderPasskeyForm({
        ...form,
        kind: "sign-in",
        options: toRequestOptions(party, { challenge }),
        button: "Sign in with a passkey",
      })}
    </div>
  );
  return { part, cookies };
}

type PasskeySignIn =
  | { kind: "done"; cookies: string[] }
  | { kind: "throttled"; waitS: number }
  /** The challenge expired or was already used. */
  | { kind: "stale" }
  /** The response is invalid, for any reason. */
  | { kind: "rejected" };

/** Signs in with a passkey's response, or returns the reason for the failure. */
async function signInWithPasskey(
  deps: PageDeps,
  context: RequestContext,
  text: string,
): Promise<PasskeySignIn> {
  const assertion = readAssertion(text);
  const party = findRelyingParty(deps.identity);
  const challenge = readChallenge(deps, context.request, PURPOSE);
  if (assertion === undefined || party === undefined) return { kind: "rejected" };
  if (challenge === undefined) return { kind: "stale" };
  const { address } = context;
  const attempt = await beginPasskey(deps, { credentialId: assertion.id, address });
  if (!("stored" in attempt)) return { kind: "throttled", waitS: attempt.waitS };
  const { stored } = attempt;
  if (stored === undefined) return { kind: "rejected" };
  const verified = await verifyAssertion(
    assertion,
    { party, challenge },
    { stored, isOnlyFactor: true },
  );
  if (verified === undefined) return { kind: "rejected" };
  return await startSession(deps, context, { stored, challenge, ...verified });
}

type Verified = Pick<
  Parameters<typeof finishPasskeySignIn>[1],
  "stored" | "challenge" | "signCount"
>;

async function startSession(
  deps: PageDeps,
  { request, address }: RequestContext,
  verified: Verified,
): Promise<PasskeySignIn> {
  const { userId } = verified.stored;
  const start = makeSessionStart(deps, request, userId);
  const device = readDeviceCookie(request, deps.identitySecrets);
  const outcome = await finishPasskeySignIn(deps, {
    ...verified,
    ...start,
    address,
    isKnownDevice: device?.userIds.includes(userId) === true,
  });
  if (outcome !== "done") return { kind: outcome === "replayed" ? "stale" : "rejected" };
  const known = markDevice(deps, request, { userId, hasFactor: true });
  return {
    kind: "done",
    cookies: [...toSessionCookies(start.session, deps.identity), known, clearChallenge()],
  };
}

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

/** Redirects to the destination, or to the second factor first; its query holds the destination. */
export function redirectAdmitted(
  { kind, cookies }: Admitted,
  { location, action }: Pick<SignInTarget, "location" | "action">,
): Response {
  const query = toQuery(action);
  if (kind === "pending") return redirect(`${PATHS.secondFactor}${query}`, { cookies });
  if (kind === "asked" && location !== PATHS.security)
    return redirect(`${PATHS.addFactor}${query}`, { cookies });
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

/** The ways to sign in that have other limits. They are the same for every address: it must not show whether it has an account. */
function listOtherWays({ providers, identity, hasMail }: PageDeps, isPasskey: boolean): string[] {
  return [
    ...providers.list.map(({ settings }) => settings.label),
    ...(isPasskey ? ["your password"] : []),
    ...(!isPasskey && findRelyingParty(identity) !== undefined ? ["a passkey"] : []),
    ...(!isPasskey && hasMail ? ["a link by email"] : []),
  ];
}

const OR = new Intl.ListFormat("en", { type: "disjunction" });

/** The rejection of an attempt above its limits, with the `ways` that do not have to wait. */
export function describeThrottle(
  deps: Pick<PageDeps, "now">,
  waitS: number,
  ways: readonly string[] = [],
) {
  return {
    status: 429,
    headers: { "retry-after": String(waitS) },
    notice: (
      <>
        Too many sign-in attempts. {renderWait(deps, waitS)}
        {ways.length > 0 && ` Or use ${OR.format(ways)}.`}
      </>
    ),
  };
}

const MINUTE_MS = 60_000;

/** How long to wait, and until when: a script shows the reader's local time. */
export function renderWait({ now }: Pick<PageDeps, "now">, waitS: number): Html {
  const end = Math.ceil((now() + waitS * 1000) / MINUTE_MS) * MINUTE_MS;
  const text = new Date(end).toISOString();
  return (
    <>
      Please wait {toWait(waitS)}, until{" "}
      <time datetime={text}>{text.slice(0, 16).replace("T", " ")} UTC</time>, then try again.
    </>
  );
}

const DAY_MINUTES = 1440;

/** The time to wait, such as "5 minutes". */
function toWait(seconds: number): string {
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
