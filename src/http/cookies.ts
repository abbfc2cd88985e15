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
  /** `Lax` (default): links from other sites send the cookie. `Strict`: no request from other sites sends it. */
  sameSite?: "Lax" | "Strict";
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
 * The value of a `Set-Cookie` header. The cookie is `HttpOnly` and `Secure`.
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
    `SameSite=${options.sameSite ?? "Lax"}`,
  ].join("; ");
}

// CORS headers: exact origins only, never `*` or `null`. The caller decides which origins are
// allowed. @see https://fetch.spec.whatwg.org/#http-cors-protocol

const EXPOSED =
  "Deprecation, ETag, Idempotency-Replayed, Location, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, Sunset, X-Request-Id";

/** Headers that let `origin` read a response; only `Vary` if `origin` is not allowed. */
export function corsHeaders(
  origin: string | null,
  allowed: boolean,
  options: { credentials: boolean },
): Record<string, string> {
  if (origin === null || origin === "null" || !allowed) return { vary: "Origin" };
  return {
    vary: "Origin",
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED,
    ...(options.credentials ? { "access-control-allow-credentials": "true" } : {}),
  };
}

/** The request headers that endpoints read. */
const READ =
  "Authorization, Content-Type, Accept, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, X-Request-Id";
/**
 * Headers that tracing tools in a page add to each request: of W3C, Sentry, Zipkin, Jaeger, Datadog, New Relic, Elastic,
 * OpenTracing, Dynatrace, Instana, Honeycomb, and of the clouds.
 */
const TRACING =
  /^(traceparent|tracestate|baggage|sentry-trace|b3|newrelic|request-id|request-context|correlation-context|uber-trace-id|uberctx-[\w-]+|jaeger-[\w-]+|grpc-trace-bin|(elastic-apm-)?traceparent|(ot|x-ot)-[\w-]+|x-(b3|datadog|instana|honeycomb|dynatrace|newrelic|amzn-trace|cloud-trace)-[\w-]+|x-dynatrace|x-correlation-id|(x-)?trace-?id|(x-)?span-?id|x-transaction-id|(x-)?client-request-id|x-ms-client-request-id)$/;
const MAX_TRACING = 30;

/** The requested headers that tracing tools add. */
function listTracing(requested: string | null): string[] {
  const names = (requested ?? "").toLowerCase().split(",");
  return [...new Set(names.map((name) => name.trim()).filter((name) => TRACING.test(name)))].slice(
    0,
    MAX_TRACING,
  );
}

/**
 * Headers of a preflight response: the path's methods, the request headers that endpoints read, and those of tracing tools
 * that the browser asks for.
 */
export function preflightHeaders(
  allow: string,
  { allowed, requested }: { allowed: boolean; requested: string | null },
): Record<string, string> {
  if (!allowed) return { allow };
  return {
    allow,
    "access-control-allow-methods": allow,
    "access-control-allow-headers": [READ, ...listTracing(requested)].join(", "),
    "access-control-max-age": "600",
  };
}
