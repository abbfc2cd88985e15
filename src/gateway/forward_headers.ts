/**
 * Which headers pass between a caller and a service. Headers of one connection, those that only the gateway decides, and
 * credentials that are not for this service are removed. @see https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1
 *
 * @module
 */
import type { Audience } from "./signature.ts";

/** Headers that belong to one connection, or are set again for the next. */
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

/** The client's address is in the signed context; what callers claim about their route is never passed on. */
const NOT_PASSED = new Set([
  ...OF_CONNECTION,
  "host",
  "content-length",
  "expect",
  "forwarded",
  "x-real-ip",
  "accept-encoding",
]);

/** A service has no use for a key, and the data service has none for a cookie. */
const CREDENTIALS: Readonly<Record<Audience, readonly string[]>> = {
  data: ["authorization", "cookie"],
  identity: ["authorization"],
};

/** The caller's headers that a service gets: never one of the signed headers, however it is spelled. */
export function toServiceHeaders(headers: Headers, audience: Audience): Headers {
  const passed = new Headers();
  const named = readConnection(headers.get("connection"));
  for (const [name, value] of headers) {
    const spelt = name.includes("_") ? name.replaceAll("_", "-") : name;
    if (NOT_PASSED.has(spelt) || spelt.startsWith(FAMILY) || spelt.startsWith("x-forwarded-"))
      continue;
    if (CREDENTIALS[audience].includes(spelt) || named.has(name)) continue;
    passed.append(name, value);
  }
  // Without one, fetch would send its own.
  passed.set("accept-encoding", headers.get("accept-encoding") ?? "identity");
  return passed;
}

/** A service's headers that the caller gets. */
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
