/**
 * CORS headers: exact origins only, never `*` or `null`. The caller decides which origins are allowed.
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 *
 * @module
 */

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

/** Headers of a preflight response: the path's methods and the request headers that endpoints read. */
export function preflightHeaders(allow: string, allowed: boolean): Record<string, string> {
  if (!allowed) return { allow };
  return {
    allow,
    "access-control-allow-methods": allow,
    "access-control-allow-headers":
      "Authorization, Content-Type, Accept, Idempotency-Key, If-Match, If-None-Match, X-Request-Id",
    "access-control-max-age": "600",
  };
}
