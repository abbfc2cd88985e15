/** Checks whether a pooler between the service and PostgreSQL handles prepared statements correctly. @module */
import { findPooling, type Pooling } from "../../db/mod.ts";
import type { DatabaseVariable } from "../unavailable.ts";
import type { CheckResult } from "./check_result.ts";

type PoolerOptions = { url: string; variable: DatabaseVariable; prepare: boolean };

/** @throws {Problem} the database cannot be reached */
export async function checkPooler({ variable, ...options }: PoolerOptions): Promise<CheckResult> {
  return evaluatePooling(await findPooling({ ...options, name: "rowhouse doctor" }), variable);
}

type Evaluation = Omit<CheckResult, "about">;

const EVALUATIONS: Readonly<Record<Pooling, Evaluation>> = {
  none: { level: "ok", message: "none: connected directly to PostgreSQL" },
  pooled: { level: "ok", message: "found; compatible with DATABASE_PREPARE=off" },
  sessions: { level: "ok", message: "found; uses a session for each connection" },
  followed: { level: "ok", message: "found; supports prepared statements" },
  mixed: {
    level: "fail",
    message:
      "found; mixes up prepared statements, like PgBouncer before 1.21 or without max_prepared_statements: under load, calls fail or get the results of other calls",
    remedy: "set DATABASE_PREPARE=off",
  },
};

/** Pushes and migrations run long and hold locks: a pooler could interrupt them. */
const OF_ADMIN: Partial<Record<Pooling, Evaluation>> = Object.fromEntries(
  (["pooled", "sessions", "followed"] as const).map((pooling) => [
    pooling,
    {
      level: "warn",
      message: "found; pushes and migrations should not go through a pooler",
      remedy: "make ADMIN_DATABASE_URL connect directly to PostgreSQL",
    },
  ]),
);

export function evaluatePooling(pooling: Pooling, variable: DatabaseVariable): CheckResult {
  if (variable === "DATABASE_URL") return { about: "pooler", ...EVALUATIONS[pooling] };
  return { about: "admin pooler", ...(OF_ADMIN[pooling] ?? EVALUATIONS[pooling]) };
}
