/**
 * Health: whether the process lives, and whether it can serve. Tells nothing of what it serves. The port for operators
 * answers the same, and the metrics.
 *
 * @module
 */
import { coalesce, compareMigrations, type Database } from "../db/mod.ts";
import { answerJson, answerProblem, type Route } from "../http/mod.ts";
import { type Log, toLogFields } from "../observe.ts";
import { Problem } from "../problem.ts";
import { findUncallableTables } from "../push/mod.ts";
import type { Guard } from "./isolation_guard.ts";
import type { Metrics } from "./metrics.ts";

/** @throws {Problem} unavailable — says what is missing; overloaded, timeout — the database does not answer */
export type CheckReady = () => Promise<void>;
export type HealthDeps = { checkReady: CheckReady };

export const healthRoutes: readonly Route<HealthDeps>[] = [
  { method: "GET", path: "/live", access: "open", handle: answerLive },
  {
    method: "GET",
    path: "/ready",
    access: "open",
    handle: ({ checkReady }: HealthDeps) => answerReady(checkReady),
  },
];

/** A check that those who ask at the same time share: asking often costs the database nothing more. */
export function makeCheckReady(deps: {
  db: Database;
  guard: Guard;
  /** Whether this process calls the functions of tables. */
  servesRows: boolean;
  isDraining: () => boolean;
}): CheckReady {
  const check = coalesce(async () => {
    const { missing } = await compareMigrations(deps.db);
    if (missing.length > 0)
      throw unready("The database lacks migrations: its operator must run rowhouse migrate");
    if (deps.servesRows && (await findUncallableTables(deps.db)).length > 0)
      throw unready(
        "The tables' functions were made by another release: the operator must run rowhouse migrate",
      );
    await deps.guard.look();
    await deps.guard.check();
  });
  return async () => {
    if (deps.isDraining()) throw unready("The process is stopping");
    await check();
  };
}

/** What the port for operators answers. It is for their network alone: nobody is asked for a key. */
export function makeAdminFetch(deps: HealthDeps & { metrics: Metrics; log: Log }) {
  const answers: Readonly<Record<string, () => Response | Promise<Response>>> = {
    "/live": answerLive,
    "/ready": () => answerReady(deps.checkReady),
    "/metrics": async () =>
      new Response(await deps.metrics.print(), {
        headers: { "content-type": deps.metrics.contentType },
      }),
  };
  return async (request: Request): Promise<Response> => {
    try {
      const answer = answers[new URL(request.url, "http://localhost").pathname];
      if (answer === undefined) throw new Problem("unknown_route");
      if (request.method !== "GET")
        throw new Problem("method_not_allowed", { headers: { allow: "GET" } });
      return await answer();
    } catch (error) {
      if (error instanceof Problem) return answerProblem(error, "");
      deps.log("error", "bug", { during: "an operator's request", ...toLogFields(error) });
      return answerProblem(new Problem("request_failed", { cause: error }), "");
    }
  };
}

function answerLive(): Response {
  return answerJson({ status: "live" });
}

async function answerReady(checkReady: CheckReady): Promise<Response> {
  await checkReady();
  return answerJson({ status: "ready" });
}

function unready(message: string): Problem {
  return new Problem("unavailable", { message, headers: { "retry-after": "1" } });
}
