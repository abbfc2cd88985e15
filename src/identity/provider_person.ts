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
  | { rejection: "unlinked" | "disabled"; userId?: string };

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
  const email = readTrustedEmail(profile, settings);
  if (email === undefined) return { rejection: "unlinked" };
  const linked = await linkByEmail(deps, { settings, signed, profile, email });
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

/** The canonical address, if the provider is trusted for it. */
function readTrustedEmail(
  { email, email_verified: isVerified }: Profile,
  { trustedDomains }: ProviderSettings,
): string | undefined {
  // Only the boolean `true`: no specification defines other values.
  if (email === undefined || isVerified !== true) return undefined;
  // An address with other characters can be a different mailbox with the same canonical form.
  if (!/^[\x21-\x7e]+$/.test(email)) return undefined;
  const canonical = toEmail(email);
  const domain = canonical?.slice(canonical.lastIndexOf("@") + 1);
  return domain !== undefined && trustedDomains.includes(domain) ? canonical : undefined;
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
