/**
 * Cookies, read strictly from the raw header: every value under a name, because which of two a browser puts first is
 * for whoever planted the second to choose. Nothing is decoded. @see https://www.rfc-editor.org/rfc/rfc6265#section-5.4
 *
 * @module
 */

export type CookieOptions = {
  path: string;
  /** Sent to every host under it; without it to this host alone. */
  domain?: string | undefined;
  /** Without it the cookie ends with the browser's session; 0 clears it. */
  maxAgeS?: number;
};

/** Adds `Set-Cookie` headers to an answer. */
export function withCookies(response: Response, cookies: readonly string[]): Response {
  for (const cookie of cookies) response.headers.append("set-cookie", cookie);
  return response;
}

/** Every value that a `Cookie` header carries under exactly this name, in its order. */
export function readCookies(header: string | null, name: string): string[] {
  if (header === null) return [];
  const start = `${name}=`;
  return header
    .split(";")
    .map((pair) => pair.replace(/^[ \t]+|[ \t]+$/g, ""))
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length));
}

/** A `Set-Cookie` header's value; scripts never see the cookie, and it never travels in the clear. */
export function toSetCookie(name: string, value: string, options: CookieOptions): string {
  return [
    `${name}=${value}`,
    ...(options.domain === undefined ? [] : [`Domain=${options.domain}`]),
    `Path=${options.path}`,
    ...(options.maxAgeS === undefined ? [] : [`Max-Age=${options.maxAgeS}`]),
    "HttpOnly",
    "Secure",
    "SameSite=Lax",
  ].join("; ");
}
