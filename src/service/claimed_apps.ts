/** Checks roles from providers' claims: rules against existing apps, granted roles against configured providers. @module */
import { countClaimedRoles, findClaimedApps } from "../accounts/people/mod.ts";
import { type Database, readRows } from "../db/mod.ts";
import type { ProviderSettings } from "../identity/mod.ts";
import { quoteForShell } from "../std/quote_for_shell.ts";
import { type CheckResult, warn } from "./check_result.ts";

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
          says: `refer to ${issues.join(", and ")}: these roles have no effect`,
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
  const left = given.filter(({ provider }) => providers.every(({ name }) => name !== provider));
  return left.map(({ provider, roles }) =>
    warn(`roles by claims of ${provider}`, {
      says: `are inactive (${roles} in total): no provider with this name is configured`,
      remedy: `set OIDC_${toVariable(provider)}_… again, or revoke the roles with rowhouse admin revoke --provider ${quoteForShell(provider)}`,
    }),
  );
}

/** Sign-ins in this time count. */
const WITHHELD_DAYS = 7;

/** A warning for each provider that withheld claims lately. `admin` can read the audit log. */
export async function checkWithheldClaims(admin: Database): Promise<CheckResult[]> {
  const found = await readRows<{ provider: string; reason: string; people: string }>(
    admin,
    `select details ->> 'provider' as provider, min(details ->> 'reason') as reason,
      count(distinct user_id)::text as people from rowhouse.audit
    where action = 'claims_withheld' and at > now() - make_interval(days => ${WITHHELD_DAYS})
    group by 1 order by 1`,
  );
  return found.map(({ provider, reason, people }) =>
    warn(`claims of ${provider}`, {
      says: `were withheld from ${people} people in the last ${WITHHELD_DAYS} days: ${reason}; their earlier roles stay`,
      remedy:
        "let the provider send fewer groups, such as the groups of this application, or grant roles with rowhouse admin grant",
    }),
  );
}

function toVariable(provider: string): string {
  return provider.toUpperCase().replaceAll("-", "_");
}
