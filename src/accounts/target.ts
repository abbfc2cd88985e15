/**
 * Targets: where an app lives, and where a person may be sent back to. Canonical URLs under the cookie's domain,
 * https (http only if that domain ends in `localhost`), no wildcards.
 *
 * @module
 */
import { Problem } from "../problem.ts";
import { quote } from "../std/quote.ts";

export type Target = { kind: "origin" | "redirect"; url: string; origin: string };

/**
 * The target of a URL that an operator typed.
 *
 * @throws {Problem} invalid_request — names the URL and what is wanted
 */
export function readTarget(
  kind: Target["kind"],
  text: string,
  cookieDomain: string | undefined,
): Target {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const fault = url === undefined ? "must be a URL" : findFault(url, { kind, text, cookieDomain });
  if (url === undefined || fault !== undefined) {
    throw new Problem("invalid_request", {
      message: `Cannot use ${kind} ${quote(text)}: ${fault}`,
    });
  }
  return {
    kind,
    url: kind === "origin" ? url.origin : url.origin + url.pathname,
    origin: url.origin,
  };
}

type Wanted = { kind: Target["kind"]; text: string; cookieDomain: string | undefined };

function findFault(url: URL, { kind, text, cookieDomain }: Wanted): string | undefined {
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
  return undefined;
}
