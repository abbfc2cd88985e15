/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * `/set-password`: a link sets a password once, signs the person in, and continues to the app that is stored with the link.
 * It also accepts an invitation. Opening the page does not use up the link, so link previews do no harm.
 *
 * @module
 */
import { findPasswordLink, type PasswordLink } from "../accounts/people/mod.ts";
import { signInByLink } from "../accounts/sessions/mod.ts";
import type { RequestContext } from "../http/mod.ts";
import { type Html, respondWithPage } from "../pages/mod.ts";
import { EMAIL, makeNewPasswordFields } from "./account_fields.ts";
import { toFormTargets } from "./authorize_query.ts";
import { readDeviceCookie } from "./cookies.ts";
import { makeOpenForm, type OpenVisit } from "./open_page.tsx";
import { makeSignInStart, type PageDeps } from "./page_deps.ts";
import { makePasswordRecord } from "./password_record.ts";
import { LOGIN_PATH, PASSWORD_SET, SET_PASSWORD_PATH } from "./paths.ts";
import { renderInvitedProviders } from "./provider_buttons.tsx";
import { readRedirectUri } from "./redirect_uri.ts";
import { toReturnQuery } from "./return_to.ts";
import { toCookies } from "./sign_in.ts";
import { redirectAdmitted } from "./sign_in_page.tsx";

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
      ? respondWithUnusableLink({ isIncomplete: !isSent && context.query === "" })
      : { text, link, providers: renderInvited(deps, link) };
  },
  title: ({ providers }) => (providers === false ? "Choose a password" : "Accept your invitation"),
  fields: ({ link }) => ({
    email: { ...EMAIL, value: link.email, isFixed: true },
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
  sentTo: () => SET_PASSWORD_PATH,
  run: ({ deps, context }, { link }, { password }) =>
    handleNewPassword(deps, context, { link, password }),
});

function renderInvited({ providers }: PageDeps, link: PasswordLink): Html | false {
  const { isInvitation, email } = link;
  return isInvitation && renderInvitedProviders(providers, { email, query: toTarget(link).query });
}

/** Continues to the app, or to the second factor first. */
async function handleNewPassword(
  deps: PageDeps,
  { request, address }: RequestContext,
  { link, password }: { link: PasswordLink; password: string },
): Promise<Response> {
  const { userId } = link;
  const start = makeSignInStart(deps, request, userId);
  const outcome = await signInByLink(deps, link, {
    password: await makePasswordRecord(deps, userId, password),
    ...start,
    address,
  });
  if (outcome === "wrong") return respondWithUnusableLink({ isIncomplete: false });
  const device = readDeviceCookie(request, deps.identitySecrets);
  const cookies = toCookies(deps, outcome, { userId, ...start, device });
  const { location, query } = toTarget(link);
  return redirectAdmitted(
    { kind: outcome, cookies },
    { location, action: `${LOGIN_PATH}${query}` },
  );
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
function respondWithUnusableLink({ isIncomplete }: { isIncomplete: boolean }): Response {
  const why = isIncomplete
    ? "The link is incomplete: its end is missing."
    : "The link was used, replaced by a newer link, withdrawn, or has expired. Each link works once.";
  const body = (
    <>
      <h1>This link cannot be used</h1>
      <p>{why}</p>
      <p>Ask your administrator for a new link. If you already set your password, sign in.</p>
      <p>
        <a class="button button-primary" href={LOGIN_PATH}>
          Sign in
        </a>
      </p>
    </>
  );
  return respondWithPage({ title: "This link cannot be used", body }, { status: 404 });
}
