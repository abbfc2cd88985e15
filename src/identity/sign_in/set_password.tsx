/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/set-password`: a link sets a password once, signs the person in, and continues to the app that is stored with the link. It
 * also accepts an invitation. Opening the page does not use up the link, so link previews do no harm.
 *
 * @module
 */

import type { RequestContext } from "../../http/mod.ts";
import { type Html, respondWithMessage } from "../../pages/mod.ts";
import { findPasswordLink, type PasswordLink } from "../../records/people/mod.ts";
import { signInByLink } from "../../records/sessions/mod.ts";
import { admit, redirectAdmitted } from "../admit.ts";
import { readRedirectUri, toFormTargets } from "../authorize_query.ts";
import { hasIdentityCookie } from "../cookies.ts";
import { EMAIL, makeNewPasswordFields, NAME } from "../fields.ts";
import { renderInvitedProviders } from "../oidc/buttons.tsx";
import { makeOpenForm, type OpenVisit, type PageDeps } from "../page_deps.tsx";
import { makePasswordRecord } from "../passwords/password.ts";
import { PASSWORD_SET, PATHS } from "../paths.ts";
import { toReturnQuery } from "../return_to.ts";

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
