/** Health: whether the process lives, and whether it can serve. Tells nothing of what it serves. @module */
import { type Database, findMissingMigrations } from "./db/mod.ts";
import { answerJson, type Route } from "./http/mod.ts";
import { Problem } from "./problem.ts";

export type HealthDeps = { db: Database };

export const healthRoutes: readonly Route<HealthDeps>[] = [
  {
    method: "GET",
    path: "/live",
    access: { kind: "open" },
    handle: () => answerJson({ status: "live" }),
  },
  { method: "GET", path: "/ready", access: { kind: "open" }, handle: answerReady },
];

async function answerReady({ db }: HealthDeps): Promise<Response> {
  const missing = await findMissingMigrations(db);
  if (missing.length === 0) return answerJson({ status: "ready" });
  throw new Problem("unavailable", {
    message: "The database lacks migrations: run rowhouse migrate",
  });
}
