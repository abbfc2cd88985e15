/**
 * Reads URLs that sign-in can return to. Both the text as received *and* the URL as a browser parses it must match, so that no
 * two parsers can disagree. Never checks that an app has registered the URL.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-2.1
 * @module
 */

const MAX_CHARS = 2048;
/** Printable ASCII without characters that browsers and proxies parse differently. */
const CHARACTERS = /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/;
const PARTS = /^(https?):\/\/([^/?#]*)([^?#]*)/;
const DEFAULT_PORT = { http: ":80", https: ":443" } as const;
/** An escaped slash, backslash, U+0000, line break or percent sign. */
const HIDDEN = /%(2f|5c|00|0a|0d|25)/i;
/** The rules for registered URLs, which a browser has already parsed. */
export const RETURN_URLS = `must have max ${MAX_CHARS} characters, no |, no empty label in the host, and in the path no empty or dot segment and no escaped slash, backslash, percent sign or control character`;

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
