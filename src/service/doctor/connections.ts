/** The doctor's checks of the process's connections and logins. They record which connections later checks can use. @module */

import { type Database, findPooling, type Pooling, readRows } from "../../db/mod.ts";
import { type CheckResult, fail, pass } from "../check_result.ts";
import { checkPushing } from "../logins/checks.ts";
import { evaluateLoginLimits } from "../logins/limits.ts";
import { evaluateServingLogin, readLogin } from "../logins/rights.ts";
import { type DatabaseVariable, toUnavailable } from "../unavailable.ts";
import type { Known, Results } from "./context.ts";
import { evaluateVersion, readSession } from "./session.ts";

export async function findSession(known: Known & { db: Database }): Promise<CheckResult[]> {
  const askedAt = known.now();
  const session = await readSession(known.db).catch(toUnavailable("DATABASE_URL"));
  if (!("login" in session)) return [session];
  // The database read its clock at some moment between the two, even if the response was slow.
  const nowMs = Math.min(Math.max(session.epochMs, askedAt), known.now());
  known.session = { ...session, nowMs };
  return [pass("database", `accepts the login ${session.login}`), evaluateVersion(session)];
}

export async function checkServingLogin(known: Known & { db: Database }): Promise<CheckResult[]> {
  const login = await readLogin(known.db);
  known.login = login;
  return [...evaluateServingLogin(login), ...evaluateLoginLimits(login)];
}

export async function findServingPooler(
  known: Known & { databaseUrl: string },
): Promise<CheckResult> {
  const { databaseUrl: url, prepare } = known;
  const pooling = await findPooling({ url, prepare, name: "rowhouse doctor" });
  if (pooling === "none") known.direct = true;
  return evaluatePooling(pooling, "DATABASE_URL");
}

export async function findAdmin(known: Known & { admin: Database }): Promise<CheckResult[]> {
  const { admin, adminVariable, db, session } = known;
  // The check of DATABASE_URL has reported it.
  if (adminVariable === "DATABASE_URL" && db !== undefined && session === undefined) return [];
  const response = await readRows(admin, "select 1").catch(toUnavailable(adminVariable));
  if ("about" in response) return [{ ...response, about: "admin database" }];
  known.checking = admin;
  known.serving = session === undefined || db === undefined ? admin : db;
  return [pass("admin database", "responds")];
}

export async function checkAdminPooler({
  adminUrl: url,
  adminVariable: variable,
  prepare,
}: Known & { adminUrl: string }): Promise<CheckResult[]> {
  if (variable === "DATABASE_URL") return [];
  const pooler = await checkPooler({ url, prepare, variable });
  return pooler.level === "ok" ? [] : [pooler];
}

export async function checkPushingLogin({
  pushes,
  checking,
  serving,
  adminVariable: variable,
  isOperator,
}: Known & { checking: Database; serving: Database }): Promise<Results> {
  if (!pushes) return [];
  const toAdministrator = isOperator ? acceptAdministrator : fail;
  return await checkPushing(checking, { db: serving, variable, toAdministrator });
}

/** Operators' commands need it. */
function acceptAdministrator(about: string): CheckResult {
  return pass(about, "is an administrator, for operators' commands");
}

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
