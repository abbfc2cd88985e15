/**
 * The staircase: the rooms' routes become one fetch function. Gives every request its id, its principal and its log
 * line, and every refusal its answer; what is no Problem is our bug and is logged, never shown.
 *
 * @module
 */
import type { Origins } from "./accounts/mod.ts";
import { type DataDeps, dataRoutes } from "./data/mod.ts";
import type { Authenticate } from "./gateway/mod.ts";
import { type HealthDeps, healthRoutes } from "./health.ts";
import {
  answerEmpty,
  answerProblem,
  corsHeaders,
  type Exchange,
  hasUnreadBody,
  type Match,
  makeRouter,
  preflightHeaders,
  type Route,
  sizeOf,
  splitTarget,
} from "./http/mod.ts";
import {
  AUTH_PATH,
  type AuthDeps,
  answerAuthProblem,
  answerProblemPage,
  authCorsHeaders,
  authRoutes,
  type PageDeps,
  pageRoutes,
  type Site,
  toSite,
} from "./identity/mod.ts";
import { type AnswerRecord, type Log, readTrace, toLogFields } from "./observe.ts";
import type { Principal } from "./principal.ts";
import { Problem } from "./problem.ts";
import { type PushRouteDeps, pushRoutes } from "./push/mod.ts";

export type AppDeps = DataDeps &
  PushRouteDeps &
  HealthDeps &
  AuthDeps &
  PageDeps & {
    authenticate: Authenticate;
    origins: Origins;
    log: Log;
    /** Told of every answer, once. */
    onAnswer: (answer: AnswerRecord) => void;
    makeSpanId: () => string;
    now: () => number;
    makeRequestId: () => string;
  };

/** The route table of the gateway: the router, the isolation tests and the docs read it. */
export const routes: readonly Route<AppDeps>[] = [
  ...dataRoutes,
  ...pushRoutes,
  ...healthRoutes,
  ...authRoutes,
];

/** The pages, which stand on a host of their own where `IDENTITY_URL` names one. */
export const pages: readonly Route<AppDeps>[] = pageRoutes;
const PAGE_PATHS: ReadonlySet<string> = new Set(pages.map((page) => page.path));

const SITES: Readonly<Record<Site, readonly Route<AppDeps>[]>> = {
  gateway: routes,
  identity: [...pages, ...healthRoutes],
  both: [...routes, ...pages],
};

/** Where a request's bytes came from, as far as the server tells. */
export type Peer = {
  requestIP: (request: Request) => { address: string } | null;
  timeout?: (request: Request, seconds: number) => void;
};

/** Seconds that a socket may be silent while its request is worked on: past every deadline of our own. */
const WORK_TIMEOUT_S = 45;

/** In which form a refusal is told: to a program, to a browser app, to a person. */
type Manner = "api" | "auth" | "page";

type Visit = {
  principal: Principal | undefined;
  template: string;
  manner: Manner;
  code: string | undefined;
};

/** The function that `Bun.serve` calls: it always answers, and never throws. */
export function makeFetch(deps: AppDeps): (request: Request, peer: Peer) => Promise<Response> {
  const routers = {
    gateway: makeRouter(SITES.gateway),
    identity: makeRouter(SITES.identity),
    both: makeRouter(SITES.both),
  };
  return async (request, peer) => {
    const startedAt = deps.now();
    const requestId = deps.makeRequestId();
    const { path, query } = splitTarget(request.url);
    const site = toSite(request.headers.get("host"), deps.identity);
    const match = routers[site](request.method, path);
    const visit: Visit = {
      principal: undefined,
      template: match?.route?.path ?? "none",
      manner: toManner(site, path),
      code: undefined,
    };
    const exchange = {
      request,
      requestId,
      params: match?.params ?? {},
      query,
      meter: { dbMs: 0 },
      // Asked for when it is read: it costs a system call that most endpoints have no use for.
      get address() {
        return peer.requestIP(request)?.address ?? "";
      },
    };
    peer.timeout?.(request, WORK_TIMEOUT_S);
    const response = await answer(deps, { match, exchange, visit });
    finish(deps, { response, exchange, visit });
    const trace = readTrace(request.headers.get("traceparent"), deps.makeSpanId);
    deps.onAnswer({
      requestId,
      method: request.method,
      route: visit.template,
      status: response.status,
      code: visit.code,
      ms: deps.now() - startedAt,
      dbMs: exchange.meter.dbMs === 0 ? undefined : Math.round(exchange.meter.dbMs * 100) / 100,
      bytes: sizeOf(response),
      appId: visit.principal?.appId,
      keyId: visit.principal?.keyId,
      traceId: trace?.traceId,
      spanId: trace?.spanId,
    });
    return response;
  };
}

type Arrival = { match: Match<AppDeps> | undefined; exchange: Exchange; visit: Visit };

/** The answer to a request, whatever happens. */
async function answer(deps: AppDeps, { match, exchange, visit }: Arrival): Promise<Response> {
  try {
    if (match === undefined) throw refuseRoute(exchange.request);
    if (exchange.request.method === "OPTIONS")
      return answerPreflight(deps, exchange.request, match.allow);
    if (match.route === undefined)
      throw new Problem("method_not_allowed", { headers: { allow: match.allow } });
    return await enter(deps, match.route, { exchange, visit });
  } catch (error) {
    const problem = toProblem(deps, error, exchange.requestId);
    visit.code = problem.code;
    return REFUSE[visit.manner](problem, exchange.requestId);
  }
}

const REFUSE: Readonly<Record<Manner, (problem: Problem, requestId: string) => Response>> = {
  api: answerProblem,
  auth: answerAuthProblem,
  page: answerProblemPage,
};

function toManner(site: Site, path: string): Manner {
  if (site === "identity") return "page";
  if (path.startsWith(AUTH_PATH)) return "auth";
  return site === "both" && PAGE_PATHS.has(path) ? "page" : "api";
}

/** Checks what the route's access asks for, then lets the room handle it. */
async function enter(
  deps: AppDeps,
  route: Route<AppDeps>,
  { exchange, visit }: Omit<Arrival, "match">,
): Promise<Response> {
  if (route.access.kind !== "key")
    return (route as Extract<typeof route, { access: { kind: "open" | "session" } }>).handle(
      deps,
      exchange,
    );
  const keyed = route as Extract<typeof route, { access: { kind: "key" } }>;
  const principal = await deps.authenticate(exchange.request);
  visit.principal = principal;
  if (!principal.scopes.includes(keyed.access.scope)) {
    throw new Problem("forbidden", { message: `This key lacks the scope ${keyed.access.scope}` });
  }
  // Not a copy, which would read the address.
  return keyed.handle(deps, Object.assign(exchange, { principal }));
}

/** A CONNECT has no path; every method that is none of ours is refused by its path. */
function refuseRoute(request: Request): Problem {
  if (request.method !== "CONNECT") return new Problem("unknown_route");
  return new Problem("method_not_allowed", {
    headers: { allow: "GET, HEAD, POST, PATCH, DELETE, OPTIONS" },
  });
}

function answerPreflight({ origins }: AppDeps, request: Request, allow: string): Response {
  const origin = request.headers.get("origin");
  const isPreflight = request.headers.has("access-control-request-method");
  return answerEmpty({
    headers: preflightHeaders(
      allow,
      isPreflight && origin !== null && origins.isRegistered(origin),
    ),
  });
}

function toProblem({ log }: AppDeps, error: unknown, requestId: string): Problem {
  if (error instanceof Problem) {
    if (error.status >= 500)
      log("warn", "problem", { requestId, code: error.code, ...toLogFields(error.cause) });
    return error;
  }
  log("error", "bug", { requestId, ...toLogFields(error) });
  return new Problem("request_failed", { cause: error });
}

type Departure = { response: Response; exchange: Exchange; visit: Visit };

/** The headers that every answer carries. */
function finish(deps: AppDeps, { response, exchange, visit }: Departure): void {
  const { request, requestId, query } = exchange;
  response.headers.set("x-request-id", requestId);
  response.headers.set("x-content-type-options", "nosniff");
  if (hasUnreadBody(request)) response.headers.set("connection", "close");
  const origin = request.headers.get("origin");
  const cors =
    visit.manner === "auth"
      ? authCorsHeaders(deps, { origin, query })
      : keyCorsHeaders(deps, { origin, principal: visit.principal });
  for (const [name, value] of Object.entries(cors)) response.headers.set(name, value);
}

type Asked = { origin: string | null; principal: Principal | undefined };

/** A refusal before the key is known tells nothing of an app: any registered origin may read it. */
function keyCorsHeaders(
  { origins }: AppDeps,
  { origin, principal }: Asked,
): Record<string, string> {
  if (origin === null) return {};
  const isAllowed =
    principal === undefined ? origins.isRegistered(origin) : origins.isOf(origin, principal.appId);
  return corsHeaders(origin, isAllowed, { credentials: false });
}
