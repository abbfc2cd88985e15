/** The database part of a sign-in by a provider: begins once for each response of the provider, ends with a session. @module */
import { call, callRow, type Database } from "../../db/mod.ts";
import type { ClaimedRecord } from "../people/claimed_roles.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import { toDigest } from "../secrets/secret_text.ts";
import { type Linked, makeLinkRecord, type Subject } from "./provider_links.ts";
import {
  type Admission,
  SIGN_IN_LIMITS,
  type SignInStart,
  toClient,
  toSignInValues,
} from "./sign_in_attempts.ts";

/** Counts an attempt; `isFirst` is false if this response of the provider was already used. */
export async function beginProviderSignIn(
  deps: { db: Database },
  { state, address }: { state: string; address: string },
): Promise<{ waitS: number; isFirst: boolean }> {
  const { networks, bounds } = toClient(address);
  const row = await callRow(deps.db, "begin_provider_sign_in", {
    state: toDigest(state),
    client_networks: networks,
    client_bounds: bounds,
    window_s: SIGN_IN_LIMITS.windowS,
  });
  return { waitS: row.wait_s, isFirst: row.is_first };
}

export type ProviderFinish = SignInStart &
  Subject & {
    linked: Linked;
    /** The provider's name. */
    provider: string;
    /** When the person authenticated at the provider, in seconds. An unknown time counts as too old. */
    provenAtS: number | undefined;
    address: string;
    /** The key of the begun sign-in. */
    state: string;
    /** The roles from the provider's current claims. Earlier roles from its claims are revoked. */
    claimed: readonly ClaimedRecord[];
  };

/** Creates the session or the pending sign-in, and renews the link's digest; `wrong` if the person was disabled or unlinked. */
export async function finishProviderSignIn(
  deps: { db: Database; identitySecrets: IdentitySecrets },
  finish: ProviderFinish,
): Promise<Admission> {
  const { linked, issuer, subject } = finish;
  const fresh = makeLinkRecord(deps, { issuer, subject }, linked.userId);
  const { provenAtS } = finish;
  const outcome = await call(deps.db, "finish_provider_sign_in", {
    who: linked.userId,
    link_issuer: issuer,
    link_subject: subject,
    presented_proof: linked.proof,
    fresh_digest: fresh.digest,
    fresh_secret_id: fresh.secretId,
    ...toSignInValues(finish),
    proven: provenAtS === undefined ? null : new Date(provenAtS * 1000),
    state: toDigest(finish.state),
    client_networks: toClient(finish.address).networks,
    provider: finish.provider,
    client_address: finish.address,
    is_known_device: finish.isKnownDevice,
    claimed: finish.claimed,
  });
  return outcome as Admission;
}

/** Records why a provider's response was rejected: a short reason for operators, never the response. */
export async function recordRejectedSignIn(
  deps: { db: Database },
  rejected: { provider: string; reason: string; userId?: string | undefined; from: string },
): Promise<void> {
  const { provider, reason, userId, from } = rejected;
  await call(deps.db, "record_rejected_sign_in", {
    provider,
    reason,
    who: userId,
    client_address: from,
  });
}
