/** Checks the logins of a serving process for excessive and missing rights. @module */
import { type Database, readRows } from "../db/mod.ts";
import { type DatabaseVariable, toAway } from "./away.ts";
import type { Finding } from "./finding.ts";
import { judgeLoginLimits } from "./login_limits.ts";
import { findServingExcess, judgeConsoleLogin, judgePushingLogin, readLogin } from "./logins.ts";

type PushingOptions = {
  /** Connections of the serving login, or of the pushing login. */
  db: Database;
  /** The variable with the pushing login's connection string. */
  variable: DatabaseVariable;
};

/** Whether the pushing login has exactly the rights to push, and uses the served database. */
export async function examinePushing(
  admin: Database,
  { db, variable }: PushingOptions,
): Promise<Finding> {
  const finding = judgePushingLogin(await readLogin(admin), variable);
  if (finding.level === "fail" || db === admin) return finding;
  const [served, pushed] = [await readPlace(db), await readPlace(admin)];
  if (served === pushed) return finding;
  return {
    about: "pushing login",
    level: "fail",
    says: `${variable} and DATABASE_URL are different databases`,
    remedy: "correct one of the variables: otherwise pushed tables are never served",
  };
}

/** Whether the Console's login has exactly the rights of the Console, and uses the same database as `db`. */
export async function examineConsole(consoleDb: Database, db: Database): Promise<Finding[]> {
  const about = "console login";
  const variable = "CONSOLE_DATABASE_URL";
  const login = await readLogin(consoleDb).catch(toAway(variable));
  if (!("login" in login))
    return [{ ...login, about, says: `cannot connect: the database ${login.says}` }];
  const finding = judgeConsoleLogin(login);
  if (finding.level === "fail") return [finding];
  const findings = [finding, ...judgeLoginLimits(login)];
  // An unavailable database is reported elsewhere.
  const here = await readPlace(db).catch(() => undefined);
  if (here === undefined || here === (await readPlace(consoleDb))) return findings;
  return [
    {
      about,
      level: "fail",
      says: `${variable} and the service use different databases`,
      remedy: "correct it: otherwise administrators manage accounts and apps that are never served",
    },
  ];
}

/**
 * Excessive rights of a serving process's logins, and blockers of pushes; without `pushing`, the process does not push.
 */
export async function examineLogins(
  db: Database,
  pushing: { admin: Database; variable: DatabaseVariable } | undefined,
): Promise<Finding[]> {
  const serving = findServingExcess(await readLogin(db));
  const findings = serving === undefined ? [] : [serving];
  if (pushing === undefined) return findings;
  const { admin, variable } = pushing;
  const toIssue = (error: unknown): Finding => {
    const { says, ...finding } = toAway(variable)(error);
    return { ...finding, about: "pushing login", says: `cannot connect: the database ${says}` };
  };
  findings.push(await examinePushing(admin, { db, variable }).catch(toIssue));
  return findings;
}

/** Identifies a database: its OID and the start time of its server. */
async function readPlace(db: Database): Promise<string> {
  const [row] = await readRows<{ place: string }>(
    db,
    `select pg_catalog.json_build_array(oid, extract(epoch from pg_catalog.pg_postmaster_start_time()))::pg_catalog.text as place
    from pg_catalog.pg_database where datname = pg_catalog.current_database()`,
  );
  return row?.place ?? "";
}
