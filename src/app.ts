/**
 * The staircase: the rooms' routes become one fetch function. Gives every request its id, its principal and its log
 * line, and every refusal its answer; what is no Problem is our bug and is logged, never shown.
 *
 * @module
 */
import type { Origins } from "./accounts/mod.ts";
import type { Authenticate, Peer, Quota, Receive, Site, TakeQuota } from "./gateway/mod.ts";
import type { Guard } from "./guard.ts";
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
  answerAuthProblem,
  answerProblemPage,
  authCorsHeaders,
} from "./identity/mod.ts";
import { type AnswerRecord, type Log, readTrace, toCause, toLogFields } from "./observe.ts";
import type { Principal } from "./principal.ts";
import { Problem, toMessage } from "./problem.ts";
import { PAGE_PATHS, type RouteTables } from "./route_tables.ts";

/** What the staircase itself needs, whatever stands on it. */
export type StairDeps = {
  receive: Receive;
  authenticate: Authenticate;
  /** Absent where the gateway in front has counted the request already. */
  takeQuota?: TakeQuota;
  origins: Origins;
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
type Manner = "api" | "auth" | "page";

type Visit = {
  principal: Principal | undefined;
  template: string;
  manner: Manner;
  quota: Quota | undefined;
  code: string | undefined;
  cause: string | undefined;
};

/** The function that `Bun.serve` calls: it always answers, and never throws. */
export function makeFetch<Deps extends StairDeps>(
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
      const received = deps.receive(incoming, peer);
      const entry = received instanceof Promise ? await received : received;
      if (entry instanceof Response) return entry;
      const { request, requestId, site } = entry;
      const { path, query } = splitTarget(request.url);
      const match = routers[site](request.method, path);
      const visit: Visit = {
        principal: entry.principal,
        template: match?.route?.path ?? "none",
        manner: toManner(site, path),
        quota: undefined,
        code: undefined,
        cause: undefined,
      };
      const trace = readTrace(request.headers.get("traceparent"), deps.makeSpanId);
      const exchange = {
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
      const response = await answer(deps, { match, exchange, visit });
      finish(deps, { response, exchange, visit });
      deps.onAnswer({
        requestId,
        method: request.method,
        route: visit.template,
        status: response.status,
        code: visit.code,
        cause: visit.cause,
        ms: deps.now() - startedAt,
        dbMs: exchange.meter.dbMs === 0 ? undefined : Math.round(exchange.meter.dbMs * 100) / 100,
        bytes: sizeOf(response),
        appId: visit.principal?.appId,
        keyId: visit.principal?.keyId,
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

type Arrival<Deps> = { match: Match<Deps> | undefined; exchange: Exchange; visit: Visit };

/** The answer to a request, whatever happens. */
async function answer<Deps extends StairDeps>(
  deps: Deps,
  { match, exchange, visit }: Arrival<Deps>,
): Promise<Response> {
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
    visit.cause = toCause(problem.cause);
    return REFUSE[visit.manner](problem, {
      requestId: exchange.requestId,
      method: exchange.request.method,
    });
  }
}

type Refuse = (problem: Problem, asked: { requestId: string; method: string }) => Response;
const REFUSE: Readonly<Record<Manner, Refuse>> = {
  api: (problem, { requestId, method }) =>
    answerProblem(problem, requestId, toMessage(problem, method)),
  auth: answerAuthProblem,
  page: answerProblemPage,
};

function toManner(site: Site, path: string): Manner {
  if (site === "identity") return "page";
  if (path.startsWith(AUTH_PATH)) return "auth";
  return site === "both" && PAGE_PATHS.has(path) ? "page" : "api";
}

/** Checks what the route's access asks for, then lets the room handle it. What is known at once is not waited for. */
function enter<Deps extends StairDeps>(
  deps: Deps,
  route: Route<Deps>,
  { exchange, visit }: Omit<Arrival<Deps>, "match">,
): Response | Promise<Response> {
  if (route.access.kind !== "key")
    return (route as Extract<typeof route, { access: { kind: "open" | "session" } }>).handle(
      deps,
      exchange,
    );
  const keyed = route as Extract<typeof route, { access: { kind: "key" } }>;
  const goOn = (principal: Principal): Response | Promise<Response> => {
    visit.principal = principal;
    visit.quota = deps.takeQuota?.(principal);
    if (!principal.scopes.includes(keyed.access.scope))
      throw new Problem("forbidden", { message: `This key lacks the scope ${keyed.access.scope}` });
    // Not a copy, which would read the address.
    return keyed.handle(deps, Object.assign(exchange, { principal }));
  };
  const identify = (): Principal | Promise<Principal> =>
    visit.principal ?? deps.authenticate(exchange.request, () => exchange.address);
  const guarded = deps.guard.check();
  const principal = guarded === undefined ? identify() : guarded.then(identify);
  return principal instanceof Promise ? principal.then(goOn) : goOn(principal);
}

/** A CONNECT has no path; every method that is none of ours is refused by its path. */
function refuseRoute(request: Request): Problem {
  if (request.method !== "CONNECT") return new Problem("unknown_route");
  return new Problem("method_not_allowed", {
    headers: { allow: "GET, HEAD, POST, PATCH, DELETE, OPTIONS" },
  });
}

function answerPreflight({ origins }: StairDeps, request: Request, allow: string): Response {
  const origin = request.headers.get("origin");
  const isPreflight = request.headers.has("access-control-request-method");
  return answerEmpty({
    headers: preflightHeaders(
      allow,
      isPreflight && origin !== null && origins.isRegistered(origin),
    ),
  });
}

function toProblem({ log }: StairDeps, error: unknown, requestId: string): Problem {
  if (error instanceof Problem) return error;
  log("error", "bug", { requestId, ...toLogFields(error) });
  return new Problem("request_failed", { cause: error });
}

type Departure = { response: Response; exchange: Exchange; visit: Visit };

/** The headers that every answer carries. */
function finish(deps: StairDeps, { response, exchange, visit }: Departure): void {
  const { request, requestId } = exchange;
  response.headers.set("x-request-id", requestId);
  response.headers.set("x-content-type-options", "nosniff");
  if (hasUnreadBody(request)) response.headers.set("connection", "close");
  addHeaders(response, visit.quota);
  addHeaders(response, toCorsHeaders(deps, { exchange, visit }));
}

function addHeaders({ headers }: Response, more: Readonly<Record<string, string>> = {}): void {
  for (const name in more) headers.set(name, more[name] ?? "");
}

/** Who may read an answer from another origin; of the pages, nobody. */
function toCorsHeaders(
  deps: StairDeps,
  { exchange, visit }: Omit<Departure, "response">,
): Record<string, string> {
  const origin = exchange.request.headers.get("origin");
  if (visit.manner === "page") return {};
  if (visit.manner === "auth") return authCorsHeaders(deps, { origin, query: exchange.query });
  return keyCorsHeaders(deps, { origin, principal: visit.principal });
}

type Asked = { origin: string | null; principal: Principal | undefined };

/** A refusal before the key is known tells nothing of an app: any registered origin may read it. */
function keyCorsHeaders(
  { origins }: StairDeps,
  { origin, principal }: Asked,
): Record<string, string> {
  if (origin === null) return {};
  const isAllowed =
    principal === undefined ? origins.isRegistered(origin) : origins.isOf(origin, principal.appId);
  return corsHeaders(origin, isAllowed, { credentials: false });
}
