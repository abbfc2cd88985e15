/** Checks the logins of a serving process for excessive and missing rights. @module */
import { type Database, readValue } from "../../db/mod.ts";
import { type CheckResult, fail, warn } from "../check_result.ts";
import { type DatabaseVariable, toNoConnection } from "../unavailable.ts";
import { evaluateLoginLimits } from "./limits.ts";
import {
  evaluateConsoleLogin,
  evaluatePushingLogin,
  findServingExcess,
  readLogin,
} from "./rights.ts";

type PushingOptions = {
  /** Connections of the serving login, or of the pushing login. */
  db: Database;
  /** The variable with the pushing login's connection string. */
  variable: DatabaseVariable;
  /** What an administrator is; a warning by default. */
  toAdministrator?: typeof warn;
};

/** Whether the pushing login has exactly the rights to push, and uses the served database. */
export async function checkPushing(
  admin: Database,
  { db, variable, toAdministrator = warn }: PushingOptions,
): Promise<CheckResult> {
  const result = evaluatePushingLogin(await readLogin(admin), variable, toAdministrator);
  if (result.level === "fail" || db === admin) return result;
  const [served, pushed] = [await readServerIdentity(db), await readServerIdentity(admin)];
  if (served === pushed) return result;
  return fail("pushing login", {
    message: `${variable} and DATABASE_URL are different databases`,
    remedy: "correct one of the variables: otherwise pushed tables are never served",
  });
}

/** Whether the Console's login has exactly the rights of the Console, and uses the same database as `db`. */
export async function checkConsole(
  consoleDb: Database,
  db: Database | undefined,
): Promise<CheckResult[]> {
  const about = "console login";
  const variable = "CONSOLE_DATABASE_URL";
  const login = await readLogin(consoleDb).catch(toNoConnection(variable, about));
  if (!("login" in login)) return [login];
  const result = evaluateConsoleLogin(login);
  if (result.level === "fail") return [result];
  const results = [result, ...evaluateLoginLimits(login)];
  // An unavailable database is reported elsewhere.
  const here = db && (await readServerIdentity(db).catch(() => undefined));
  if (here === undefined || here === (await readServerIdentity(consoleDb))) return results;
  return [
    fail(about, {
      message: `${variable} and the service use different databases`,
      remedy: "correct it: otherwise administrators manage accounts and apps that are never served",
    }),
  ];
}

/**
 * Excessive rights of a serving process's logins, and blockers of pushes; without `pushing`, the process does not push.
 */
export async function checkLogins(
  db: Database,
  pushing: { admin: Database; variable: DatabaseVariable } | undefined,
): Promise<CheckResult[]> {
  const serving = findServingExcess(await readLogin(db));
  const results = serving === undefined ? [] : [serving];
  if (pushing === undefined) return results;
  const { admin, variable } = pushing;
  const toIssue = toNoConnection(variable, "pushing login");
  results.push(await checkPushing(admin, { db, variable }).catch(toIssue));
  return results;
}

/** Identifies a database: its OID and the start time of its server. */
async function readServerIdentity(db: Database): Promise<string> {
  return await readValue<string>(
    db,
    `select pg_catalog.json_build_array(oid, extract(epoch from pg_catalog.pg_postmaster_start_time()))::pg_catalog.text as identity
    from pg_catalog.pg_database where datname = pg_catalog.current_database()`,
  );
}
