/**
 * Targets: the origins of an app, and the URLs that a person can return to. They are canonical https URLs under the cookie's
 * domain, without wildcards. Domains that end in `localhost` also allow http.
 *
 * @module
 */

import { call, type Database, type Result } from "../../db/mod.ts";
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

// Registered origins in memory. The last known origins stay when the database is unavailable, so
// that a browser can read the response instead of a network error. Includes origins of disabled
// apps, whose pages read errors and sign out: sign-in rejects their return addresses itself.

export type Origins = {
  /** Whether any app has registered this origin. */
  readonly isRegistered: (origin: string) => boolean;
  /** Whether any app that is not disabled has registered this origin. */
  readonly isEnabled: (origin: string) => boolean;
  /** Whether this app has registered this origin. */
  readonly isOf: (origin: string, appId: string) => boolean;
  /** The id of the app with this slug, as far as this process knows. */
  readonly findAppId: (slug: string) => string | undefined;
  /** Reads again if the version of apps has changed. */
  readonly refresh: (version: number) => Promise<void>;
};

/** No origin is known before the first `refresh`. */
export function makeOrigins(db: Database): Origins {
  let byOrigin = new Map<string, Set<string>>();
  let enabled = new Set<string>();
  let bySlug = new Map<string, string>();
  let seen = 0;
  return {
    isRegistered: (origin) => byOrigin.has(origin),
    isEnabled: (origin) => enabled.has(origin),
    isOf: (origin, appId) => byOrigin.get(origin)?.has(appId) === true,
    findAppId: (slug) => bySlug.get(slug),
    refresh: async (version) => {
      if (version === seen) return;
      const rows = await call(db, "list_origins", {});
      byOrigin = groupByOrigin(rows);
      enabled = new Set(
        rows.flatMap(({ origin, is_disabled }) => (is_disabled ? [] : (origin ?? []))),
      );
      bySlug = new Map(rows.map((row) => [row.slug, row.app_id]));
      seen = version;
    },
  };
}

function groupByOrigin(rows: Result<"list_origins">): Map<string, Set<string>> {
  const byOrigin = new Map<string, Set<string>>();
  for (const { origin, app_id } of rows) {
    if (origin !== null) byOrigin.set(origin, (byOrigin.get(origin) ?? new Set()).add(app_id));
  }
  return byOrigin;
}
