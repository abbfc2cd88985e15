/**
 * The targets of apps: the URLs that sign-in returns to, and the origins that can call from browsers. Reads them, adds, removes
 * and replaces them, and finds the apps of an origin.
 *
 * @module
 */

import { call, type Database, type Result } from "../../db/mod.ts";
import { type Detail, Problem } from "../../problem.ts";
import { quote } from "../../std/quote.ts";
import { type Actor, runAction } from "../actions/action.ts";

// Reads URLs that sign-in can return to. Both the text as received *and* the URL as a browser
// parses it must match, so that no two parsers can disagree. Never checks that an app has
// registered the URL. @see https://www.rfc-editor.org/rfc/rfc9700#section-2.1

const MAX_CHARS = 2048;
/** Printable ASCII without characters that browsers and proxies parse differently. */
const CHARACTERS = /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/;
const PARTS = /^(https?):\/\/([^/?#]*)([^?#]*)/;
const DEFAULT_PORT = { http: ":80", https: ":443" } as const;
/** An escaped slash, backslash, U+0000, line break or percent sign. */
const HIDDEN = /%(2f|5c|00|0a|0d|25)/i;
/** The rules for registered URLs, which a browser has already parsed. */
const RETURN_URLS = `must have max ${MAX_CHARS} characters, no |, no empty label in the host, and in the path no empty or dot segment and no escaped slash, backslash, percent sign or control character`;

/** The parsed URL; `undefined` for text that sign-in cannot return to. */
export function readReturnUrl(text: string): URL | undefined {
  if (text.length > MAX_CHARS || !CHARACTERS.test(text)) return undefined;
  const [, scheme, authority, path] = PARTS.exec(text) ?? [];
  if (scheme === undefined || authority === undefined || path === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !isHostAsWritten(url, authority) || !isPlainPath(path)) return undefined;
  return url;
}

/** Whether the authority equals the parsed host, with or without the default port: no user, escape or empty label. */
function isHostAsWritten(url: URL, authority: string): boolean {
  if (url.hostname.split(".").includes("")) return false;
  const scheme = url.protocol === "https:" ? "https" : "http";
  return (
    authority === url.host || (url.port === "" && authority === url.hostname + DEFAULT_PORT[scheme])
  );
}

/**
 * Whether every segment has a name (except after a final slash) and none leads to a parent path, in plain or escaped form or
 * with parameters.
 */
function isPlainPath(path: string): boolean {
  if (HIDDEN.test(path)) return false;
  const segments = path.split("/").slice(1);
  return segments.every((segment, index) => {
    const name = segment.replace(/%2e/gi, ".").replace(/(;|%3b).*$/i, "");
    if (name === "" && segment === "") return index === segments.length - 1;
    return name !== "." && name !== "..";
  });
}

// Targets: the origins of an app, and the URLs that a person can return to. They are canonical
// https URLs under the cookie's domain, without wildcards. Domains that end in `localhost` also
// allow http.

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

/** Whether the apps are on this machine, where pages can be served without TLS. */
function isLocal(cookieDomain: string | undefined): boolean {
  return /(^|\.)localhost$/.test(cookieDomain ?? "");
}

/** An origin that an app can have. The port of the local example is that of Vite. */
export function toExampleOrigin(cookieDomain = "example.org"): string {
  return isLocal(cookieDomain)
    ? `http://wiki.${cookieDomain}:5173`
    : `https://wiki.${cookieDomain}`;
}

function findIssue(url: URL, { kind, text, cookieDomain }: Wanted): string | undefined {
  const canonical = kind === "origin" ? url.origin : url.origin + url.pathname;
  const secure = url.protocol === "https:" || (url.protocol === "http:" && isLocal(cookieDomain));
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

// Adds, removes and replaces targets of an existing app.

export type RegisteredTargets = { origins: string[]; redirects: string[] };

type SetTargetsOptions = {
  slug: string;
  /** Kinds whose targets are all removed first. */
  replaced: readonly Target["kind"][];
  add: TypedTargets;
  /** URLs as they are registered. */
  remove: TypedTargets;
  cookieDomain: string | undefined;
};

/**
 * Changes an app's targets; returns the new targets.
 *
 * @throws {Problem} unknown_app; invalid_request — a URL to add is malformed, or a URL to remove is not registered
 */
export async function setTargets(
  actor: Actor,
  { slug, replaced, add, remove, cookieDomain }: SetTargetsOptions,
): Promise<RegisteredTargets> {
  const added = readTargets(add, cookieDomain);
  const removed = [
    ...remove.origins.map((url) => ({ kind: "origin", url })),
    ...remove.redirects.map((url) => ({ kind: "redirect", url })),
  ];
  const values = { app_slug: slug, replaced, removed, added };
  const result = await runAction(actor, "set_targets", values);
  return readResult(slug, result as TargetsResult);
}

type TargetsResult = RegisteredTargets | { missing: { kind: Target["kind"]; url: string }[] };

function readResult(slug: string, result: TargetsResult): RegisteredTargets {
  if (!("missing" in result)) return result;
  const missing = result.missing.map(({ kind, url }) => `${kind} ${quote(url)}`).join(", ");
  throw new Problem("invalid_request", {
    message: `Cannot remove ${missing}: ${slug} has not registered it`,
  });
}
