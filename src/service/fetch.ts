/**
 * One request: the rooms' routes become one fetch function. Gives every request its id, its principal and its log
 * line, and every refusal its answer; what is no Problem is our bug and is logged, never shown.
 *
 * @module
 */
import type { Origins } from "../accounts/mod.ts";
import type { Authenticate, Peer, Quota, Receive, TakeQuota } from "../gateway/mod.ts";
import {
  answerEmpty,
  answerProblem,
  corsHeaders,
  hasUnreadBody,
  type Match,
  makeRouter,
  preflightHeaders,
  type RequestContext,
  type Route,
  sizeOf,
  splitTarget,
  type VirtualHost,
} from "../http/mod.ts";
import {
  AUTH_PATH,
  answerAuthProblem,
  answerProblemPage,
  authCorsHeaders,
} from "../identity/mod.ts";
import { type AnswerRecord, type Log, readTrace, toCause, toLogFields } from "../observe.ts";
import type { Principal } from "../principal.ts";
import { Problem, toMessage } from "../problem.ts";
import type { Guard } from "./isolation_guard.ts";
import { PAGE_PATHS, type RouteTables } from "./routes.ts";

/** Who calls, how often, and from which origins. */
export type CallerDeps = { authenticate: Authenticate; takeQuota: TakeQuota; origins: Origins };

/** What every request needs, whatever room handles it. */
export type FetchDeps = {
  receive: Receive;
  /** Absent in a service behind the gateway, which has seen to all that concerns its caller. */
  callers: CallerDeps | undefined;
  /** Holds the database to its isolation. */
  guard: Pick<Guard, "check">;
  /** Requests without an answer yet are counted here. */
  traffic: { inFlight: number };
  log: Log;
  /** Told of every answer, once. */
  onAnswer: (answer: AnswerRecord) => void;
  makeSpanId: () => string;
  now: () => number;
};

/** Seconds that a socket may be silent while its request is worked on: past every deadline of our own. */
const WORK_TIMEOUT_S = 45;

/** In which form a refusal is told: to a program, to a browser app, to a person. */
type ErrorFormat = "api" | "auth" | "page";

type RequestState = {
  principal: Principal | undefined;
  template: string;
  errorFormat: ErrorFormat;
  quota: Quota | undefined;
  code: string | undefined;
  cause: string | undefined;
};

/** The function that `Bun.serve` calls: it always answers, and never throws. */
export function makeFetch<Deps extends FetchDeps>(
  deps: Deps,
  tables: RouteTables<Deps>,
): (request: Request, peer: Peer) => Promise<Response> {
  const routers = {
    gateway: makeRouter(tables.gateway),
    identity: makeRouter(tables.identity),
    both: makeRouter(tables.both),
  };
  return async (incoming, peer) => {
    const startedAt = deps.now();
    deps.traffic.inFlight++;
    try {
      peer.timeout?.(incoming, WORK_TIMEOUT_S);
      const entry = await deps.receive(incoming, peer);
      if (entry instanceof Response) return entry;
      const { request, requestId, virtualHost } = entry;
      const { path, query } = splitTarget(request.url);
      const match = routers[virtualHost](request.method, path);
      const state: RequestState = {
        principal: entry.principal,
        template: match?.route?.path ?? "none",
        errorFormat: toErrorFormat(virtualHost, path),
        quota: undefined,
        code: undefined,
        cause: undefined,
      };
      const trace = readTrace(request.headers.get("traceparent"), deps.makeSpanId);
      const context = {
        request,
        requestId,
        trace,
        params: match?.params ?? {},
        query,
        meter: { dbMs: 0 },
        // Asked for when it is read: it costs a system call that most endpoints have no use for.
        get address() {
          return entry.address;
        },
      };
      const response = await answer(deps, { match, context, state });
      finish(deps, { response, context, state });
      deps.onAnswer({
        requestId,
        method: request.method,
        route: state.template,
        status: response.status,
        code: state.code,
        cause: state.cause,
        ms: deps.now() - startedAt,
        dbMs: context.meter.dbMs === 0 ? undefined : Math.round(context.meter.dbMs * 100) / 100,
        bytes: sizeOf(response),
        appId: state.principal?.appId,
        keyId: state.principal?.keyId,
        traceId: trace?.traceId,
        spanId: trace?.spanId,
        parentSpanId: trace?.parentSpanId,
      });
      return response;
    } finally {
      deps.traffic.inFlight--;
    }
  };
}

type RoutedRequest<Deps> = {
  match: Match<Deps> | undefined;
  context: RequestContext;
  state: RequestState;
};

/** The answer to a request, whatever happens. */
async function answer<Deps extends FetchDeps>(
  deps: Deps,
  { match, context, state }: RoutedRequest<Deps>,
): Promise<Response> {
  try {
    if (match === undefined) throw refuseRoute(context.request);
    if (context.request.method === "OPTIONS")
      return answerPreflight(deps, context.request, match.allow);
    if (match.route === undefined)
      throw new Problem("method_not_allowed", { headers: { allow: match.allow } });
    return await enter(deps, match.route, { context, state });
  } catch (error) {
    const problem = toProblem(deps, error, context.requestId);
    state.code = problem.code;
    state.cause = toCause(problem.cause);
    return REFUSE[state.errorFormat](problem, {
      requestId: context.requestId,
      method: context.request.method,
    });
  }
}

type Refuse = (problem: Problem, refused: { requestId: string; method: string }) => Response;
const REFUSE: Readonly<Record<ErrorFormat, Refuse>> = {
  api: (problem, { requestId, method }) =>
    answerProblem(problem, requestId, toMessage(problem, method)),
  auth: answerAuthProblem,
  page: answerProblemPage,
};

function toErrorFormat(virtualHost: VirtualHost, path: string): ErrorFormat {
  if (virtualHost === "identity") return "page";
  if (path.startsWith(AUTH_PATH)) return "auth";
  return virtualHost === "both" && PAGE_PATHS.has(path) ? "page" : "api";
}

/** Checks what the route's access asks for, then lets the room handle it. */
async function enter<Deps extends FetchDeps>(
  deps: Deps,
  route: Route<Deps>,
  { context, state }: Omit<RoutedRequest<Deps>, "match">,
): Promise<Response> {
  if (route.access !== "key") return await route.handle(deps, context);
  await deps.guard.check();
  const principal = state.principal ?? (await authenticate(deps, context));
  state.principal = principal;
  state.quota = deps.callers?.takeQuota(principal);
  if (!principal.scopes.includes(route.scope))
    throw new Problem("forbidden", { message: `This key lacks the scope ${route.scope}` });
  // Not a copy, which would read the address.
  return await route.handle(deps, Object.assign(context, { principal }));
}

/** A key that the gateway did not vouch for counts for nothing in a service behind it. */
async function authenticate({ callers }: FetchDeps, context: RequestContext): Promise<Principal> {
  if (callers === undefined) throw new Problem("unauthenticated");
  return await callers.authenticate(context.request, () => context.address);
}

/** A CONNECT has no path; every method that is none of ours is refused by its path. */
function refuseRoute(request: Request): Problem {
  if (request.method !== "CONNECT") return new Problem("unknown_route");
  return new Problem("method_not_allowed", {
    headers: { allow: "GET, HEAD, POST, PATCH, DELETE, OPTIONS" },
  });
}

function answerPreflight({ callers }: FetchDeps, request: Request, allow: string): Response {
  const origin = request.headers.get("origin");
  const isPreflight = request.headers.has("access-control-request-method");
  const isAllowed = origin !== null && callers?.origins.isRegistered(origin) === true;
  return answerEmpty({ headers: preflightHeaders(allow, isPreflight && isAllowed) });
}

function toProblem({ log }: FetchDeps, error: unknown, requestId: string): Problem {
  if (error instanceof Problem) return error;
  log("error", "bug", { requestId, ...toLogFields(error) });
  return new Problem("request_failed", { cause: error });
}

type AnsweredRequest = { response: Response; context: RequestContext; state: RequestState };

/** The headers that every answer carries. */
function finish(deps: FetchDeps, { response, context, state }: AnsweredRequest): void {
  const { request, requestId } = context;
  response.headers.set("x-request-id", requestId);
  response.headers.set("x-content-type-options", "nosniff");
  if (hasUnreadBody(request)) response.headers.set("connection", "close");
  addHeaders(response, state.quota);
  addHeaders(response, toCorsHeaders(deps, { context, state }));
}

function addHeaders({ headers }: Response, more: Readonly<Record<string, string>> = {}): void {
  for (const name in more) headers.set(name, more[name] ?? "");
}

/** Who may read an answer from another origin; of the pages, nobody. */
function toCorsHeaders(
  { callers }: FetchDeps,
  { context, state }: Omit<AnsweredRequest, "response">,
): Record<string, string> {
  const origin = context.request.headers.get("origin");
  if (callers === undefined || state.errorFormat === "page") return {};
  if (state.errorFormat === "auth")
    return authCorsHeaders(callers, { origin, query: context.query });
  return keyCorsHeaders(callers, { origin, principal: state.principal });
}

type CorsRequest = { origin: string | null; principal: Principal | undefined };

/** A refusal before the key is known tells nothing of an app: any registered origin may read it. */
function keyCorsHeaders(
  { origins }: CallerDeps,
  { origin, principal }: CorsRequest,
): Record<string, string> {
  if (origin === null) return {};
  const isAllowed =
    principal === undefined ? origins.isRegistered(origin) : origins.isOf(origin, principal.appId);
  return corsHeaders(origin, isAllowed, { credentials: false });
}
