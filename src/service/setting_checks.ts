/** Checks removed settings, TRUSTED_PROXIES, and COOKIE_DOMAIN against the accounts in the database. @module */
import { call, type Database, readValue } from "../db/mod.ts";
import { trustsAllAddresses } from "../gateway/mod.ts";
import { type CheckResult, fail, warn } from "./check_result.ts";

/** A warning for each setting of an earlier release that has no effect. */
export function evaluateRemoved(
  removed: readonly { variable: string; constant: string; remedy: string }[],
): CheckResult[] {
  return removed.map(({ variable, constant, remedy }) =>
    warn(`setting ${variable}`, { message: `was removed, and has no effect: ${constant}`, remedy }),
  );
}

/** A warning if every address is trusted as a proxy. */
export function evaluateProxies(trusted: readonly string[]): CheckResult[] {
  if (!trustsAllAddresses(trusted)) return [];
  return [
    warn("trusted proxies", {
      message:
        "include every address: callers can claim any address in X-Forwarded-For, and so bypass the limits on failed sign-ins and keys",
      remedy:
        "set TRUSTED_PROXIES to the addresses or networks of your own proxies, such as 10.0.0.0/8",
    }),
  ];
}

/** Whether this login can read accounts. */
export async function readsPeople(db: Database): Promise<boolean> {
  return await readValue<boolean>(
    db,
    "select pg_catalog.has_any_column_privilege('rowhouse.users', 'select') as reads",
  );
}

/** Fails if accounts exist but no COOKIE_DOMAIN is set. The login of `db` can read accounts. */
export async function checkCookieDomain(
  db: Database,
  cookieDomain: string | undefined,
): Promise<CheckResult[]> {
  if (cookieDomain !== undefined) return [];
  const count = await call(db, "count_users", {});
  if (count === 0) return [];
  return [
    fail("cookies", {
      message: `COOKIE_DOMAIN is not set, and ${count === 1 ? "1 person has an account" : `${count} people have accounts`}: sign-ins would not reach any app`,
      remedy: "set COOKIE_DOMAIN to the parent domain of all apps, such as example.org",
    }),
  ];
}
