/** Roles by providers' claims: the rules compared with the apps that there are, and what was given with the providers. @module */
import { countClaimedRoles, findClaimedApps } from "../accounts/people/mod.ts";
import type { Database } from "../db/mod.ts";
import type { ProviderSettings } from "../identity/mod.ts";
import type { Finding } from "./finding.ts";

/** What rules name in vain, by provider. `db` is a login that reads apps. */
export async function examineClaimedApps(
  db: Database,
  providers: readonly ProviderSettings[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, roles } of providers) {
    const apps = await findClaimedApps(
      { db },
      roles.map(({ slug }) => slug),
    );
    const faults = [
      ...apps.unknown.map((slug) => `${slug}, which does not exist`),
      ...apps.disabled.map((slug) => `${slug}, which is disabled`),
    ];
    if (faults.length > 0)
      findings.push({
        about: `roles by claims of ${name}`,
        level: "warn",
        says: `refer to ${faults.join(", and ")}: these roles have no effect`,
        remedy: `correct OIDC_${toVariable(name)}_ROLES, or create or enable the app`,
      });
  }
  return findings;
}

/** Roles that claims of providers gave which are not set up any more. `db` is a login that reads roles. */
export async function examineClaimedRoles(
  db: Database,
  providers: readonly ProviderSettings[],
): Promise<Finding[]> {
  const given = await countClaimedRoles({ db });
  const left = given.filter(({ provider }) => providers.every(({ name }) => name !== provider));
  return left.map(({ provider, roles }) => ({
    about: `roles by claims of ${provider}`,
    level: "warn",
    says: `are inactive (${roles} in total): no provider with this name is configured`,
    remedy: `set OIDC_${toVariable(provider)}_… again, or revoke the roles with rowhouse admin revoke --provider ${provider}`,
  }));
}

function toVariable(provider: string): string {
  return provider.toUpperCase().replaceAll("-", "_");
}
