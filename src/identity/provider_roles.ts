/** Maps a provider's claims to roles on apps, by the rules in the settings. Never grants a Console role. @module */
import type { ClaimedRole } from "../accounts/people/mod.ts";
import type { Claims, Signed } from "./provider_exchange.ts";
import type { ProviderSettings } from "./provider_settings.ts";

/** One role per app, from the first matching rule. @throws the failure of the user-info endpoint */
export async function readClaimedRoles(
  { roles: rules }: ProviderSettings,
  { claims, readUserInfo }: Signed,
): Promise<ClaimedRole[]> {
  const isWhole = rules.every(({ claim }) => findClaim(claims, claim) !== undefined);
  const info = isWhole ? {} : await readUserInfo();
  const roles = new Map<string, string>();
  for (const { claim, value, slug, role } of rules) {
    const held = toValues(findClaim(claims, claim) ?? findClaim(info, claim));
    if (held.includes(value) && !roles.has(slug)) roles.set(slug, role);
  }
  return [...roles].map(([slug, role]) => ({ slug, role }));
}

/** The value at a path of own properties. */
function findClaim(claims: Claims, path: readonly string[]): unknown {
  let found: unknown = claims;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name))
      return undefined;
    found = (found as Claims)[name];
  }
  return found;
}

/** A string is a single value and is not split. */
function toValues(claim: unknown): unknown[] {
  return Array.isArray(claim) ? claim : [claim];
}
