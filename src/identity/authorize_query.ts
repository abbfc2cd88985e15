/** The app on whose behalf someone signs in, and where the person returns to: read from a query, checked against targets. @module */
import { APP_SLUG, type AppTargets } from "../accounts/apps/mod.ts";
import { Problem } from "../problem.ts";
import { readRedirectUri } from "./redirect_uri.ts";
import type { IdentitySettings } from "./settings.ts";

export type AuthorizeQuery = { slug: string; redirectUri: string };

/** @throws {Problem} invalid_request — `app` or `redirect_uri` missing, given twice or malformed */
export function readAuthorizeQuery(query: string): AuthorizeQuery {
  const parameters = new URLSearchParams(query);
  const [slug, ...moreSlugs] = parameters.getAll("app");
  const [redirectUri, ...moreUris] = parameters.getAll("redirect_uri");
  if (slug === undefined || moreSlugs.length > 0 || !APP_SLUG.test(slug))
    throw refuse("The link does not say clearly which app you came from.");
  if (redirectUri === undefined || moreUris.length > 0)
    throw refuse("The link does not say clearly where to send you back to.");
  return { slug, redirectUri };
}

/** @throws {Problem} unknown_app; invalid_request — the app has not registered where to return to */
export function checkAuthorizeQuery(
  { redirectUri }: AuthorizeQuery,
  app: AppTargets | undefined,
): { app: AppTargets; href: string } {
  if (app === undefined) throw new Problem("unknown_app");
  const href = readRedirectUri(redirectUri, app.targets);
  if (href === undefined) throw refuseReturn();
  return { app, href };
}

/** Browsers apply form-action to redirects after a form, and an app may redirect its visitor to a sibling host. */
export function toFormTargets(
  { cookieDomain }: Pick<IdentitySettings, "cookieDomain">,
  href: string,
): string[] {
  const { origin, protocol } = new URL(href);
  const siblings = cookieDomain === undefined ? [] : [`${protocol}//*.${cookieDomain}:*`];
  return [origin, ...siblings];
}

function refuseReturn(): Problem {
  return refuse(
    "The app has not registered the address that this link would send you back to. You have not been signed in, and nothing was sent there.",
  );
}

function refuse(message: string): Problem {
  return new Problem("invalid_request", { message });
}
