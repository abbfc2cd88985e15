/** The headers that every answer has, and those that let pages of another origin read it. @module */
import type { Origins } from "../accounts/apps/mod.ts";
import type { Quota } from "../gateway/mod.ts";
import {
  answerEmpty,
  corsHeaders,
  deprecationHeaders,
  hasUnreadBody,
  type Operation,
  preflightHeaders,
  type RequestContext,
  type VirtualHost,
} from "../http/mod.ts";
import { authCorsHeaders } from "../identity/mod.ts";
import type { Principal } from "../principal.ts";
import type { ErrorFormat } from "./error_format.ts";

/** What the headers of an answer depend on. */
export type AnsweredRequest = {
  response: Response;
  context: RequestContext;
  /** What the endpoint says of itself; `undefined` for what is none. */
  operation: Operation | undefined;
  state: {
    virtualHost: VirtualHost;
    errorFormat: ErrorFormat;
    principal: Principal | undefined;
    quota: Quota | undefined;
  };
};

/** Facts about callers: the origins of all apps, and which hosts are reached by https. */
export type FacingDeps = { origins: Origins; isHttps: (virtualHost: VirtualHost) => boolean };

/** A year, for this host only: its sibling hosts belong to apps. */
const STRICT_TRANSPORT = "max-age=31536000";

/** Adds them; `callers` is absent in a service behind a gateway, which decides who may read. */
export function addAnswerHeaders(
  callers: FacingDeps | undefined,
  { response, context, operation, state }: AnsweredRequest,
): void {
  response.headers.set("x-request-id", context.requestId);
  response.headers.set("x-content-type-options", "nosniff");
  if (hasUnreadBody(context.request)) response.headers.set("connection", "close");
  addHeaders(response, state.quota);
  const { request, query } = context;
  addHeaders(response, deprecationHeaders(operation, { headers: request.headers, query }));
  if (callers === undefined) return;
  if (callers.isHttps(state.virtualHost))
    response.headers.set("strict-transport-security", STRICT_TRANSPORT);
  addHeaders(response, toCorsHeaders(callers.origins, { context, state }));
}

/** The answer to OPTIONS: the path's methods and, for a registered origin, what it may send. */
export function answerPreflight(
  origins: Origins | undefined,
  { request, allow }: { request: Request; allow: string },
): Response {
  const origin = request.headers.get("origin");
  const isPreflight = request.headers.has("access-control-request-method");
  const isAllowed = origin !== null && origins?.isRegistered(origin) === true;
  return answerEmpty({ headers: preflightHeaders(allow, isPreflight && isAllowed) });
}

function addHeaders({ headers }: Response, more: Readonly<Record<string, string>> = {}): void {
  for (const name in more) {
    // An answer that already varies with more than the origin says so itself.
    if (name !== "vary" || !headers.has(name)) headers.set(name, more[name] ?? "");
  }
}

/** Which other origins may read an answer; for pages, none. */
function toCorsHeaders(
  origins: Origins,
  { context, state }: Pick<AnsweredRequest, "context" | "state">,
): Record<string, string> {
  const origin = context.request.headers.get("origin");
  if (state.errorFormat === "page" || state.errorFormat === "console") return {};
  if (state.errorFormat === "auth")
    return authCorsHeaders({ origins }, { origin, query: context.query });
  return keyCorsHeaders(origins, { origin, principal: state.principal });
}

type CorsRequest = { origin: string | null; principal: Principal | undefined };

/** A refusal before the key is known says nothing about an app, so any registered origin may read it. */
function keyCorsHeaders(
  origins: Origins,
  { origin, principal }: CorsRequest,
): Record<string, string> {
  if (origin === null) return {};
  const isAllowed =
    principal === undefined ? origins.isRegistered(origin) : origins.isOf(origin, principal.appId);
  return corsHeaders(origin, isAllowed, { credentials: false });
}
