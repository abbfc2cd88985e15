/**
 * Short checks of `rowhouse doctor`: roles from providers' claims, leftovers of `dev`, mails, outward requests and
 * connections.
 *
 * @module
 */

import { type Database, readRows } from "../../db/mod.ts";
import type { ProviderSettings } from "../../identity/mod.ts";
import { countClaimedRoles, findClaimedApps } from "../../records/people/mod.ts";
import { showCount } from "../../std/count.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { type CheckResult, warn } from "../check_result.ts";

/** A warning for each provider with rules for unknown or disabled apps. The login of `db` can read apps. */
export async function checkClaimedApps(
  db: Database,
  providers: readonly ProviderSettings[],
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const { name, roles } of providers) {
    const apps = await findClaimedApps(
      { db },
      roles.map(({ slug }) => slug),
    );
    const issues = [
      ...apps.unknown.map((slug) => `${slug}, which does not exist`),
      ...apps.disabled.map((slug) => `${slug}, which is disabled`),
    ];
    if (issues.length > 0)
      results.push(
        warn(`roles by claims of ${name}`, {
          message: `refer to ${issues.join(", and ")}: these roles have no effect`,
          remedy: `correct OIDC_${toVariable(name)}_ROLES, or create or enable the app`,
        }),
      );
  }
  return results;
}

/** A warning for each provider that granted roles and is no longer configured. The login of `db` can read roles. */
export async function checkClaimedRoles(
  db: Database,
  providers: readonly ProviderSettings[],
): Promise<CheckResult[]> {
  const given = await countClaimedRoles({ db });
  const left = given.filter(
    ({ provider, roles }) => roles > 0 && providers.every(({ name }) => name !== provider),
  );
  return left.map(({ provider, roles }) =>
    warn(`roles by claims of ${provider}`, {
      message: `are inactive (${roles} in total): no provider with this name is configured`,
      remedy: `set OIDC_${toVariable(provider)}_… again, or revoke the roles with rowhouse admin revoke --provider ${quoteForShell(provider)}`,
    }),
  );
}

/** A warning for each provider that withheld claims in the last days. The login of `db` can read roles. */
export async function checkWithheldClaims(db: Database): Promise<CheckResult[]> {
  const given = await countClaimedRoles({ db });
  return given
    .filter(({ withheld }) => withheld > 0)
    .map(({ provider, withheld, reason }) =>
      warn(`claims of ${provider}`, {
        message: `were withheld from ${showCount(withheld, "person", "people")} in the last 7 days: ${reason}; their earlier roles stay`,
        remedy:
          "let the provider send fewer groups, such as the groups of this application, or grant roles with rowhouse admin grant",
      }),
    );
}

function toVariable(provider: string): string {
  return provider.toUpperCase().replaceAll("-", "_");
}

// Checks whether PostgreSQL allows all connections that the service's processes can open.

/** Max connections: `pool` and `pushing` per worker; `pushing` are those of the pushing login. */
export type Connections = { pool: number; pushing: number; workers: number };

/** `db` connects directly to PostgreSQL: behind a pooler, the pooler opens the connections. */
export async function checkConnections(
  db: Database,
  { pool, pushing, workers }: Connections,
): Promise<CheckResult[]> {
  const [row] = await readRows<{ max: number; login_max: number }>(
    db,
    `select pg_catalog.current_setting('max_connections')::pg_catalog.int4 - pg_catalog.current_setting('superuser_reserved_connections')::pg_catalog.int4
        - coalesce(pg_catalog.current_setting('reserved_connections', true)::pg_catalog.int4, 0) as max, rolconnlimit as login_max
    from pg_catalog.pg_roles where rolname = current_user`,
  );
  const { max = 0, login_max: loginMax = -1 } = row ?? {};
  const serving = pool * workers;
  const all = serving + pushing * workers;
  const isLoginFull = loginMax >= 0 && serving > loginMax;
  if (all <= max && !isLoginFull) return [];
  const limit = isLoginFull ? `the login's limit is ${loginMax}` : `PostgreSQL's limit is ${max}`;
  return [
    warn("connections", {
      message: `this service can open ${isLoginFull ? serving : all}, but ${limit}: PostgreSQL would reject the rest under load`,
      remedy: `lower DATABASE_POOL or WORKERS, or raise ${isLoginFull ? "the login's CONNECTION LIMIT" : "max_connections"}`,
    }),
  ];
}
