/**
 * Health: whether the process is running, and whether it is ready. Reveals nothing about apps. The port for operators has
 * the same endpoints, and the metrics.
 *
 * @module
 */
import * as v from "valibot";
import { compareMigrations, type Database } from "../db/mod.ts";
import { type Operation, type Route, respondWithJson, respondWithProblem } from "../http/mod.ts";
import { type Log, toLogFields } from "../observe.ts";
import { Problem } from "../problem.ts";
import { ofAnotherRelease } from "../tables/catalog/mod.ts";
import { findUncallableTables } from "../tables/mod.ts";
import { CHECK_INTERVAL_MS, type Guard, MAX_AGE_MS } from "./isolation_guard.ts";
import type { Metrics } from "./metrics.ts";

/** @throws {Problem} unavailable — something is missing, see the message; overloaded, timeout — the database does not respond */
export type CheckReady = () => Promise<void>;
export type HealthDeps = { checkReady: CheckReady };

const LIVE: Operation = {
  id: "get_live",
  group: "service",
  summary: "Check that the process is running",
  responses: [{ status: 200, when: "The process is running.", bodies: [toStatus("live")] }],
  problems: [],
};
const READY: Operation = {
  id: "get_ready",
  group: "service",
  summary: "Check that the service is ready",
  responses: [{ status: 200, when: "The service is ready.", bodies: [toStatus("ready")] }],
  problems: ["unavailable", "overloaded", "timeout", "bad_gateway"],
};

/** The body of a check that succeeds. */
function toStatus(status: string) {
  return v.object({
    status: v.pipe(v.literal(status), v.description("Constant; check the HTTP status instead.")),
  });
}

export const healthRoutes: readonly Route<HealthDeps>[] = [
  { method: "GET", path: "/live", access: "open", operation: LIVE, handle: handleLive },
  {
    method: "GET",
    path: "/ready",
    access: "open",
    operation: READY,
    handle: ({ checkReady }: HealthDeps) => handleReady(checkReady),
  },
];

type ReadyDeps = {
  db: Database;
  guard: Pick<Guard, "check">;
  /** Whether this process calls the functions of tables. */
  servesRows: boolean;
  isDraining: () => boolean;
  /** Whether the database is known to be unavailable. */
  isUnavailable: () => boolean;
  /** A monotonic clock. */
  now: () => number;
  /** How long a verdict is fresh; defaults to {@linkcode CHECK_INTERVAL_MS}. */
  checkIntervalMs?: number | undefined;
};

/** The check interval of a service that is not ready. */
const RETRY_INTERVAL_MS = 1000;

type Verdict = { foundAt: number; error: unknown };

/**
 * A check that is safe to expose: it returns the last verdict, so that the database is checked at most once in ten
 * seconds. It waits for a new check only if there is no verdict, the verdict is older than {@linkcode MAX_AGE_MS}, or the
 * last check failed and the database is available.
 */
export function makeCheckReady(deps: ReadyDeps): CheckReady {
  const { now, checkIntervalMs = CHECK_INTERVAL_MS } = deps;
  let verdict: Verdict | undefined;
  let pending: Promise<Verdict> | undefined;
  const evaluate = async (): Promise<Verdict> => {
    const foundAt = now();
    const error = await checkDatabase(deps).then(
      () => undefined,
      (caught: unknown) => caught,
    );
    verdict = { foundAt, error };
    pending = undefined;
    return verdict;
  };
  const check = (): Promise<Verdict> => {
    pending ??= evaluate();
    return pending;
  };
  const findVerdict = (): Verdict | Promise<Verdict> => {
    if (verdict === undefined) return check();
    const age = now() - verdict.foundAt;
    if (age > MAX_AGE_MS) return check();
    const hasFailed = verdict.error !== undefined;
    const freshMs = hasFailed ? RETRY_INTERVAL_MS : checkIntervalMs;
    if (age <= Math.min(freshMs, checkIntervalMs)) return verdict;
    const next = check();
    // The database responds again: the next request would come after a whole interval of the load balancer.
    return hasFailed && !deps.isUnavailable() ? next : verdict;
  };
  return async () => {
    if (deps.isDraining()) throw unready("The process is stopping");
    const { error } = await findVerdict();
    if (error !== undefined) throw error;
    if (deps.isUnavailable()) throw new Problem("unavailable", { retryAfterS: 1 });
    await deps.guard.check();
  };
}

async function checkDatabase({ db, servesRows }: ReadyDeps): Promise<void> {
  const { missing } = await compareMigrations(db);
  if (missing.length > 0)
    throw unready("Migrations are missing: the operator must run rowhouse migrate");
  if (servesRows && (await findUncallableTables(db)).length > 0) throw ofAnotherRelease();
}

/** Handles the port for operators. It needs no key, so it must be reachable only from their network. */
export function makeAdminFetch(deps: HealthDeps & { metrics: Metrics; log: Log }) {
  const handlers: Readonly<Record<string, () => Response | Promise<Response>>> = {
    "/live": handleLive,
    "/ready": () => handleReady(deps.checkReady),
    "/metrics": async () =>
      new Response(await deps.metrics.print(), {
        headers: { "content-type": deps.metrics.contentType },
      }),
  };
  return async (request: Request): Promise<Response> => {
    try {
      const handler = handlers[new URL(request.url, "http://localhost").pathname];
      if (handler === undefined)
        throw new Problem("unknown_route", {
          message: `This port has ${new Intl.ListFormat("en").format(Object.keys(handlers))}`,
        });
      if (request.method !== "GET")
        throw new Problem("method_not_allowed", { headers: { allow: "GET" } });
      return await handler();
    } catch (error) {
      if (error instanceof Problem) return respondWithProblem(error, "");
      deps.log("error", "bug", { during: "an operator's request", ...toLogFields(error) });
      return respondWithProblem(new Problem("request_failed", { cause: error }), "");
    }
  };
}

function handleLive(): Response {
  return respondWithJson({ status: "live" });
}

async function handleReady(checkReady: CheckReady): Promise<Response> {
  await checkReady();
  return respondWithJson({ status: "ready" });
}

function unready(message: string): Problem {
  return new Problem("unavailable", { message, retryAfterS: 1 });
}
