/**
 * `rowhouse doctor`: checks settings, the database, its roles and the clock, and reports each result with a remedy. Changes
 * nothing and never reads apps' rows.
 *
 * @module
 */
import { readMailState } from "../accounts/mails/mod.ts";
import { listIssues, makeIsolationCheck } from "../catalog/mod.ts";
import {
  compareMigrations,
  type Database,
  findPooling,
  isDriverPatched,
  makeNodeMap,
  readRows,
} from "../db/mod.ts";
import type { ProviderSettings } from "../identity/mod.ts";
import type { Preview } from "../preview.ts";
import { checkCookieDomain, readsPeople } from "./callers.ts";
import { type CheckResult, pass } from "./check_result.ts";
import { checkClaimedApps, checkClaimedRoles } from "./claimed_apps.ts";
import { evaluateDriver } from "./configuration.ts";
import { type Connections, checkConnections } from "./connections.ts";
import { checkDevLeftovers } from "./dev_leftovers.ts";
import { checkIdentitySecrets } from "./identity_values.ts";
import { evaluateLoginLimits } from "./login_limits.ts";
import {
  evaluateIdentityLogin,
  evaluateServingLogin,
  readIdentityLogin,
  readLogin,
} from "./logins.ts";
import { evaluateMails } from "./mail_state.ts";
import { checkPooler, evaluatePooling } from "./pooler.ts";
import { checkPushing } from "./pushing.ts";
import {
  checkFunctions,
  checkNodeAddresses,
  checkNodes,
  checkPreviews,
  evaluateIsolation,
  evaluateMigrations,
  evaluateRelease,
} from "./schema_state.ts";
import { checkNodeLogs, evaluateSession, evaluateVersion, readSession } from "./session.ts";
import { type DatabaseVariable, toUnavailable } from "./unavailable.ts";

export type DoctorDeps = {
  db: Database;
  /** Connections of the separate login for identity, if there is one. */
  identityDb?: Database | undefined;
  /** Whether one process runs all parts; it should have a separate login for identity. */
  isWhole?: boolean;
  admin: Database;
  /** The source of the connection string of `admin`. */
  adminVariable: DatabaseVariable;
  /** The connection strings of `admin` and `db`, for separate connections. */
  adminUrl: string;
  databaseUrl: string;
  prepare: boolean;
  /** Whether the checked process pushes. */
  pushes: boolean;
  /** Set if the checked process serves sign-in. */
  identitySecrets?: readonly string[] | undefined;
  cookieDomain?: string | undefined;
  providers?: readonly ProviderSettings[] | undefined;
  /** The value of PREVIEW, if it is valid. */
  previews?: readonly Preview[] | undefined;
  /** The connection string for calls straight to the nodes of a distributed database, if processes send them. */
  nodesUrl?: string | undefined;
  /** Connections that all processes of the service open. */
  connections?: Connections;
  now: () => number;
};

/** All results, in the order in which issues should be fixed. */
export async function checkService(deps: DoctorDeps): Promise<CheckResult[]> {
  const results = [evaluateDriver(isDriverPatched())];
  const askedAt = deps.now();
  const session = await readSession(deps.db).catch(toUnavailable("DATABASE_URL"));
  const respondedAt = deps.now();
  if (!("login" in session)) return [...results, session];
  results.push(pass("database", `accepts the login ${session.login}`));
  const login = await readLogin(deps.db);
  results.push(
    evaluateVersion(session),
    ...evaluateServingLogin(login),
    ...evaluateLoginLimits(login),
  );
  if (deps.isWhole === true)
    results.push(
      evaluateIdentityLogin(login, deps.identityDb && (await readIdentityLogin(deps.identityDb))),
    );
  // The database read its clock at some moment between the two, even if the response was slow.
  const nowMs = Math.min(Math.max(session.epochMs, askedAt), respondedAt);
  results.push(...evaluateSession(session, nowMs), ...(await checkNodeLogs(deps.db)));
  const { databaseUrl: url, prepare } = deps;
  const pooling = await findPooling({ url, prepare, name: "rowhouse doctor" });
  results.push(evaluatePooling(pooling, "DATABASE_URL"));
  if (pooling === "none" && deps.connections !== undefined)
    results.push(...(await checkConnections(deps.db, deps.connections)));
  const isSound = results.every(({ level }) => level !== "fail");
  const identitySecrets = isSound ? deps.identitySecrets : undefined;
  return [...results, ...(await checkAdmin(deps.admin, { ...deps, identitySecrets }))];
}

/** `db` is the serving login's connection, if there is one: the pushing login cannot read accounts. */
type AdminOptions = Omit<
  DoctorDeps,
  "db" | "isWhole" | "admin" | "databaseUrl" | "connections" | "now"
> & { db?: Database };

/** The checks that do not need the serving login. */
export async function checkAdmin(admin: Database, options: AdminOptions): Promise<CheckResult[]> {
  const {
    pushes,
    adminUrl: url,
    adminVariable: variable,
    db = admin,
    prepare,
    previews,
    nodesUrl,
  } = options;
  const result = await readRows(admin, "select 1").catch(toUnavailable(variable));
  if ("about" in result) return [{ ...result, about: "admin database" }];
  const results: CheckResult[] = [pass("admin database", "responds")];
  if (variable === "ADMIN_DATABASE_URL") {
    const pooler = await checkPooler({ url, prepare, variable });
    if (pooler.level !== "ok") results.push(pooler);
  }
  if (pushes) {
    results.push(await checkPushing(admin, { db, variable }));
    if (db !== admin) results.push(...evaluateLoginLimits(await readLogin(admin)));
  }
  const migrations = evaluateMigrations(await compareMigrations(admin));
  results.push(migrations);
  if (migrations.level !== "ok") return results;
  // The logins of the gateway and of identity cannot read the list of tables.
  if (pushes || variable === "ADMIN_DATABASE_URL")
    results.push(await checkPreviews(admin, previews), await checkFunctions(admin));
  const nodes = makeNodeMap();
  const isolation = await makeIsolationCheck(admin, nodes)();
  results.push(
    ...evaluateIsolation(listIssues(isolation)),
    ...evaluateRelease(isolation),
    ...checkNodes(isolation),
    ...(nodesUrl === undefined ? [] : await checkNodeAddresses(nodes.entries(), nodesUrl)),
  );
  results.push(...(await checkDevLeftovers([db, admin])));
  const { identitySecrets, cookieDomain, providers = [], identityDb: people = db } = options;
  // If DATABASE_URL cannot be used, the only login can be the pushing login.
  if (identitySecrets !== undefined && (await readsPeople(people))) {
    results.push(...(await checkIdentitySecrets(people, identitySecrets)));
    results.push(...(await checkCookieDomain(people, cookieDomain)));
    results.push(...evaluateMails(await readMailState({ db: people })));
    results.push(...(await checkClaimedApps(people, providers)));
    results.push(...(await checkClaimedRoles(people, providers)));
  }
  return results;
}
