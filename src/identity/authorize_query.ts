/** Reads the app and the return address of a sign-in from the query, and checks them against the app's targets. @module */

import { Problem } from "../problem.ts";
import { APP_SLUG, type AppTargets, readReturnUrl, type Target } from "../records/apps/mod.ts";
import type { IdentitySettings } from "./settings.ts";

type AuthorizeQuery = { slug: string; redirectUri: string };

/** @throws {Problem} invalid_request — `app` or `redirect_uri` missing, given twice or malformed */
export function readAuthorizeQuery(query: string): AuthorizeQuery {
  const parameters = new URLSearchParams(query);
  const [slug, ...moreSlugs] = parameters.getAll("app");
  const [redirectUri, ...moreUris] = parameters.getAll("redirect_uri");
  if (slug === undefined || moreSlugs.length > 0 || !APP_SLUG.test(slug))
    throw reject("The link must contain exactly one valid app name.");
  if (redirectUri === undefined || moreUris.length > 0)
    throw reject("The link must contain exactly one return address.");
  return { slug, redirectUri };
}

/** @throws {Problem} unknown_app; invalid_request — the app has not registered the return address */
export function checkAuthorizeQuery(
  { redirectUri }: AuthorizeQuery,
  app: AppTargets | undefined,
): { app: AppTargets; href: string } {
  if (app === undefined) throw new Problem("unknown_app");
  const href = readRedirectUri(redirectUri, app.targets);
  if (href === undefined) throw rejectReturn();
  return { app, href };
}

/** Includes sibling hosts: browsers apply `form-action` to redirects after a form, and an app can redirect to a sibling. */
export function toFormTargets(
  { cookieDomain }: Pick<IdentitySettings, "cookieDomain">,
  href: string,
): string[] {
  const { origin, protocol } = new URL(href);
  const siblings = cookieDomain === undefined ? [] : [`${protocol}//*.${cookieDomain}:*`];
  return [origin, ...siblings];
}

function rejectReturn(): Problem {
  return reject(
    "The app has not registered the return address of this link. You have not been signed in, and nothing was sent to that address.",
  );
}

function reject(message: string): Problem {
  return new Problem("invalid_request", { message });
}

/** The parsed href of a `redirect_uri` that matches a target of the app; `undefined` for every other text. */
export function readRedirectUri(text: string, targets: readonly Target[]): string | undefined {
  const url = readReturnUrl(text);
  return url && targets.some((target) => isTarget(url, target)) ? url.href : undefined;
}

function isTarget(url: URL, target: Target): boolean {
  if (target.kind === "origin") return url.origin === target.url;
  return url.origin + url.pathname === target.url;
}
