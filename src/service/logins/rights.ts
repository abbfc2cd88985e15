/**
 * Compares each login's rights with the rights that it needs: a login should be a member only of the roles that its work
 * requires, so that a stolen login gives no more. Reads only PostgreSQL's catalogs.
 *
 * @module
 */

import { type Database, quoteName, readValue, SERVING_ROLES } from "../../db/mod.ts";
import { type CheckResult, fail, pass, warn } from "../check_result.ts";
import { type DatabaseVariable, toNoConnection } from "../unavailable.ts";
import LOGIN from "./login.sql" with { type: "text" };

/** A login's rights that matter for serving and pushing. */
export type Login = {
  login: string;
  database: string;
  isSuperuser: boolean;
  bypassesRls: boolean;
  createsRoles: boolean;
  /** The service's roles that it is a member of, directly or indirectly; all of them for a superuser. */
  memberOf: readonly string[];
  /** Other roles that it is a direct member of. */
  otherRoles: readonly string[];
  statementTimeoutMs: number;
  /** Negative: no limit. */
  connectionLimit: number;
  /** Negative: no limit. */
  tempFileLimitKb: number;
};

const SERVING: readonly string[] = Object.values(SERVING_ROLES);
/** In descending order: a member of the first is a member of all three. */
const OWNERS = ["rowhouse_owner", "rowhouse_tables", "rowhouse_tenant"];
/** The role of the Console's login. */
const CONSOLE = "rowhouse_console";

export async function readLogin(db: Database): Promise<Login> {
  const roles = JSON.stringify([...SERVING, ...OWNERS, CONSOLE]);
  return await readValue<Login>(db, LOGIN, [roles]);
}

/** The login of DATABASE_URL. */
export function evaluateServingLogin(found: Login): CheckResult[] {
  const { login, database, memberOf, statementTimeoutMs } = found;
  const canServe = memberOf.some((role) => SERVING.includes(role));
  const result =
    findServingExcess(found) ??
    (canServe
      ? pass("login", `${login} has exactly the rights that serving needs`)
      : fail("login", {
          message: `${login} lacks the rights to serve`,
          remedy: "run rowhouse migrate with this DATABASE_URL",
        }));
  if (statementTimeoutMs > 0) return [result];
  const limit = warn("time limit", {
    message: `statements of ${login} have no time limit in the database`,
    remedy: `alter role ${quoteName(login)} in database ${quoteName(database)} set statement_timeout = '30s'`,
  });
  return [result, limit];
}

/**
 * The pushing login of a serving process: from ADMIN_DATABASE_URL, or else from DATABASE_URL. `toAdministrator` makes the result
 * for an administrator: a stolen process with such a login controls the whole database.
 */
export function evaluatePushingLogin(
  found: Login,
  variable: DatabaseVariable,
  toAdministrator = warn,
): CheckResult {
  const { login, memberOf } = found;
  const about = "pushing login";
  if (!found.isSuperuser && !memberOf.includes("rowhouse_tables"))
    return fail(about, {
      message: `${variable === "DATABASE_URL" ? "ADMIN_DATABASE_URL is not set, and " : ""}${login} of ${variable} lacks the rights to push`,
      remedy:
        "set ADMIN_DATABASE_URL to a login with these rights: grant rowhouse_tables to a role with only LOGIN",
    });
  const message = `${login} has exactly the rights that pushing needs`;
  const isAdministrator = found.isSuperuser || memberOf.includes("rowhouse_owner");
  return findPushingExcess(found, isAdministrator ? toAdministrator : warn) ?? pass(about, message);
}

/** The login of CONSOLE_DATABASE_URL. It should act only for users who present both cookies. */
export function evaluateConsoleLogin(found: Login): CheckResult {
  const { login, memberOf, otherRoles } = found;
  const about = "console login";
  if (!memberOf.includes(CONSOLE))
    return fail(about, {
      message: `${login} lacks the rights of the Console`,
      remedy: "run rowhouse migrate with this CONSOLE_DATABASE_URL",
    });
  const member = [...OWNERS, ...SERVING].find((role) => memberOf.includes(role));
  const rights = describeExcess(found, member ?? otherRoles[0]);
  if (rights === "") return pass(about, `${login} has exactly the rights of the Console`);
  return warn(about, {
    message: `${login} ${rights}: more than the Console needs`,
    remedy:
      "create a role with only LOGIN, use it in CONSOLE_DATABASE_URL and run rowhouse migrate",
  });
}

/** The login of `IDENTITY_DATABASE_URL`; a failed result if it cannot connect. */
export async function readIdentityLogin(db: Database): Promise<Login | CheckResult> {
  return await readLogin(db).catch(toNoConnection("IDENTITY_DATABASE_URL", "identity login"));
}

/**
 * Whether identity has a separate login in a process that runs all parts. Without a separate login, an attacker with the
 * pushing login can inject code into apps' functions, and it runs in sessions that can read accounts.
 */
export function evaluateIdentityLogin(
  serving: Login,
  identity: Login | CheckResult | undefined,
): CheckResult {
  const about = "identity login";
  if (identity === undefined)
    return warn(about, {
      message: "is not set: a stolen pushing login can do everything that the serving login can",
      remedy:
        "create a role with only LOGIN, use it in IDENTITY_DATABASE_URL, run rowhouse migrate and restart",
    });
  if ("about" in identity) return identity;
  if (!identity.memberOf.includes("rowhouse_identity"))
    return fail(about, {
      message: `${identity.login} lacks the rights to serve identity`,
      remedy: "run rowhouse migrate with this IDENTITY_DATABASE_URL",
    });
  const member = [...OWNERS, CONSOLE, "rowhouse_service", "rowhouse_data"].find((role) =>
    identity.memberOf.includes(role),
  );
  const rights = describeExcess(identity, member);
  const shared = ["rowhouse_service", "rowhouse_identity"].find((role) =>
    serving.memberOf.includes(role),
  );
  if (rights === "" && shared === undefined)
    return pass(about, `${identity.login} serves only identity`);
  return warn(about, {
    message:
      rights === ""
        ? `${serving.login} of DATABASE_URL is a member of ${shared}, so it can do what ${identity.login} can`
        : `${identity.login} ${rights}: more than identity needs`,
    remedy:
      "run rowhouse migrate with both connection strings, each for a login with only this purpose",
  });
}

/** A warning if the serving login has more rights than it needs. */
export function findServingExcess(found: Login): CheckResult | undefined {
  const member = [...OWNERS, CONSOLE].find((role) => found.memberOf.includes(role));
  const rights = describeExcess(found, member);
  if (rights === "") return undefined;
  return warn("login", {
    message: `${found.login} ${rights}: more than serving needs`,
    remedy:
      "create a role with only LOGIN, use it in DATABASE_URL and run rowhouse migrate with ADMIN_DATABASE_URL set",
  });
}

function findPushingExcess(found: Login, toResult: typeof warn): CheckResult | undefined {
  const member = ["rowhouse_owner", ...SERVING, CONSOLE].find((role) =>
    found.memberOf.includes(role),
  );
  const rights = describeExcess(found, member);
  if (rights === "") return undefined;
  return toResult("pushing login", {
    message: `${found.login} ${rights}: more than pushing needs`,
    remedy:
      "for serve, set ADMIN_DATABASE_URL to a login that is a member of rowhouse_tables only; only operators' commands need an administrator, whose settings rowhouse doctor --operator checks",
  });
}

function describeExcess(found: Login, member: string | undefined): string {
  if (found.isSuperuser) return "is a superuser";
  const rights = [
    found.bypassesRls && "bypasses row security",
    found.createsRoles && "can create roles",
    member !== undefined && `is a member of ${member}`,
  ];
  return rights.filter((right) => right !== false).join(", ");
}
