/**
 * Request handling: turns the modules' routes into one fetch function. Gives every request an id, a principal and a log
 * line, and turns every Problem into a response. Any other error is a bug: it is logged, and never shown.
 *
 * @module
 */
import type { Authenticate, Peer, Quota, Receive, Received, SpendQuota } from "../gateway/mod.ts";
import {
  KEEP_ALIVE_S,
  type KeyRoute,
  keyRejected,
  type Match,
  makeRouter,
  type RequestContext,
  type Route,
  type Router,
  scopeMissing,
  sizeOf,
  splitTarget,
  type VirtualHost,
} from "../http/mod.ts";
import { type Log, type ResponseRecord, readTrace, toCause, toLogFields } from "../observe.ts";
import type { Preview } from "../preview.ts";
import { allows, type Principal } from "../principal.ts";
import { Problem } from "../problem.ts";
import { respondWithFrontPage } from "./front_page.tsx";
import type { Guard } from "./isolation_guard.ts";
import {
  addResponseHeaders,
  type ErrorFormat,
  type FacingDeps,
  handlePreflight,
  REJECT,
  toErrorFormat,
} from "./responses.ts";
import type { RouteTables } from "./routes.ts";
import { redirectSecretQuery } from "./secret_query.ts";

/** A request with an error response. */
export type RejectedRequest = Pick<RequestContext, "request" | "params"> &
  Pick<Problem, "details" | "found" | "parameters">;

/** Authentication, rate limits and origins of callers. */
type CallerDeps = FacingDeps & {
  authenticate: Authenticate;
  spendQuota: SpendQuota;
  /** The origin of the identity pages, if it is separate. */
  identityUrl: string | undefined;
};

/** Dependencies of every request, in any module. */
export type FetchDeps = {
  receive: Receive;
  /** Absent in a service behind a gateway: the gateway has checked the caller. */
  callers: CallerDeps | undefined;
  /** Checks that the database isolates apps. */
  guard: Pick<Guard, "check" | "checkApp">;
  /** Counts requests in progress. */
  traffic: { inFlight: number };
  log: Log;
  /** Called once per response, with the request if it was rejected. */
  onResponse: (response: ResponseRecord, rejected: RejectedRequest | undefined) => void;
  makeSpanId: () => string;
  now: () => number;
  /** Enabled previews; absent in a process without routes of rows. */
  previews?: readonly Preview[];
};

/** The handler for `Bun.serve`: always returns a response, and never throws. */
export function makeFetch<Deps extends FetchDeps>(
  deps: Deps,
  tables: RouteTables<Deps>,
): (request: Request, peer: Peer) => Promise<Response> {
  const toRouter = (routes: readonly Route<Deps>[]) =>
    makeRouter(routes.filter(({ preview }) => preview === undefined || isOn(deps, preview)));
  const routers = {
    gateway: toRouter(tables.gateway),
    identity: toRouter(tables.identity),
    both: toRouter(tables.both),
  };
  return async (incoming, peer) => {
    const startedAt = deps.now();
    deps.traffic.inFlight++;
    try {
      peer.timeout?.(incoming, KEEP_ALIVE_S);
      const received = await deps.receive(incoming, peer);
      if (received instanceof Response) return received;
      const routed = toRouted(deps, received, routers[received.virtualHost]);
      const response = await respond(deps, received, routed);
      const { context, state, match } = routed;
      const operation = match?.route?.operation;
      addResponseHeaders(deps.callers, { response, context, operation, state });
      deps.onResponse(toRecord(routed, { response, ms: deps.now() - startedAt }), state.rejected);
      return response;
    } finally {
      deps.traffic.inFlight--;
    }
  };
}

/** Whether this process serves the routes of a preview. */
function isOn({ previews }: FetchDeps, preview: Preview): boolean {
  return previews === undefined || previews.includes(preview);
}

/** Facts about a request, set while it is handled. */
type RequestState = {
  readonly virtualHost: VirtualHost;
  principal: Principal | undefined;
  errorFormat: ErrorFormat;
  quota: Quota | undefined;
  code: string | undefined;
  cause: string | undefined;
  rejected: RejectedRequest | undefined;
};

type RoutedRequest<Deps> = {
  match: Match<Deps> | undefined;
  context: RequestContext;
  state: RequestState;
};

function toRouted<Deps>(
  { makeSpanId }: FetchDeps,
  received: Received,
  findRoute: Router<Deps>,
): RoutedRequest<Deps> {
  const { request, requestId } = received;
  const { path, query } = splitTarget(request.url);
  const match = findRoute(request.method, path);
  return {
    match,
    context: {
      request,
      requestId,
      trace: readTrace(request.headers.get("traceparent"), makeSpanId),
      params: match?.params ?? {},
      query,
      meter: { dbMs: 0 },
      // A getter, because the address costs a system call that few endpoints need.
      get address() {
        return received.address;
      },
    },
    state: {
      virtualHost: received.virtualHost,
      principal: received.principal,
      errorFormat: toErrorFormat(received.virtualHost, path, { isRouted: match !== undefined }),
      quota: undefined,
      code: undefined,
      cause: undefined,
      rejected: undefined,
    },
  };
}

/** Rejects two Host headers: a proxy could use the first and the service the second. @throws {Problem} invalid_request */
function checkHost({ headers }: Request): void {
  if (headers.get("host")?.includes(",") !== true) return;
  throw new Problem("invalid_request", { message: "Ambiguous host: send exactly one Host header" });
}

/** The response to a request; never throws. */
async function respond<Deps extends FetchDeps>(
  deps: Deps,
  { checkUnused }: Received,
  { match, context, state }: RoutedRequest<Deps>,
): Promise<Response> {
  const { request, requestId } = context;
  try {
    checkHost(request);
    const rejected = await checkUnused?.();
    if (rejected !== undefined) return rejected;
    if (match === undefined) return handleNoRoute(deps, { context, state });
    if (request.method === "OPTIONS")
      return handlePreflight(deps.callers?.origins, { request, allow: match.allow });
    if (match.route === undefined)
      throw new Problem("method_not_allowed", { headers: { allow: match.allow } });
    const { path } = splitTarget(request.url);
    const redirected = redirectSecretQuery(path, context);
    if (redirected !== undefined) return redirected;
    return await enter(deps, match.route, { context, state });
  } catch (error) {
    const problem = toProblem(deps, error, requestId);
    state.code = problem.code;
    state.cause = toCause(problem.cause);
    const { details, found, parameters } = problem;
    state.rejected = { request, params: context.params, details, found, parameters };
    return REJECT[state.errorFormat](problem, { requestId, request });
  }
}

/** Checks the route's access, then calls its handler. */
async function enter<Deps extends FetchDeps>(
  deps: Deps,
  route: Route<Deps>,
  { context, state }: Omit<RoutedRequest<Deps>, "match">,
): Promise<Response> {
  if (
    route.access !== "key" &&
    !(route.access === "optional-key" && hasKey(deps, { context, state }))
  )
    return await route.handle(deps, context);
  await deps.guard.check();
  const principal = state.principal ?? (await authenticate(deps, context));
  state.principal = principal;
  // The functions for people can be gone from the database.
  if (principal.person !== undefined && !isOn(deps, "browser")) throw keyRejected();
  deps.guard.checkApp(principal.appId);
  state.quota = await deps.callers?.spendQuota(principal, context.request);
  if (principal.person !== undefined) checkPersonRoute(route);
  if (route.access === "key" && !isInScope(route, principal)) throw scopeMissing(route.scope);
  // A copy would call the getter of the address.
  return await route.handle(deps, Object.assign(context, { principal }));
}

function isInScope<Deps>({ scope, lesserScope }: KeyRoute<Deps>, { scopes }: Principal): boolean {
  return allows(scopes, scope) || (lesserScope !== undefined && allows(scopes, lesserScope));
}

/** @throws {Problem} forbidden; unauthenticated — where a key is optional */
function checkPersonRoute<Deps>(route: Route<Deps>): void {
  if (route.access !== "key") throw keyRejected();
  if (route.acceptsPeople === true) return;
  throw new Problem("forbidden", { message: "A person's key can only read and write rows" });
}

/** Whether a key was sent; behind a gateway, whether the gateway accepted it. */
function hasKey<Deps extends FetchDeps>(
  { callers }: Deps,
  { context, state }: Omit<RoutedRequest<Deps>, "match">,
): boolean {
  if (callers === undefined) return state.principal !== undefined;
  return context.request.headers.has("authorization");
}

/** A service behind a gateway accepts only principals from the gateway. */
async function authenticate({ callers }: FetchDeps, context: RequestContext): Promise<Principal> {
  if (callers === undefined) throw new Problem("unauthenticated");
  return await callers.authenticate(context.request, () => context.address);
}

/** A page for browsers, an error for API clients. */
function handleNoRoute<Deps extends FetchDeps>(
  { callers }: Deps,
  { context: { request }, state }: Omit<RoutedRequest<Deps>, "match">,
): Response {
  const problem = rejectRoute(request);
  const { path } = splitTarget(request.url);
  const page =
    callers === undefined
      ? undefined
      : respondWithFrontPage({ request, path, ...state, identityUrl: callers.identityUrl });
  if (page === undefined) throw problem;
  if (page.status !== 200) state.code = problem.code;
  return page;
}

/** CONNECT has no path; for any other unknown method the path decides. */
function rejectRoute(request: Request): Problem {
  if (request.method !== "CONNECT") return new Problem("unknown_route");
  return new Problem("method_not_allowed", {
    headers: { allow: "GET, HEAD, POST, PATCH, DELETE, OPTIONS" },
  });
}

function toProblem({ log }: FetchDeps, error: unknown, requestId: string): Problem {
  if (error instanceof Problem) return error;
  log("error", "bug", { requestId, ...toLogFields(error) });
  return new Problem("request_failed", { cause: error });
}

/** The log record of a response. */
function toRecord<Deps>(
  { match, context, state }: RoutedRequest<Deps>,
  { response, ms }: { response: Response; ms: number },
): ResponseRecord {
  const { request, requestId, meter, trace } = context;
  return {
    requestId,
    method: request.method,
    route: match?.route?.path ?? "none",
    status: response.status,
    code: state.code,
    cause: state.cause,
    ms,
    dbMs: meter.dbMs === 0 ? undefined : Math.round(meter.dbMs * 100) / 100,
    bytes: sizeOf(response),
    appId: state.principal?.appId,
    keyId: state.principal?.keyId,
    isOfConsole: state.principal?.isOfConsole === true ? true : undefined,
    traceId: trace?.traceId,
    spanId: trace?.spanId,
    parentSpanId: trace?.parentSpanId,
  };
}
