/**
 * `rowhouse doctor`: the table of its checks. Each names what it needs, and returns results with remedies. Changes nothing
 * and never reads apps' rows.
 *
 * @module
 */

import {
  compareMigrations,
  type Database,
  isDriverPatched,
  makeNodeMap,
  RELEASE_TEXT,
} from "../../db/mod.ts";
import { readMailState } from "../../records/mails/mod.ts";
import { listIssues, makeIsolationCheck } from "../../tables/catalog/mod.ts";
import { type CheckResult, pass } from "../check_result.ts";
import { checkConsole } from "../logins/checks.ts";
import { evaluateLoginLimits } from "../logins/limits.ts";
import { evaluateIdentityLogin, readIdentityLogin, readLogin } from "../logins/rights.ts";
import {
  checkCookieDomain,
  evaluateProxies,
  evaluateRemoved,
  readsPeople,
} from "../setting_checks.ts";
import {
  evaluateDriver,
  evaluateLostText,
  evaluateSecrets,
  evaluateSettings,
} from "../settings_checks.ts";
import { toFailedCheck } from "../unavailable.ts";
import {
  checkClaimedApps,
  checkClaimedRoles,
  checkConnections,
  checkWithheldClaims,
} from "./checks.ts";
import {
  checkAdminPooler,
  checkPushingLogin,
  checkServingLogin,
  findAdmin,
  findServingPooler,
  findSession,
} from "./connections.ts";
import { type Check, check, type DoctorContext, type Known } from "./context.ts";
import { checkDevLeftovers } from "./dev_leftovers.ts";
import { checkMailServer, checkProviders } from "./external_servers.ts";
import { checkIdentitySecrets } from "./identity_values.ts";
import { evaluateMails } from "./mail_queue.ts";
import {
  checkContract,
  checkFunctions,
  checkNodeAddresses,
  checkNodes,
  checkProcesses,
  checkSearch,
  checkSizes,
  checkSwitches,
  evaluateIsolation,
  evaluateMigrations,
  evaluateRelease,
  showPreviews,
} from "./schema_state.ts";
import { checkNodeLogs, evaluateSession } from "./session.ts";

const NONE = () => undefined;
const SERVING = () => "DATABASE_URL" as const;
const PEOPLE = ({ identityDb }: Known) =>
  identityDb === undefined ? "DATABASE_URL" : "IDENTITY_DATABASE_URL";

/** All checks, in the order in which issues should be fixed. */
export const CHECKS: readonly Check[] = [
  check("rowhouse", [], () => pass("rowhouse", RELEASE_TEXT), NONE),
  check("settings", [], ({ settingIssues }) => evaluateSettings(settingIssues), NONE),
  check("lost text", ["lostText"], ({ lostText }) => evaluateLostText(lostText), NONE),
  check(
    "removed settings",
    ["removedSettings"],
    ({ removedSettings }) => evaluateRemoved(removedSettings),
    NONE,
  ),
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
  check("limits of the login", ["checking", "serving"], async (known) =>
    known.pushes && !known.isOperator && known.serving !== known.checking
      ? evaluateLoginLimits(await readLogin(known.checking))
      : [],
  ),
  check("migrations", ["checking"], findMigrations),
  check("processes", ["checking", "migrated"], ({ checking }) => checkProcesses(checking)),
  check("previews", ["checking", "migrated"], (known) =>
    readsTables(known) ? showPreviews(known.previews) : [],
  ),
  check("search", ["checking", "migrated"], (known) =>
    readsTables(known) ? checkSearch(known.checking) : [],
  ),
  check("switches", ["checking", "migrated"], ({ checking }) => checkSwitches(checking)),
  check("upgrade", ["checking", "migrated"], (known) =>
    readsTables(known) ? checkContract(known.checking) : [],
  ),
  check("functions", ["checking", "migrated"], (known) =>
    readsTables(known) ? checkFunctions(known.checking) : [],
  ),
  check("sizes of apps", ["checking", "migrated"], (known) =>
    readsTables(known) ? checkSizes(known.checking) : [],
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
