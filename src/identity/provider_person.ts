/**
 * Finds the person for a provider's account: the person who is linked to it. Without a link, the address counts only if the
 * provider reports it as verified, is trusted for its domain, and no one could sign in with the address before.
 *
 * @module
 */
import { isDisplayName, readEmail } from "../accounts/people/mod.ts";
import {
  createLinked,
  findProviderPerson,
  type Linked,
  linkInvited,
} from "../accounts/sessions/mod.ts";
import { Problem } from "../problem.ts";
import type { PageDeps } from "./page_deps.ts";
import { type Profile, readProfile, type Signed } from "./provider_exchange.ts";
import type { ProviderSettings } from "./provider_settings.ts";

export type FoundPerson =
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
  if (person.invited !== undefined) return await linkInvited(deps, person.invited, link);
  if (person.isEmailInUse || !settings.creates) return undefined;
  return await createLinked(deps, { ...link, displayName: toDisplayName(profile) });
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
