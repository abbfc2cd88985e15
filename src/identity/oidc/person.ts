/**
 * Finds the person for a provider's account: the person who is linked to it. Without a link, the address counts only if the
 * provider reports it as verified, is trusted for its domain, and no one could sign in with the address before.
 *
 * @module
 */

import { Problem } from "../../problem.ts";
import { type ClaimedRole, isDisplayName, readEmail } from "../../records/people/mod.ts";
import {
  createLinked,
  findProviderPerson,
  type Linked,
  linkInvited,
} from "../../records/sessions/mod.ts";
import type { PageDeps } from "../page_deps.tsx";
import type { ProviderSettings } from "../settings.ts";
import { type Claims, type Profile, readProfile, type Signed } from "./exchange.ts";

type FoundPerson =
  | { linked: Linked }
  | { rejection: "unlinked" | "disabled"; reason?: string; userId?: string };

/** The person. Links an invited person, and creates a new person if the settings allow it. */
export async function findPerson(
  deps: PageDeps,
  settings: ProviderSettings,
  signed: Signed,
): Promise<FoundPerson> {
  const known = await findProviderPerson(deps, signed, undefined);
  // A row that was written directly into the table must not give another way to sign in.
  if (known.kind === "planted") return { rejection: "unlinked" };
  if (known.kind === "linked")
    return known.isDisabled ? { rejection: "disabled", userId: known.userId } : { linked: known };
  const profile = await readProfile(signed);
  if (profile.email === undefined) {
    const message = `${settings.name} sent no email: let it send the claim of the scope email`;
    deps.log("warn", "provider rejected", { message });
    return { rejection: "unlinked" };
  }
  const read = readTrustedEmail({ ...profile, email: profile.email }, settings);
  if ("reason" in read) return { rejection: "unlinked", reason: `unlinked: ${read.reason}` };
  const linked = await linkByEmail(deps, { settings, signed, profile, email: read.email });
  return linked === undefined ? { rejection: "unlinked" } : { linked };
}

type ByEmail = { settings: ProviderSettings; signed: Signed; profile: Profile; email: string };

async function linkByEmail(
  deps: PageDeps,
  { settings, signed: { issuer, subject }, profile, email }: ByEmail,
): Promise<Linked | undefined> {
  const link = { issuer, subject, email, provider: settings.name };
  const person = await findProviderPerson(deps, link, email);
  if (person.kind !== "unlinked") return undefined;
  const named = { ...link, displayName: toDisplayName(profile) };
  if (person.invited !== undefined) return await linkInvited(deps, person.invited, named);
  if (person.isEmailInUse || !settings.creates) return undefined;
  return await createLinked(deps, named);
}

/** The canonical address if the provider is trusted for it, or the reason why not, for operators. */
function readTrustedEmail(
  { email, email_verified: isVerified }: Profile & { email: string },
  { trustedDomains }: ProviderSettings,
): { email: string } | { reason: string } {
  // Only the boolean `true`: no specification defines other values.
  if (isVerified !== true)
    return { reason: `email_verified is ${describeClaim(isVerified)}, must be true` };
  // An address with other characters can be a different mailbox with the same canonical form.
  const canonical = /^[\x21-\x7e]+$/.test(email) ? toEmail(email) : undefined;
  if (canonical === undefined || canonical !== email.toLowerCase())
    return { reason: "the email is not an address of ASCII characters" };
  const domain = canonical.slice(canonical.lastIndexOf("@") + 1);
  return trustedDomains.includes(domain)
    ? { email: canonical }
    : { reason: "the email's domain is not a trusted domain of the provider" };
}

/** Never the value of a text or an object, which can be about a person. */
function describeClaim(value: unknown): string {
  if (value === undefined) return "absent";
  if (typeof value === "string" && /^(true|false|[01])$/i.test(value)) return `the text "${value}"`;
  return ["boolean", "number"].includes(typeof value) ? String(value) : "of another type";
}

function toEmail(text: string): string | undefined {
  try {
    return readEmail(text);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

function toDisplayName({ name = "" }: Profile): string | undefined {
  const trimmed = name.trim();
  return trimmed !== "" && isDisplayName(trimmed) ? trimmed : undefined;
}

// Maps a provider's claims to roles on apps, by the rules in the settings. Never grants a Console
// role.

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
  const { found, sign } = findClaim(claims, path);
  if (sign !== undefined) return { sign };
  if (found === undefined) return findReference(claims, path);
  if (typeof found === "string") return { values: [found] };
  if (!Array.isArray(found)) return { sign: "neither a text nor a list" };
  const isUnreadable = found.length > 0 && !found.some((item) => typeof item === "string");
  if (isUnreadable) return { sign: "a list without texts" };
  const reference = found.length === 0 ? findReference(claims, path) : {};
  return reference.sign === undefined ? { values: found } : reference;
}

/** The sign that the provider has values of the claim, but did not send them. */
function findReference(claims: Claims, [name = ""]: readonly string[]): { sign?: string } {
  const elsewhere = claims["_claim_names"];
  if (typeof elsewhere === "object" && elsewhere !== null && Object.hasOwn(elsewhere, name))
    return { sign: "in _claim_names" };
  const has = claims[`has${name}`];
  return has === true || has === "true" ? { sign: `has${name} is true` } : {};
}

/** The value at a path of own properties, or the sign that the provider withholds it: something above it is no object. */
function findClaim(
  claims: Claims,
  path: readonly string[],
): { found: unknown; sign?: never } | { found?: never; sign: string } {
  let found: unknown = claims;
  for (const [depth, name] of path.entries()) {
    if (typeof found !== "object" || found === null || Array.isArray(found))
      return {
        sign: `${path.slice(0, depth).join(".")} is ${found === null ? "null" : "no object"}`,
      };
    if (!Object.hasOwn(found, name)) return { found: undefined };
    found = (found as Claims)[name];
  }
  return found === null ? { sign: "null" } : { found };
}
