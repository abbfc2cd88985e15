/** The doctor's checks of the process's connections and logins. They record which connections later checks can use. @module */

import { type Database, findPooling, readRows } from "../../db/mod.ts";
import { checkPushing } from "../login_checks.ts";
import { evaluateLoginLimits, evaluateServingLogin, readLogin } from "../logins.ts";
import { toUnavailable } from "../unavailable.ts";
import { type CheckResult, fail, pass } from "./check_result.ts";
import type { Known, Results } from "./context.ts";
import { checkPooler, evaluatePooling } from "./pooler.ts";
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
