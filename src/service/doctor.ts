/**
 * The doctor: what an operator should know before and while the service serves, each finding with its remedy. Checks
 * settings, the database, its roles and the clock; changes nothing and reads no app's rows.
 *
 * @module
 */
import { findIsolationFaults } from "../catalog/mod.ts";
import {
  compareMigrations,
  type Database,
  findPooling,
  isDriverPatched,
  isSupportedVersion,
  MAJOR_VERSION,
  MIN_POSTGRES_VERSION,
  type MigrationState,
  OTHER_BASELINE,
  quoteName,
  SERVICE_QUEUE,
} from "../db/mod.ts";
import type { Audience } from "../gateway/mod.ts";
import { findOutdatedTables, findUncallableTables } from "../push/mod.ts";
import { type DatabaseVariable, toAway } from "./away.ts";
import { examineCookieDomain, readsPeople } from "./callers.ts";
import { type Connections, examineConnections } from "./connections.ts";
import type { Finding } from "./finding.ts";
import { examineIdentitySecrets } from "./identity_values.ts";
import { judgeServingLogin, readLogin } from "./logins.ts";
import { examineMails } from "./mail_state.ts";
import { examinePooler, judgePooling } from "./pooler.ts";
import { examinePushing } from "./pushing.ts";

export type DoctorDeps = {
  db: Database;
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
  /** How many the examined process and those beside it open. */
  connections?: Connections;
  now: () => number;
};

/** What is known about the serving login's session. */
export type Session = {
  version: number;
  login: string;
  database: string;
  /** Whether everybody may create temporary tables in this database. */
  publicTemp: boolean;
  /** Whether the server writes the values of statements' parameters into its log: rows, and proofs of keys. */
  logsParameters: boolean;
  epochMs: number;
};

const MAX_SKEW_MS = 1000;

/** All findings, in the order in which things should be fixed. */
export async function examine(deps: DoctorDeps): Promise<Finding[]> {
  const findings = [judgeDriver(isDriverPatched())];
  const session = await readSession(deps.db).catch(toAway("DATABASE_URL"));
  if (!("login" in session)) return [...findings, session];
  findings.push({ about: "database", level: "ok", says: `answers ${session.login}` });
  findings.push(judgeVersion(session), ...judgeServingLogin(await readLogin(deps.db)));
  findings.push(judgeTemp(session));
  findings.push(judgeParameterLog(session));
  findings.push(judgeClock(session, deps.now()));
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
  "pushes" | "adminUrl" | "adminVariable" | "prepare" | "identitySecrets" | "cookieDomain"
> & { db?: Database };

/** What can be found out without the serving login. */
export async function examineAdmin(admin: Database, options: AdminOptions): Promise<Finding[]> {
  const { pushes, adminUrl: url, adminVariable: variable, db = admin, prepare } = options;
  const answer = await admin
    .query("select 1", [], { retry: "safe", queue: SERVICE_QUEUE })
    .catch(toAway(variable));
  if ("about" in answer) return [{ ...answer, about: "admin database" }];
  const findings: Finding[] = [{ about: "admin database", level: "ok", says: "answers" }];
  if (variable === "ADMIN_DATABASE_URL") {
    const pooler = await examinePooler({ url, prepare, variable });
    if (pooler.level !== "ok") findings.push(pooler);
  }
  if (pushes) findings.push(await examinePushing(admin, { db, variable }));
  const migrations = judgeMigrations(await compareMigrations(admin));
  findings.push(migrations);
  if (migrations.level !== "ok") return findings;
  // The logins of a gateway and of identity may not read what tables there are.
  if (pushes || variable === "ADMIN_DATABASE_URL") findings.push(await examineFunctions(admin));
  findings.push(...judgeIsolation(await findIsolationFaults(admin)));
  const { identitySecrets, cookieDomain } = options;
  // Where DATABASE_URL cannot be used, there may be only a login that pushes.
  if (identitySecrets !== undefined && (await readsPeople(db))) {
    findings.push(...(await examineIdentitySecrets(db, identitySecrets)));
    findings.push(...(await examineCookieDomain(db, cookieDomain)));
    findings.push(...(await examineMails(db)));
  }
  return findings;
}

/** Each fault names its variable and what is expected, never the value. */
export function judgeSettings(faults: readonly string[]): Finding[] {
  const about = "settings";
  if (faults.length === 0) return [{ about, level: "ok", says: "are valid" }];
  const remedy = "correct it where the process is started: .env.example lists every setting";
  return faults.map((says) => ({ about, level: "fail", says, remedy }));
}

/** What a gateway shares with each service: if both know a secret, each can pose as the gateway to the other. */
export function judgeSecrets(secrets: Readonly<Record<Audience, readonly string[]>>): Finding {
  const about = "secrets";
  if (!secrets.data.some((one) => secrets.identity.includes(one)))
    return { about, level: "ok", says: "of data and identity differ" };
  return {
    about,
    level: "warn",
    says: "are the same for data and identity: whoever has one of these services can sign requests to the other",
    remedy:
      "set INTERNAL_HMAC_SECRET_DATA and INTERNAL_HMAC_SECRET_IDENTITY, and each as INTERNAL_HMAC_SECRET of its service",
  };
}

export function judgeDriver(isPatched: boolean): Finding {
  const about = "driver";
  if (isPatched) return { about, level: "ok", says: "is patched" };
  return {
    about,
    level: "warn",
    says: "is not patched: a write that an orderly shutdown of the database cuts off is reported as unknown instead of being tried again",
    remedy:
      'copy node_modules/rowhouse/patches/postgres@3.4.9.patch to patches/, add "patchedDependencies": { "postgres@3.4.9": "patches/postgres@3.4.9.patch" } to package.json, then run bun install',
  };
}

export function judgeVersion({ version }: Session): Finding {
  const says = `PostgreSQL ${version}`;
  if (isSupportedVersion(version)) return { about: "version", level: "ok", says };
  return {
    about: "version",
    level: "fail",
    says,
    remedy: `upgrade to ${MIN_POSTGRES_VERSION} or newer`,
  };
}

/** A careless function would find a hostile type in a temporary schema first. */
export function judgeTemp({ publicTemp, database }: Session): Finding {
  const about = "temporary tables";
  if (!publicTemp) return { about, level: "ok", says: "cannot be created by everybody" };
  return {
    about,
    level: "warn",
    says: "every login can create them in this database, as after a restore without --create",
    remedy: `revoke temporary on database ${quoteName(database)} from public`,
  };
}

/** A log of slow statements contains their parameters, unless PostgreSQL is told to leave them out. */
export function judgeParameterLog({ logsParameters }: Session): Finding {
  const about = "parameters";
  if (!logsParameters) return { about, level: "ok", says: "are not written to the database's log" };
  return {
    about,
    level: "warn",
    says: "of statements are written to the database's log: values of rows, and proofs of keys",
    remedy: "set log_parameter_max_length = 0 and log_parameter_max_length_on_error = 0",
  };
}

export function judgeClock({ epochMs }: Session, nowMs: number): Finding {
  const skewMs = Math.round(Math.abs(epochMs - nowMs));
  const about = "clock";
  if (skewMs <= MAX_SKEW_MS) return { about, level: "ok", says: "agrees with the database's" };
  return {
    about,
    level: "warn",
    says: `differs from the database's by ${skewMs} ms`,
    remedy:
      "synchronise both machines with a time server: signatures and sessions are checked by the clock",
  };
}

export function judgeMigrations({ missing, isOtherBaseline }: MigrationState): Finding {
  const about = "migrations";
  if (isOtherBaseline) {
    const { says, remedy } = OTHER_BASELINE;
    return { about, level: "fail", says: `the database ${says}`, remedy };
  }
  if (missing.length === 0) return { about, level: "ok", says: "are all applied" };
  return {
    about,
    level: "fail",
    says: `${missing.length} missing`,
    remedy: "run rowhouse migrate",
  };
}

async function examineFunctions(admin: Database): Promise<Finding> {
  const [outdated, uncallable] = [
    await findOutdatedTables(admin),
    await findUncallableTables(admin),
  ];
  return judgeFunctions(outdated.length, uncallable.length);
}

/** How many tables have functions from another release, and how many of those this release cannot call. */
export function judgeFunctions(outdated: number, uncallable: number): Finding {
  const about = "functions";
  if (outdated === 0) return { about, level: "ok", says: "of all tables are from this release" };
  const tables = `${outdated} ${outdated === 1 ? "table" : "tables"}`;
  return {
    about,
    level: uncallable > 0 ? "fail" : "warn",
    says: `of ${tables} are from another release${uncallable > 0 ? ": it cannot serve their rows" : ""}`,
    remedy: "run rowhouse migrate",
  };
}

export function judgeIsolation(faults: readonly string[]): Finding[] {
  const about = "isolation";
  if (faults.length === 0)
    return [{ about, level: "ok", says: "holds: row security, policies, owners, grants, roles" }];
  return faults.map((says) => ({
    about,
    level: "fail",
    says,
    remedy: "restore what the finding names: until then the service refuses to serve",
  }));
}

async function readSession(db: Database): Promise<Session> {
  const [row] = await db.query<{ session: string }>(
    `select pg_catalog.json_build_object(
      'version', ${MAJOR_VERSION},
      'login', current_user, 'database', current_database(),
      'publicTemp', (select datacl is null or exists (select from pg_catalog.aclexplode(datacl)
          where grantee = 0 and privilege_type = 'TEMPORARY')
        from pg_catalog.pg_database where datname = current_database()),
      'logsParameters', (select pg_catalog.bool_or(name = 'log_parameter_max_length_on_error') or (
          pg_catalog.bool_or(name = 'log_parameter_max_length')
          and pg_catalog.bool_or(name like 'log_min_duration%' or name = 'log_statement'))
        from pg_catalog.pg_settings where case name
          when 'log_parameter_max_length' then setting <> '0'
          when 'log_parameter_max_length_on_error' then setting <> '0'
          when 'log_min_duration_statement' then setting <> '-1'
          when 'log_min_duration_sample' then setting <> '-1'
          when 'log_statement' then setting not in ('none', 'ddl') else false end) is true,
      'epochMs', extract(epoch from pg_catalog.clock_timestamp()) * 1000)::text as session`,
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  return JSON.parse(row?.session ?? "null") as Session;
}
