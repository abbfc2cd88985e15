/**
 * Filters the headers between a caller and a service. Removes connection headers, headers that only the gateway sets, and
 * credentials for other services. @see https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1
 *
 * @module
 */
import type { Audience } from "./signature.ts";

/** Headers of one connection, or headers that each hop sets again. */
const OF_CONNECTION = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
const FAMILY = "rowhouse-";

/** The signed context holds the client's address; callers' claims about their route are never forwarded. */
const NOT_PASSED = new Set([
  ...OF_CONNECTION,
  "host",
  "content-length",
  "expect",
  "forwarded",
  "x-real-ip",
  "accept-encoding",
]);

/** No service needs an API key, and the data service needs no cookies. */
const CREDENTIALS: Readonly<Record<Audience, readonly string[]>> = {
  data: ["authorization", "cookie"],
  identity: ["authorization"],
};

/** The caller's headers for a service, without signed headers in any spelling. */
export function toServiceHeaders(headers: Headers, audience: Audience): Headers {
  const passed = new Headers();
  const named = readConnection(headers.get("connection"));
  for (const [name, value] of headers) {
    const dashed = name.includes("_") ? name.replaceAll("_", "-") : name;
    if (NOT_PASSED.has(dashed) || dashed.startsWith(FAMILY) || dashed.startsWith("x-forwarded-"))
      continue;
    if (CREDENTIALS[audience].includes(dashed) || named.has(name)) continue;
    passed.append(name, value);
  }
  // Without this header, fetch sends its own.
  passed.set("accept-encoding", headers.get("accept-encoding") ?? "identity");
  return passed;
}

export function toCallerHeaders(headers: Headers): Headers {
  const passed = new Headers(headers);
  for (const name of [...OF_CONNECTION, ...readConnection(headers.get("connection")), "date"])
    passed.delete(name);
  return passed;
}

const NONE: ReadonlySet<string> = new Set();

function readConnection(text: string | null): ReadonlySet<string> {
  if (text === null || text === "keep-alive") return NONE;
  return new Set(text.split(",").map((name) => name.trim().toLowerCase()));
}
