/**
 * `rowhouse doctor`: the table of its checks. Each names what it needs, and returns results with remedies. Changes nothing
 * and never reads apps' rows.
 *
 * @module
 */

import {
  compareMigrations,
  type Database,
  findPooling,
  isDriverPatched,
  makeNodeMap,
  RELEASE_TEXT,
  readRows,
} from "../../db/mod.ts";
import type { Audience } from "../../gateway/mod.ts";
import type { ProviderSettings } from "../../identity/mod.ts";
import type { MailSettings } from "../../mail/mod.ts";
import type { Preview } from "../../preview.ts";
import { readMailState } from "../../records/mails/mod.ts";
import { listIssues, makeIsolationCheck } from "../../tables/catalog/mod.ts";
import { evaluateDriver, evaluateSecrets, evaluateSettings } from "../databases.ts";
import { checkConsole, checkPushing } from "../login_checks.ts";
import {
  evaluateIdentityLogin,
  evaluateLoginLimits,
  evaluateServingLogin,
  type Login,
  readIdentityLogin,
  readLogin,
} from "../logins.ts";
import { checkCookieDomain, evaluateProxies, readsPeople } from "../setting_checks.ts";
import { type DatabaseVariable, toFailedCheck, toUnavailable } from "../unavailable.ts";
import { type CheckResult, pass } from "./check_result.ts";
import {
  type Connections,
  checkClaimedApps,
  checkClaimedRoles,
  checkConnections,
  checkDevLeftovers,
  checkMailServer,
  checkProviders,
  checkWithheldClaims,
  evaluateMails,
} from "./checks.ts";
import { checkIdentitySecrets } from "./identity_values.ts";
import { checkPooler, evaluatePooling } from "./pooler.ts";
import { checkProcesses } from "./processes.ts";
import {
  checkFunctions,
  checkNodeAddresses,
  checkNodes,
  checkPreviews,
  evaluateIsolation,
  evaluateMigrations,
  evaluateRelease,
} from "./schema_state.ts";
import {
  checkNodeLogs,
  evaluateSession,
  evaluateVersion,
  readSession,
  type Session,
} from "./session.ts";

/** The settings of the checked process, and the connections of those that are set. */
export type DoctorContext = {
  /** All errors of the settings; the other fields are from the valid ones. */
  settingIssues: readonly string[];
  /** Secrets of a gateway, which it shares with two services. */
  sharedSecrets?: Readonly<Record<Audience, readonly string[]>> | undefined;
  trustedProxies: readonly string[];
  /** The connections of DATABASE_URL. */
  db?: Database | undefined;
  databaseUrl?: string | undefined;
  /** The connections of ADMIN_DATABASE_URL, or else of DATABASE_URL. */
  admin?: Database | undefined;
  adminUrl?: string | undefined;
  adminVariable: "DATABASE_URL" | "ADMIN_DATABASE_URL";
  /** The connections of the separate login for identity, if there is one. */
  identityDb?: Database | undefined;
  /** The connections of the Console's login. */
  consoleDb?: Database | undefined;
  prepare: boolean;
  /** Whether one process runs all parts; it should have a separate login for identity. */
  isWhole: boolean;
  /** Whether the checked process pushes. */
  pushes: boolean;
  /** Whether the settings are those of an operator's commands, for which ADMIN_DATABASE_URL can be an administrator. */
  isOperator: boolean;
  /** Set if the checked process serves sign-in. */
  identitySecrets?: readonly string[] | undefined;
  cookieDomain?: string | undefined;
  providers: readonly ProviderSettings[];
  mail?: MailSettings | undefined;
  /** The value of PREVIEW, if it is valid. */
  previews?: readonly Preview[] | undefined;
  /** The connection string for calls straight to the nodes of a database with several, if processes send them. */
  nodesUrl?: string | undefined;
  /** Connections that all processes of the service open. */
  connections?: Connections | undefined;
  now: () => number;
};

/** Facts that checks find for later checks. Absent if the check failed or did not run. */
type Found = {
  /** The serving login's session, and the time of this machine when the database read its clock. */
  session?: Session & { nowMs: number };
  login?: Login;
  /** Set if DATABASE_URL connects without a pooler. */
  direct?: true;
  /** Connections for checks of the database: `admin`, if it responds. */
  checking?: Database;
  /** The serving login's connections if they respond, otherwise those of `checking`. */
  serving?: Database;
  /** Set if this release's migrations are all applied. */
  migrated?: true;
  nodes?: ReturnType<typeof makeNodeMap>;
  /** The connections of the login that reads people. */
  people?: Database;
};
type Known = DoctorContext & Found;
type Results = CheckResult | CheckResult[];

export type Check = {
  about: string;
  /** Without one of these, the check does not run: it is not set, or an earlier check reports why it is missing. */
  needs: readonly (keyof Known)[];
  /** The variable with the connection string that the check uses. */
  variable: (known: Known) => DatabaseVariable | undefined;
  run: (known: Known) => Results | Promise<Results>;
};

/** A check whose `run` has what it needs. */
function check<Need extends keyof Known = never>(
  about: string,
  needs: readonly Need[],
  run: (
    known: Known & { [Name in Need]-?: NonNullable<Known[Name]> },
  ) => Results | Promise<Results>,
  variable: Check["variable"] = ({ adminVariable }) => adminVariable,
): Check {
  // Only runChecks() calls it, with all needs.
  return { about, needs, variable, run: run as Check["run"] };
}

const NONE = () => undefined;
const SERVING = () => "DATABASE_URL" as const;
const PEOPLE = ({ identityDb }: Known) =>
  identityDb === undefined ? "DATABASE_URL" : "IDENTITY_DATABASE_URL";

/** All checks, in the order in which issues should be fixed. */
export const CHECKS: readonly Check[] = [
  check("rowhouse", [], () => pass("rowhouse", RELEASE_TEXT), NONE),
  check("settings", [], ({ settingIssues }) => evaluateSettings(settingIssues), NONE),
  check("secrets", ["sharedSecrets"], ({ sharedSecrets }) => evaluateSecrets(sharedSecrets), NONE),
  check("trusted proxies", [], ({ trustedProxies }) => evaluateProxies(trustedProxies), NONE),
  check("driver", [], () => evaluateDriver(isDriverPatched()), NONE),
  check("database", ["db"], findSession, SERVING),
  check("login", ["db", "session"], checkServingLogin, SERVING),
  check(
    "identity login",
    ["login"],
    async ({ login, isWhole, identityDb }) =>
      isWhole
        ? evaluateIdentityLogin(login, identityDb && (await readIdentityLogin(identityDb)))
        : [],
    () => "IDENTITY_DATABASE_URL",
  ),
  check("session", ["session"], ({ session }) => evaluateSession(session, session.nowMs), NONE),
  check("logs of nodes", ["db", "session"], ({ db }) => checkNodeLogs(db), SERVING),
  check("pooler", ["databaseUrl", "session"], findServingPooler, SERVING),
  check(
    "connections",
    ["db", "direct", "connections"],
    ({ db, connections }) => checkConnections(db, connections),
    SERVING,
  ),
  check("admin database", ["admin"], findAdmin),
  check("admin pooler", ["checking", "adminUrl"], checkAdminPooler),
  check("pushing login", ["checking", "serving"], checkPushingLogin),
  check("limits of the login", ["checking", "serving"], async ({ pushes, checking, serving }) =>
    pushes && serving !== checking ? evaluateLoginLimits(await readLogin(checking)) : [],
  ),
  check("migrations", ["checking"], findMigrations),
  check("processes", ["checking", "migrated"], ({ checking }) => checkProcesses(checking)),
  check("previews", ["checking", "migrated"], (known) =>
    readsTables(known) ? checkPreviews(known.checking, known.previews) : [],
  ),
  check("functions", ["checking", "migrated"], (known) =>
    readsTables(known) ? checkFunctions(known.checking) : [],
  ),
  check("isolation", ["checking", "migrated"], checkIsolation),
  check("addresses of nodes", ["nodes", "nodesUrl"], ({ nodes, nodesUrl }) =>
    checkNodeAddresses(nodes.entries(), nodesUrl),
  ),
  check("rowhouse dev", ["checking", "serving", "migrated"], ({ serving, checking }) =>
    checkDevLeftovers([serving, checking]),
  ),
  check("people", ["serving", "identitySecrets", "migrated"], findPeople, PEOPLE),
  check(
    "identity secret",
    ["people", "identitySecrets"],
    ({ people, identitySecrets }) => checkIdentitySecrets(people, identitySecrets),
    PEOPLE,
  ),
  check(
    "cookie domain",
    ["people"],
    ({ people, cookieDomain }) => checkCookieDomain(people, cookieDomain),
    PEOPLE,
  ),
  check(
    "mail",
    ["people"],
    async ({ people }) => evaluateMails(await readMailState({ db: people })),
    PEOPLE,
  ),
  check(
    "apps of providers",
    ["people"],
    ({ people, providers }) => checkClaimedApps(people, providers),
    PEOPLE,
  ),
  check(
    "roles of providers",
    ["people"],
    ({ people, providers }) => checkClaimedRoles(people, providers),
    PEOPLE,
  ),
  check("claims of providers", ["people"], ({ people }) => checkWithheldClaims(people), PEOPLE),
  check(
    "console login",
    ["consoleDb"],
    ({ consoleDb, db, admin }) => checkConsole(consoleDb, db ?? admin),
    () => "CONSOLE_DATABASE_URL",
  ),
  check("providers", [], ({ providers }) => checkProviders(providers), NONE),
  check("mail server", ["mail"], ({ mail }) => checkMailServer(mail), NONE),
];

/** The results of all checks. A check that cannot run is a failure with a remedy, and the others still run. */
export async function runChecks(
  context: DoctorContext,
  checks: readonly Check[] = CHECKS,
): Promise<CheckResult[]> {
  const known: Known = { ...context };
  const results: CheckResult[] = [];
  for (const { about, needs, variable, run } of checks) {
    if (needs.some((need) => known[need] === undefined)) continue;
    const ran = Promise.try(() => run(known));
    results.push(...[await ran.catch(toFailedCheck(about, variable(known)))].flat());
  }
  return results;
}

async function findSession(known: Known & { db: Database }): Promise<CheckResult[]> {
  const askedAt = known.now();
  const session = await readSession(known.db).catch(toUnavailable("DATABASE_URL"));
  if (!("login" in session)) return [session];
  // The database read its clock at some moment between the two, even if the response was slow.
  const nowMs = Math.min(Math.max(session.epochMs, askedAt), known.now());
  known.session = { ...session, nowMs };
  return [pass("database", `accepts the login ${session.login}`), evaluateVersion(session)];
}

async function checkServingLogin(known: Known & { db: Database }): Promise<CheckResult[]> {
  const login = await readLogin(known.db);
  known.login = login;
  return [...evaluateServingLogin(login), ...evaluateLoginLimits(login)];
}

async function findServingPooler(known: Known & { databaseUrl: string }): Promise<CheckResult> {
  const { databaseUrl: url, prepare } = known;
  const pooling = await findPooling({ url, prepare, name: "rowhouse doctor" });
  if (pooling === "none") known.direct = true;
  return evaluatePooling(pooling, "DATABASE_URL");
}

async function findAdmin(known: Known & { admin: Database }): Promise<CheckResult[]> {
  const { admin, adminVariable, db, session } = known;
  // The check of DATABASE_URL has reported it.
  if (adminVariable === "DATABASE_URL" && db !== undefined && session === undefined) return [];
  const response = await readRows(admin, "select 1").catch(toUnavailable(adminVariable));
  if ("about" in response) return [{ ...response, about: "admin database" }];
  known.checking = admin;
  known.serving = session === undefined || db === undefined ? admin : db;
  return [pass("admin database", "responds")];
}

async function checkAdminPooler({
  adminUrl: url,
  adminVariable: variable,
  prepare,
}: Known & { adminUrl: string }): Promise<CheckResult[]> {
  if (variable === "DATABASE_URL") return [];
  const pooler = await checkPooler({ url, prepare, variable });
  return pooler.level === "ok" ? [] : [pooler];
}

async function checkPushingLogin({
  pushes,
  checking,
  serving,
  adminVariable: variable,
  isOperator,
}: Known & { checking: Database; serving: Database }): Promise<Results> {
  if (!pushes) return [];
  const options = { db: serving, variable, rejectsAdministrator: !isOperator };
  return await checkPushing(checking, options);
}

async function findMigrations(known: Known & { checking: Database }): Promise<CheckResult> {
  const result = evaluateMigrations(await compareMigrations(known.checking));
  if (result.level === "ok") known.migrated = true;
  return result;
}

/** The logins of the gateway and of identity cannot read the list of tables. */
function readsTables({ pushes, adminVariable }: Known): boolean {
  return pushes || adminVariable === "ADMIN_DATABASE_URL";
}

async function checkIsolation(known: Known & { checking: Database }): Promise<CheckResult[]> {
  const nodes = makeNodeMap();
  const isolation = await makeIsolationCheck(known.checking, nodes)();
  known.nodes = nodes;
  return [
    ...evaluateIsolation(listIssues(isolation)),
    ...evaluateRelease(isolation),
    ...checkNodes(isolation),
  ];
}

/** If DATABASE_URL cannot be used, the only login can be the pushing login, which cannot read people. */
async function findPeople(known: Known & { serving: Database }): Promise<CheckResult[]> {
  const people = known.identityDb ?? known.serving;
  if (await readsPeople(people)) known.people = people;
  return [];
}
