/** The roles on apps that a provider's claims give, by the rules of its settings. Nothing here gives a Console role. @module */
import type { ClaimedRole } from "../accounts/people/mod.ts";
import type { Claims, Signed } from "./provider_exchange.ts";
import type { ProviderSettings } from "./provider_settings.ts";

/** One role per app: that of the first rule that fits. @throws what the provider failed with, if it was asked for more */
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

/** What stands at the end of a path of names; nothing that an object merely inherits. */
function findClaim(claims: Claims, path: readonly string[]): unknown {
  let found: unknown = claims;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name))
      return undefined;
    found = (found as Claims)[name];
  }
  return found;
}

/** A text is one value: it is not taken apart. */
function toValues(claim: unknown): unknown[] {
  return Array.isArray(claim) ? claim : [claim];
}
