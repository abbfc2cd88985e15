/**
 * `rowhouse doctor`: checks settings, the database, its roles and the clock, and reports each result with a remedy. Changes
 * nothing and never reads apps' rows.
 *
 * @module
 */
import { listIssues, makeIsolationLook } from "../catalog/mod.ts";
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
import { type DatabaseVariable, toAway } from "./away.ts";
import { examineCookieDomain, readsPeople } from "./callers.ts";
import { examineClaimedApps, examineClaimedRoles } from "./claimed_apps.ts";
import { judgeDriver } from "./configuration.ts";
import { type Connections, examineConnections } from "./connections.ts";
import { examineDevLeftovers } from "./dev_leftovers.ts";
import type { Finding } from "./finding.ts";
import { examineIdentitySecrets } from "./identity_values.ts";
import { judgeLoginLimits } from "./login_limits.ts";
import { judgeIdentityLogin, judgeServingLogin, readIdentityLogin, readLogin } from "./logins.ts";
import { examineMails } from "./mail_state.ts";
import { examinePooler, judgePooling } from "./pooler.ts";
import { examinePushing } from "./pushing.ts";
import {
  checkNodeAddresses,
  checkNodes,
  examineFunctions,
  examinePreviews,
  judgeIsolation,
  judgeMigrations,
  judgeRelease,
} from "./schema_state.ts";
import { examineNodeLogs, judgeSession, judgeVersion, readSession } from "./session.ts";

export type DoctorDeps = {
  db: Database;
  /** Connections of the separate login for identity, if there is one. */
  identityDb?: Database | undefined;
  /** Whether one process runs all parts; it should have a separate login for identity. */
  isWhole?: boolean;
  admin: Database;
  /** Where the connection string of `admin` comes from. */
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
export async function examine(deps: DoctorDeps): Promise<Finding[]> {
  const findings = [judgeDriver(isDriverPatched())];
  const askedAt = deps.now();
  const session = await readSession(deps.db).catch(toAway("DATABASE_URL"));
  const respondedAt = deps.now();
  if (!("login" in session)) return [...findings, session];
  findings.push({ about: "database", level: "ok", says: `accepts the login ${session.login}` });
  const login = await readLogin(deps.db);
  findings.push(judgeVersion(session), ...judgeServingLogin(login), ...judgeLoginLimits(login));
  if (deps.isWhole === true)
    findings.push(
      judgeIdentityLogin(login, deps.identityDb && (await readIdentityLogin(deps.identityDb))),
    );
  // The database read its clock at some moment between the two, even if the response was slow.
  const nowMs = Math.min(Math.max(session.epochMs, askedAt), respondedAt);
  findings.push(...judgeSession(session, nowMs), ...(await examineNodeLogs(deps.db)));
  const { databaseUrl: url, prepare } = deps;
  const pooling = await findPooling({ url, prepare, name: "rowhouse doctor" });
  findings.push(judgePooling(pooling, "DATABASE_URL"));
  if (pooling === "none" && deps.connections !== undefined)
    findings.push(...(await examineConnections(deps.db, deps.connections)));
  const isSound = findings.every(({ level }) => level !== "fail");
  const identitySecrets = isSound ? deps.identitySecrets : undefined;
  return [...findings, ...(await examineAdmin(deps.admin, { ...deps, identitySecrets }))];
}

/** `db` is the serving login's connection, if there is one: the pushing login cannot read accounts. */
type AdminOptions = Pick<
  DoctorDeps,
  | "pushes"
  | "adminUrl"
  | "adminVariable"
  | "prepare"
  | "identitySecrets"
  | "cookieDomain"
  | "providers"
  | "identityDb"
  | "previews"
  | "nodesUrl"
> & { db?: Database };

/** The checks that do not need the serving login. */
export async function examineAdmin(admin: Database, options: AdminOptions): Promise<Finding[]> {
  const {
    pushes,
    adminUrl: url,
    adminVariable: variable,
    db = admin,
    prepare,
    previews,
    nodesUrl,
  } = options;
  const result = await readRows(admin, "select 1").catch(toAway(variable));
  if ("about" in result) return [{ ...result, about: "admin database" }];
  const findings: Finding[] = [{ about: "admin database", level: "ok", says: "responds" }];
  if (variable === "ADMIN_DATABASE_URL") {
    const pooler = await examinePooler({ url, prepare, variable });
    if (pooler.level !== "ok") findings.push(pooler);
  }
  if (pushes) {
    findings.push(await examinePushing(admin, { db, variable }));
    if (db !== admin) findings.push(...judgeLoginLimits(await readLogin(admin)));
  }
  const migrations = judgeMigrations(await compareMigrations(admin));
  findings.push(migrations);
  if (migrations.level !== "ok") return findings;
  // The logins of the gateway and of identity cannot read the list of tables.
  if (pushes || variable === "ADMIN_DATABASE_URL")
    findings.push(await examinePreviews(admin, previews), await examineFunctions(admin));
  const nodes = makeNodeMap();
  const isolation = await makeIsolationLook(admin, nodes)();
  findings.push(
    ...judgeIsolation(listIssues(isolation)),
    ...judgeRelease(isolation),
    ...checkNodes(isolation),
    ...(nodesUrl === undefined ? [] : await checkNodeAddresses(nodes.entries(), nodesUrl)),
  );
  findings.push(...(await examineDevLeftovers([db, admin])));
  const { identitySecrets, cookieDomain, providers = [], identityDb: people = db } = options;
  // If DATABASE_URL cannot be used, the only login can be the pushing login.
  if (identitySecrets !== undefined && (await readsPeople(people))) {
    findings.push(...(await examineIdentitySecrets(people, identitySecrets)));
    findings.push(...(await examineCookieDomain(people, cookieDomain)));
    findings.push(...(await examineMails(people)));
    findings.push(...(await examineClaimedApps(people, providers)));
    findings.push(...(await examineClaimedRoles(people, providers)));
  }
  return findings;
}
