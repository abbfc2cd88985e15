/**
 * The doctor: what an operator should know before and while the service serves, each finding with its remedy. Checks
 * settings, the database, its roles and the clock; changes nothing and reads no app's rows.
 *
 * @module
 */
import { listFaults, makeIsolationLook } from "../catalog/mod.ts";
import {
  compareMigrations,
  type Database,
  findPooling,
  isDriverPatched,
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
  examineFunctions,
  examinePreviews,
  judgeIsolation,
  judgeMigrations,
  judgeNodes,
  judgeRelease,
} from "./schema_state.ts";
import { examineNodeLogs, judgeSession, judgeVersion, readSession } from "./session.ts";

export type DoctorDeps = {
  db: Database;
  /** Of the login for identity, if it has one of its own. */
  identityDb?: Database | undefined;
  /** Whether one process does everything, which should have such a login. */
  isWhole?: boolean;
  admin: Database;
  /** Where the connection string of `admin` comes from. */
  adminVariable: DatabaseVariable;
  /** Of `admin` and `db`, for connections of their own. */
  adminUrl: string;
  databaseUrl: string;
  prepare: boolean;
  /** Whether the examined process pushes. */
  pushes: boolean;
  /** Where people sign in. */
  identitySecrets?: readonly string[] | undefined;
  cookieDomain?: string | undefined;
  providers?: readonly ProviderSettings[] | undefined;
  /** Those of the setting, if it was read. */
  previews?: readonly Preview[] | undefined;
  /** How many the examined process and those beside it open. */
  connections?: Connections;
  now: () => number;
};

/** All findings, in the order in which things should be fixed. */
export async function examine(deps: DoctorDeps): Promise<Finding[]> {
  const findings = [judgeDriver(isDriverPatched())];
  const askedAt = deps.now();
  const session = await readSession(deps.db).catch(toAway("DATABASE_URL"));
  const answeredAt = deps.now();
  if (!("login" in session)) return [...findings, session];
  findings.push({ about: "database", level: "ok", says: `accepts the login ${session.login}` });
  const login = await readLogin(deps.db);
  findings.push(judgeVersion(session), ...judgeServingLogin(login), ...judgeLoginLimits(login));
  if (deps.isWhole === true)
    findings.push(
      judgeIdentityLogin(login, deps.identityDb && (await readIdentityLogin(deps.identityDb))),
    );
  // It told its time at some moment between the two, however long that took.
  const nowMs = Math.min(Math.max(session.epochMs, askedAt), answeredAt);
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

/** `db` is the serving login's, if there is one: a login that pushes cannot read people. */
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
> & { db?: Database };

/** What can be found out without the serving login. */
export async function examineAdmin(admin: Database, options: AdminOptions): Promise<Finding[]> {
  const { pushes, adminUrl: url, adminVariable: variable, db = admin, prepare, previews } = options;
  const answer = await readRows(admin, "select 1").catch(toAway(variable));
  if ("about" in answer) return [{ ...answer, about: "admin database" }];
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
  // The logins of a gateway and of identity may not read what tables there are.
  if (pushes || variable === "ADMIN_DATABASE_URL")
    findings.push(await examinePreviews(admin, previews), await examineFunctions(admin));
  const isolation = await makeIsolationLook(admin)();
  findings.push(...judgeIsolation(listFaults(isolation)), ...judgeRelease(isolation));
  findings.push(...judgeNodes(isolation));
  findings.push(...(await examineDevLeftovers([db, admin])));
  const { identitySecrets, cookieDomain, providers = [], identityDb: people = db } = options;
  // Where DATABASE_URL cannot be used, there may be only a login that pushes.
  if (identitySecrets !== undefined && (await readsPeople(people))) {
    findings.push(...(await examineIdentitySecrets(people, identitySecrets)));
    findings.push(...(await examineCookieDomain(people, cookieDomain)));
    findings.push(...(await examineMails(people)));
    findings.push(...(await examineClaimedApps(people, providers)));
    findings.push(...(await examineClaimedRoles(people, providers)));
  }
  return findings;
}
