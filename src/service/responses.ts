/** Headers of every response, CORS headers included, and the format of its errors. @module */

import { respondWithConsoleProblem } from "../console/mod.ts";
import type { Quota } from "../gateway/mod.ts";
import {
  corsHeaders,
  deprecationHeaders,
  hasUnreadBody,
  type Operation,
  preflightHeaders,
  type RequestContext,
  respondEmpty,
  respondWithProblem,
  splitTarget,
  type VirtualHost,
} from "../http/mod.ts";
import {
  AUTH_PATH,
  authCorsHeaders,
  CONSOLE_PATH,
  respondWithAuthProblem,
  respondWithProblemPage,
  SESSION_KEY_PATH,
  sessionKeyCorsHeaders,
} from "../identity/mod.ts";
import type { Principal } from "../principal.ts";
import { type Problem, toMessage } from "../problem.ts";
import type { Origins } from "../records/apps/mod.ts";
import { PAGE_PATHS } from "./routes.ts";

// Formats errors for API clients, browser apps and pages.

export type ErrorFormat = "api" | "auth" | "page" | "console";

/** The format for requests to this host and path; the exchange of a session exists only with its preview. */
export function toErrorFormat(
  virtualHost: VirtualHost,
  path: string,
  { isRouted }: { isRouted: boolean },
): ErrorFormat {
  if (path === SESSION_KEY_PATH && isRouted) return "auth";
  const isConsole = path.startsWith(`${CONSOLE_PATH}/`);
  if (virtualHost === "identity") return isConsole ? "console" : "page";
  if (path.startsWith(AUTH_PATH)) return "auth";
  if (virtualHost !== "both") return "api";
  if (isConsole) return "console";
  return PAGE_PATHS.has(path) ? "page" : "api";
}

type Reject = (problem: Problem, rejected: { requestId: string; request: Request }) => Response;

/** Renders an error in each format. */
export const REJECT: Readonly<Record<ErrorFormat, Reject>> = {
  api: (problem, { requestId, request }) =>
    respondWithProblem(problem, requestId, toMessage(problem, request.method)),
  auth: respondWithAuthProblem,
  page: respondWithProblemPage,
  console: respondWithConsoleProblem,
};

type HandledRequest = {
  response: Response;
  context: RequestContext;
  /** The endpoint's description; `undefined` if no endpoint matched. */
  operation: Operation | undefined;
  state: {
    virtualHost: VirtualHost;
    errorFormat: ErrorFormat;
    principal: Principal | undefined;
    quota: Quota | undefined;
  };
};

/** The origins of all apps, and whether a host uses https. */
export type FacingDeps = { origins: Origins; isHttps: (virtualHost: VirtualHost) => boolean };

/** One year, without subdomains: they belong to apps. */
const STRICT_TRANSPORT = "max-age=31536000";

/** Callers of the API can store a response, and must revalidate it before reuse. */
const KEEPING = {
  // A proxy that compresses a response would make its tag weak.
  "cache-control": "private, no-cache, no-transform",
  vary: "Authorization, Accept-Encoding, Origin",
};

/** Sets the headers; `callers` is absent behind a gateway, which adds the CORS headers. */
export function addResponseHeaders(
  callers: FacingDeps | undefined,
  { response, context, operation, state }: HandledRequest,
): void {
  response.headers.set("x-request-id", context.requestId);
  response.headers.set("x-content-type-options", "nosniff");
  if (hasUnreadBody(context.request)) response.headers.set("connection", "close");
  addHeaders(response, state.quota);
  const { request, query } = context;
  const isPreflight = request.method === "OPTIONS";
  if (state.errorFormat === "api" && !isPreflight && !response.headers.has("cache-control"))
    addHeaders(response, KEEPING);
  addHeaders(response, deprecationHeaders(operation, { headers: request.headers, query }));
  if (callers === undefined) return;
  if (callers.isHttps(state.virtualHost))
    response.headers.set("strict-transport-security", STRICT_TRANSPORT);
  addHeaders(response, toCorsHeaders(callers.origins, { response, context, state }));
}

/** The response to OPTIONS: the path's methods and, for a registered origin, the allowed headers. */
export function handlePreflight(
  origins: Origins | undefined,
  { request, allow }: { request: Request; allow: string },
): Response {
  const origin = request.headers.get("origin");
  const isPreflight = request.headers.has("access-control-request-method");
  const isAllowed = origin !== null && origins?.isRegistered(origin) === true;
  const requested = request.headers.get("access-control-request-headers");
  const allowed = isPreflight && isAllowed;
  return respondEmpty({ headers: preflightHeaders(allow, { allowed, requested }) });
}

function addHeaders({ headers }: Response, more: Readonly<Record<string, string>> = {}): void {
  for (const name in more) {
    // Keep an existing Vary header: it includes more than the origin.
    if (name !== "vary" || !headers.has(name)) headers.set(name, more[name] ?? "");
  }
}

/** CORS headers of a response; pages have none. */
function toCorsHeaders(
  origins: Origins,
  { response, context, state }: Pick<HandledRequest, "response" | "context" | "state">,
): Record<string, string> {
  const origin = context.request.headers.get("origin");
  if (state.errorFormat === "page" || state.errorFormat === "console") return {};
  if (state.errorFormat === "auth") return toAuthCorsHeaders(origins, { response, context });
  if (origin === null) return {};
  const { principal } = state;
  // An error before authentication reveals nothing about an app, so any registered origin can read it.
  const isAllowed =
    principal === undefined ? origins.isRegistered(origin) : origins.isOf(origin, principal.appId);
  return corsHeaders(origin, isAllowed, { credentials: false });
}

function toAuthCorsHeaders(
  origins: Origins,
  { response, context: { request, query } }: Pick<HandledRequest, "response" | "context">,
): Record<string, string> {
  const origin = request.headers.get("origin");
  if (splitTarget(request.url).path === SESSION_KEY_PATH)
    return sessionKeyCorsHeaders({ origins }, { origin, query });
  const hasPerson = response.ok && request.method !== "POST";
  return authCorsHeaders({ origins }, { origin, query, hasPerson });
}
