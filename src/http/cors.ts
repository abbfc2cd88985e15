/**
 * CORS headers: exact origins only, never `*` or `null`. The caller decides which origins are allowed.
 *
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
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
    // The most that Chromium accepts; Safari has 600.
    "access-control-max-age": "7200",
  };
}
