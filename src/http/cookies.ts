/**
 * Parses cookies strictly from the raw header. Returns all values of a name, because an attacker who plants a second cookie
 * can choose their order. Nothing is decoded. @see https://www.rfc-editor.org/rfc/rfc6265#section-5.4
 *
 * @module
 */

type CookieOptions = {
  path: string;
  /** The cookie is sent to every host under this domain; without a domain, only to this host. */
  domain?: string | undefined;
  /** Without a max age, the cookie ends with the browser's session; 0 clears the cookie. */
  maxAgeS?: number;
};

export function withCookies(response: Response, cookies: readonly string[]): Response {
  for (const cookie of cookies) response.headers.append("set-cookie", cookie);
  return response;
}

/** All values of exactly this name in a `Cookie` header, in order. */
export function readCookies(header: string | null, name: string): string[] {
  if (header === null) return [];
  const start = `${name}=`;
  return header
    .split(";")
    .map((pair) => pair.replace(/^[ \t]+|[ \t]+$/g, ""))
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length));
}

/**
 * The value of a `Set-Cookie` header. The cookie is `HttpOnly` and `Secure`, and links from other sites send it.
 *
 * @throws {Error} browsers would drop the cookie: the prefix `__Host-` requires the path / and no domain
 * @see https://www.rfc-editor.org/rfc/rfc6265#section-4.1
 */
export function toSetCookie(name: string, value: string, options: CookieOptions): string {
  const isOfHost = options.path === "/" && options.domain === undefined;
  if (name.startsWith("__Host-") && !isOfHost)
    throw new Error(`The cookie ${name} must have the path / and no domain`);
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
