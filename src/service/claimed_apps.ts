/** Checks roles from providers' claims: rules against existing apps, granted roles against configured providers. @module */
import { countClaimedRoles, findClaimedApps } from "../accounts/people/mod.ts";
import type { Database } from "../db/mod.ts";
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
        message: `were withheld from ${withheld} people in the last 7 days: ${reason}; their earlier roles stay`,
        remedy:
          "let the provider send fewer groups, such as the groups of this application, or grant roles with rowhouse admin grant",
      }),
    );
}

function toVariable(provider: string): string {
  return provider.toUpperCase().replaceAll("-", "_");
}
