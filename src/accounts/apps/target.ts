/**
 * Targets: the origins of an app, and the URLs that a person can return to. They are canonical https URLs under the cookie's
 * domain, without wildcards. Domains that end in `localhost` also allow http.
 *
 * @module
 */
import { type Detail, Problem } from "../../problem.ts";
import { quote } from "../../std/quote.ts";
import { RETURN_URLS, readReturnUrl } from "./return_url.ts";

export type Target = { kind: "origin" | "redirect"; url: string; origin: string };
/** An app that a person can return to. */
export type AppTargets = { id: string; slug: string; targets: Target[] };

/**
 * The target of a URL that an operator typed.
 *
 * @throws {Problem} invalid_request — names the URL and the expected format
 */
export function readTarget(
  kind: Target["kind"],
  text: string,
  cookieDomain: string | undefined,
): Target {
  const [target] = readTargets(
    { origins: kind === "origin" ? [text] : [], redirects: kind === "redirect" ? [text] : [] },
    cookieDomain,
  );
  if (target === undefined) throw new Error("A URL gave no target");
  return target;
}

/** URLs as typed, by kind. */
export type TypedTargets = { origins: readonly string[]; redirects: readonly string[] };

/**
 * The targets of URLs that an operator typed.
 *
 * @throws {Problem} invalid_request — names every rejected URL and the expected format
 */
export function readTargets(
  { origins, redirects }: TypedTargets,
  cookieDomain: string | undefined,
): Target[] {
  const read = [
    ...origins.map((text, position) => ({ kind: "origin" as const, text, position })),
    ...redirects.map((text, position) => ({ kind: "redirect" as const, text, position })),
  ].map(({ kind, text, position }) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const issue =
      url === undefined ? "must be a URL" : findIssue(url, { kind, text, cookieDomain });
    if (url === undefined || issue !== undefined)
      return {
        path: `/${kind}s/${position}`,
        message: `Cannot use ${kind} ${quote(text)}: ${issue}`,
      };
    return toTarget(kind, url);
  });
  const issues = read.flatMap((target) => ("message" in target ? [target] : []));
  if (issues.length > 0) throw reject(issues);
  return read.flatMap((target) => ("message" in target ? [] : [target]));
}

function reject(issues: readonly Detail[]): Problem {
  const [first] = issues;
  if (first !== undefined && issues.length === 1)
    return new Problem("invalid_request", { message: first.message });
  const message = `Cannot use ${issues.length} of these URLs`;
  return new Problem("invalid_request", { message, details: [...issues] });
}

function toTarget(kind: Target["kind"], url: URL): Target {
  const { origin } = url;
  return { kind, url: kind === "origin" ? origin : origin + url.pathname, origin };
}

type Wanted = { kind: Target["kind"]; text: string; cookieDomain: string | undefined };

function findIssue(url: URL, { kind, text, cookieDomain }: Wanted): string | undefined {
  const canonical = kind === "origin" ? url.origin : url.origin + url.pathname;
  const secure =
    url.protocol === "https:" ||
    (url.protocol === "http:" && /(^|\.)localhost$/.test(cookieDomain ?? ""));
  if (cookieDomain === undefined) return "set COOKIE_DOMAIN first, the parent domain of all apps";
  if (!secure) return "must begin with https://";
  if (text.includes("*")) return "wildcards are not supported: register each origin";
  if (!`.${url.hostname}`.endsWith(`.${cookieDomain}`))
    return `must be a host under ${cookieDomain}`;
  if (text !== canonical) return `write it as ${JSON.stringify(canonical)}`;
  if (readReturnUrl(text) === undefined) return `sign-in cannot return to it: ${RETURN_URLS}`;
  return undefined;
}
