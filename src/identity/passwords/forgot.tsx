/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/forgot`: emails a link that sets a new password and continues to the app that the person was signing in to. Response and
 * timing do not depend on whether the address has an account.
 *
 * @module
 */

import type { RequestContext } from "../../http/mod.ts";
import { type Html, redirect, respondWithMessage } from "../../pages/mod.ts";
import { askForPassword } from "../../records/mails/mod.ts";
import { findPasswordLink, type PasswordLink, toCanonicalEmail } from "../../records/people/mod.ts";
import { signInByLink } from "../../records/sessions/mod.ts";
import { toDurationText } from "../../std/duration.ts";
import { FORGOTTEN_LINK_LIFE_S } from "../../std/limits.ts";
import { isStorableText } from "../../std/text.ts";
import { EMAIL, makeNewPasswordFields, NAME, rejectEmpty } from "../account/page.tsx";
import { readRedirectUri, toFormTargets } from "../authorize_query.ts";
import { hasIdentityCookie } from "../cookies.ts";
import { renderInvitedProviders } from "../oidc/buttons.tsx";
import { makeOpenForm, type OpenVisit, type PageDeps } from "../page_deps.tsx";
import { checkReturnTo, readReturnTo, toReturnQuery } from "../return_to.ts";
import { PASSWORD_SET, PATHS } from "../settings.ts";
import { admit } from "../sign_in.ts";
import { describeThrottle, redirectAdmitted } from "../sign_in_page.tsx";
import { makePasswordRecord } from "./password.ts";

const TITLE = "Forgot your password?";

export const forgotPage = makeOpenForm({
  title: TITLE,
  read: readForgot,
  fields: () => ({
    email: { ...EMAIL, isRetained: true, check: rejectEmpty("Enter your email address.") },
  }),
  form: ({ back }) => ({
    lead: "We will email you a link to set a new password",
    button: "Send link",
    below: (
      <p class="aside">
        <a href={back}>Back to sign-in</a>
      </p>
    ),
    isFocused: true,
  }),
  sentTo: ({ context }) => `${PATHS.forgot}${toReturnQuery(readReturnTo(context.query))}`,
  run: async ({ deps, context }, { returnTo }, typed) => {
    const canonical = toCanonicalEmail(typed.email);
    // An address that PostgreSQL cannot store has no account, but must use up an attempt like any other.
    const email = isStorableText(canonical) ? canonical : "";
    const waitS = await askForPassword(deps, {
      email,
      address: context.address,
      returnTo: returnTo.kind === "app" ? returnTo : undefined,
    });
    if (waitS > 0) return describeThrottle(deps, waitS);
    const query = new URLSearchParams(toReturnQuery(returnTo));
    return redirect(`${PATHS.forgot}?${new URLSearchParams([["sent", "yes"], ...query])}`);
  },
});

/** @throws {Problem} unknown_app; invalid_request — the return address is invalid */
async function readForgot({ deps, context }: OpenVisit) {
  if (!deps.hasMail) return respondWithoutMail();
  const returnTo = readReturnTo(context.query);
  const { back } = await checkReturnTo(deps, context, returnTo);
  const isSent = new URLSearchParams(context.query).has("sent");
  return isSent && context.request.method === "GET" ? respondWithSent(back) : { returnTo, back };
}

function respondWithSent(back: string): Response {
  const text = (
    <>
      <p>
        If this address has an account with a password, we sent an email with a link. The link works
        once and expires in {toDurationText(FORGOTTEN_LINK_LIFE_S)}.
      </p>
      <p>
        If no email arrives within a few minutes, check your spam folder or contact your
        administrator.
      </p>
    </>
  );
  const next = { name: "Back to sign-in", path: back };
  return respondWithMessage({ title: "Check your email", text, next, hasSignOut: false });
}

function respondWithoutMail(): Response {
  const text = <p>Ask your administrator for a link to set a new password.</p>;
  const next = { name: "Back to sign-in", path: PATHS.login };
  return respondWithMessage({ title: TITLE, text, next, hasSignOut: false });
}

// `/set-password`: a link sets a password once, signs the person in, and continues to the app that
// is stored with the link. It also accepts an invitation. Opening the page does not use up the
// link, so link previews do no harm.

const LINK_FIELD = "link";

export const setPasswordPage = makeOpenForm({
  read: async ({ deps, context, fields }: OpenVisit) => {
    const isSent = context.request.method === "POST";
    const text = isSent
      ? (fields.get(LINK_FIELD) ?? "")
      : readLinkText(new URLSearchParams(context.query).getAll("token"));
    // Check before hashing: hashing is expensive, so it requires a valid link.
    const link = await findPasswordLink(deps, text);
    return link === undefined
      ? respondWithUnusableLink(context.request, !isSent && context.query === "")
      : { text, link, providers: renderInvited(deps, link) };
  },
  title: ({ providers }) => (providers === false ? "Choose a password" : "Accept your invitation"),
  fields: ({ link }) => ({
    email: { ...EMAIL, value: link.email, isFixed: true },
    ...(isNameless(link) && { name: { ...NAME, hint: "Apps show it to other people." } }),
    ...makeNewPasswordFields(link),
  }),
  form: ({ text, link, providers }, { deps }) => {
    const { location } = toTarget(link);
    return {
      lead: renderPurpose(link),
      above: providers,
      // In the body, not in the URL: proxies log URLs.
      hidden: { [LINK_FIELD]: text },
      button:
        link.returnTo === undefined
          ? "Set password"
          : `Set password and open ${link.returnTo.app.slug}`,
      isFocused: true,
      formTargets: location === PASSWORD_SET ? [] : toFormTargets(deps.identity, location),
    };
  },
  sentTo: () => PATHS.setPassword,
  run: ({ deps, context }, { link }, { name, password }) =>
    handleNewPassword(deps, context, { link, password, displayName: name || undefined }),
});

/** Whether the person accepts an invitation that was sent to an address only. */
function isNameless({ isInvitation, displayName }: PasswordLink): boolean {
  return isInvitation && displayName === undefined;
}

function renderInvited({ providers }: PageDeps, link: PasswordLink): Html | false {
  const { isInvitation, email } = link;
  return isInvitation && renderInvitedProviders(providers, { email, query: toTarget(link).query });
}

type NewPassword = { link: PasswordLink; password: string; displayName: string | undefined };

/** Continues to the app, or to the second factor first. */
async function handleNewPassword(
  deps: PageDeps,
  { request, address }: RequestContext,
  { link, password, displayName }: NewPassword,
): Promise<Response> {
  const { userId } = link;
  const admitted = await admit(deps, request, userId, async (start) =>
    signInByLink(deps, link, {
      password: await makePasswordRecord(deps, userId, password),
      ...start,
      ...{ address, displayName },
    }),
  );
  if (admitted === undefined) return respondWithUnusableLink(request, false);
  const { location, query } = toTarget(link);
  return redirectAdmitted(admitted, { location, action: `${PATHS.login}${query}` });
}

/** The destination, checked against the app's current targets, and the query that names it. */
function toTarget({ returnTo }: PasswordLink): { location: string; query: string } {
  const location = returnTo && readRedirectUri(returnTo.redirectUri, returnTo.app.targets);
  if (returnTo === undefined || location === undefined)
    return { location: PASSWORD_SET, query: "" };
  const { app, redirectUri } = returnTo;
  return { location, query: toReturnQuery({ kind: "app", slug: app.slug, redirectUri }) };
}

/** Empty if the query has more than one token. */
function readLinkText([text = "", ...more]: readonly string[]): string {
  return more.length === 0 ? text : "";
}

/** An invitation names up to 4 apps. */
function renderPurpose({ isInvitation, appSlugs }: PasswordLink): Html {
  const [first, ...more] = appSlugs;
  if (!isInvitation || first === undefined || more.length > 3)
    return <>for the account that signs you in to all your apps</>;
  return (
    <>
      You are invited to <b>{first}</b>
      {more.map((slug) => (
        <>
          , <b>{slug}</b>
        </>
      ))}
      .
    </>
  );
}

// The same page for every invalid link: it must not reveal the person or the reason.
function respondWithUnusableLink(request: Request, isIncomplete: boolean): Response {
  const why = isIncomplete
    ? "The link is incomplete: its end is missing."
    : "The link was used, replaced by a newer link, withdrawn, or has expired. Each link works once.";
  const text = (
    <>
      <p>{why}</p>
      <p>Ask your administrator for a new link. If you already set your password, sign in.</p>
    </>
  );
  const [next, hasSignOut] = [{ name: "Sign in", path: PATHS.login }, hasIdentityCookie(request)];
  return respondWithMessage(
    { title: "This link cannot be used", text, next, hasSignOut },
    { status: 404 },
  );
}
