/** Maps a provider's claims to roles on apps, by the rules in the settings. Never grants a Console role. @module */
import type { ClaimedRole } from "../accounts/people/mod.ts";
import type { Claims, Signed } from "./provider_exchange.ts";
import type { ProviderSettings } from "./provider_settings.ts";

export type ReadRoles = {
  /** One role per app, from the first matching rule. */
  roles: ClaimedRole[];
  /** Apps of which an earlier role stays, because the provider withheld a claim of their rules. */
  preserved: string[];
  /** For operators: the withheld claims, each with the sign by which it was recognized. */
  withheld: string[];
  /** Claims of the rules that the provider did not send: many providers omit them for people without groups. */
  absent: string[];
};

/** @throws the failure of the user-info endpoint */
export async function readClaimedRoles(
  { roles: rules }: ProviderSettings,
  { claims, readUserInfo }: Signed,
): Promise<ReadRoles> {
  const isWhole = rules.every(({ claim }) => "values" in readClaim(claims, claim));
  const info = isWhole ? {} : await readUserInfo();
  const read: ReadRoles = { roles: [], preserved: [], withheld: [], absent: [] };
  const [withheld, absent] = [new Set<string>(), new Set<string>()];
  for (const { claim, value, slug, role } of rules) {
    const name = claim.join(".");
    const held = [readClaim(claims, claim), readClaim(info, claim)];
    const values = held.find((source) => "values" in source)?.values;
    const sign = held.find((source) => "sign" in source)?.sign;
    const isDecided = read.roles.some((granted) => granted.slug === slug);
    if (values?.includes(value) === true && !isDecided) read.roles.push({ slug, role });
    if (values !== undefined) continue;
    if (sign === undefined) absent.add(name);
    else withheld.add(`${name} (${sign})`);
    // A later rule can match, but a rule with this claim could have granted more.
    if (sign !== undefined && !isDecided && !read.preserved.includes(slug))
      read.preserved.push(slug);
  }
  return { ...read, withheld: [...withheld], absent: [...absent] };
}

type Claim = { values: unknown[]; sign?: never } | { values?: never; sign?: string };

/**
 * The values of a claim. Without values, the sign that the provider has some but did not send them: Entra sends a reference
 * instead of more than 200 groups.
 *
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference#groups-overage-claim
 * @see https://openid.net/specs/openid-connect-core-1_0.html#AggregatedDistributedClaims
 */
function readClaim(claims: Claims, path: readonly string[]): Claim {
  const found = findClaim(claims, path);
  const [name = ""] = path;
  if (found === undefined) {
    const elsewhere = claims["_claim_names"];
    if (typeof elsewhere === "object" && elsewhere !== null && Object.hasOwn(elsewhere, name))
      return { sign: "in _claim_names" };
    const has = claims[`has${name}`];
    return has === true || has === "true" ? { sign: `has${name} is true` } : {};
  }
  if (found === null) return { sign: "null" };
  if (typeof found === "string") return { values: [found] };
  if (!Array.isArray(found)) return { sign: "neither a text nor a list" };
  const isUnreadable = found.length > 0 && !found.some((item) => typeof item === "string");
  return isUnreadable ? { sign: "a list without texts" } : { values: found };
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
