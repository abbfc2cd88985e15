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
import { checkClaimedApps, checkClaimedRoles, checkWithheldClaims } from "./claimed_apps.ts";
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
import { type DatabaseVariable, toFailedCheck, toUnavailable } from "./unavailable.ts";

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
  /** Whether the settings are those of an operator's commands, for which ADMIN_DATABASE_URL can be an administrator. */
  isOperator?: boolean;
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
  results.push(pass("database", `accepts the login ${session.login}`), evaluateVersion(session));
  const check = makeCheck(results, "DATABASE_URL");
  await check("login", async () => {
    const login = await readLogin(deps.db);
    results.push(...evaluateServingLogin(login), ...evaluateLoginLimits(login));
    if (deps.isWhole !== true) return [];
    return [
      evaluateIdentityLogin(login, deps.identityDb && (await readIdentityLogin(deps.identityDb))),
    ];
  });
  // The database read its clock at some moment between the two, even if the response was slow.
  const nowMs = Math.min(Math.max(session.epochMs, askedAt), respondedAt);
  results.push(...evaluateSession(session, nowMs));
  await check("logs of nodes", () => checkNodeLogs(deps.db));
  const { databaseUrl: url, prepare } = deps;
  await check("pooler", async () => {
    const pooling = await findPooling({ url, prepare, name: "rowhouse doctor" });
    results.push(evaluatePooling(pooling, "DATABASE_URL"));
    if (pooling !== "none" || deps.connections === undefined) return [];
    return await checkConnections(deps.db, deps.connections);
  });
  const isSound = results.every(({ level }) => level !== "fail");
  const identitySecrets = isSound ? deps.identitySecrets : undefined;
  return [...results, ...(await checkAdmin(deps.admin, { ...deps, identitySecrets }))];
}

/** Adds the results of a check. A check that cannot run is a failure with a remedy, and the others still run. */
type Check = (about: string, run: () => Promise<CheckResult | CheckResult[]>) => Promise<void>;

function makeCheck(results: CheckResult[], variable: DatabaseVariable): Check {
  return async (about, run) => {
    const toFailed = toFailedCheck(about, variable);
    results.push(...[await run().catch(toFailed)].flat());
  };
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
    isOperator = false,
  } = options;
  const result = await readRows(admin, "select 1").catch(toUnavailable(variable));
  if ("about" in result) return [{ ...result, about: "admin database" }];
  const results: CheckResult[] = [pass("admin database", "responds")];
  const check = makeCheck(results, variable);
  if (variable === "ADMIN_DATABASE_URL")
    await check("pooler", async () => {
      const pooler = await checkPooler({ url, prepare, variable });
      return pooler.level === "ok" ? [] : pooler;
    });
  if (pushes) {
    await check("pushing login", () =>
      checkPushing(admin, { db, variable, rejectsAdministrator: !isOperator }),
    );
    if (db !== admin)
      await check("limits of the login", async () => evaluateLoginLimits(await readLogin(admin)));
  }
  await check("migrations", async () => evaluateMigrations(await compareMigrations(admin)));
  if (results.at(-1)?.level !== "ok") return results;
  // The logins of the gateway and of identity cannot read the list of tables.
  if (pushes || variable === "ADMIN_DATABASE_URL") {
    await check("previews", () => checkPreviews(admin, previews));
    await check("functions", () => checkFunctions(admin));
  }
  const nodes = makeNodeMap();
  await check("isolation", async () => {
    const isolation = await makeIsolationCheck(admin, nodes)();
    return [
      ...evaluateIsolation(listIssues(isolation)),
      ...evaluateRelease(isolation),
      ...checkNodes(isolation),
    ];
  });
  if (nodesUrl !== undefined)
    await check("addresses of nodes", () => checkNodeAddresses(nodes.entries(), nodesUrl));
  await check("rowhouse dev", () => checkDevLeftovers([db, admin]));
  await checkPeople(results, { ...options, db });
  return results;
}

/** The checks of people and their sign-in, with the login that reads people. */
async function checkPeople(
  results: CheckResult[],
  options: AdminOptions & { db: Database },
): Promise<void> {
  const {
    identitySecrets,
    cookieDomain,
    providers = [],
    identityDb: people = options.db,
  } = options;
  const variable = options.identityDb === undefined ? "DATABASE_URL" : "IDENTITY_DATABASE_URL";
  const check = makeCheck(results, variable);
  if (identitySecrets === undefined) return;
  let canRead = false;
  await check("people", async () => {
    // If DATABASE_URL cannot be used, the only login can be the pushing login.
    canRead = await readsPeople(people);
    return [];
  });
  if (!canRead) return;
  await check("identity secret", () => checkIdentitySecrets(people, identitySecrets));
  await check("cookie domain", () => checkCookieDomain(people, cookieDomain));
  await check("mail", async () => evaluateMails(await readMailState({ db: people })));
  await check("apps of providers", () => checkClaimedApps(people, providers));
  await check("roles of providers", () => checkClaimedRoles(people, providers));
  await check("claims of providers", () => checkWithheldClaims(people));
}
