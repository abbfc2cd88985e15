/** A person's passkeys. Each action is one SQL call that authenticates the caller by both cookies. @module */
import { callAuthenticated, type VisitorActor } from "../actions/action.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import { makePasskeyRecord, type PasskeyKey, toChallengeKey, toHex } from "../sessions/passkeys.ts";
import type { RecoveryCodes } from "../sessions/recovery_codes.ts";
import { SIGN_IN_LIMITS } from "../sessions/sign_in_attempts.ts";

export const PASSKEY_LABEL_MAX_CHARS = 60;

export type OwnPasskey = {
  /** The id in forms. */
  ref: string;
  /** In base64url. */
  credentialId: string;
  label: string;
  createdAt: string;
  lastUsedAt: string | null;
  /** Whether it is synced to other devices. */
  isBackedUp: boolean;
  transports: string[];
};
export type OwnPasskeys = {
  list: OwnPasskey[];
  /** The session of the caller. */
  sessionId: string;
  /** Whether the session can add or remove a passkey; the database checks it again. */
  isFresh: boolean;
};

/** @throws {NotSignedIn} */
export async function readOwnPasskeys(deps: VisitorActor): Promise<OwnPasskeys> {
  return (await callAuthenticated(deps, "read_own_passkeys", {})) as OwnPasskeys;
}

/**
 * `first`: the passkey is the person's first second factor, and their other sessions have ended. `in_use`: the passkey is already
 * registered. `full`: the person has ten passkeys. `other_session`: another session is signed in.
 */
export type AddOutcome = "first" | "done" | "other_session" | "replayed" | "full" | "in_use";
export type AddedPasskey = PasskeyKey & {
  sessionId: string;
  challenge: string;
  signCount: number;
  transports: readonly string[];
  isBackedUp: boolean;
  label: string;
  /** Recovery codes, stored with the first second factor. */
  codes: RecoveryCodes;
};

/** Stores a passkey after its response was verified. @throws {NotSignedIn} @throws {SignInTooOld} */
export async function addOwnPasskey(
  deps: VisitorActor & { identitySecrets: IdentitySecrets },
  added: AddedPasskey,
): Promise<AddOutcome> {
  const { digest, secretId } = makePasskeyRecord(deps, added);
  const outcome = await callAuthenticated(deps, "add_own_passkey", {
    expected: added.userId,
    expected_session: added.sessionId,
    challenge_key: toChallengeKey(added.challenge),
    window_s: SIGN_IN_LIMITS.windowS,
    new_credential: toHex(added.credentialId),
    new_key: Buffer.from(added.publicKey).toString("hex"),
    new_count: added.signCount,
    new_transports: added.transports.join(","),
    new_label: added.label,
    is_backed_up: added.isBackedUp,
    new_digest: digest,
    new_secret_id: secretId,
    code_digests: added.codes.digests,
  });
  return outcome as AddOutcome;
}

/** Without effect on an unknown passkey. @throws {NotSignedIn} */
export async function renameOwnPasskey(
  deps: VisitorActor,
  { ref, label }: { ref: string; label: string },
): Promise<void> {
  await callAuthenticated(deps, "rename_own_passkey", { wanted: ref, new_label: label });
}

/** Without effect on an unknown passkey. @throws {NotSignedIn} @throws {SignInTooOld} */
export async function removeOwnPasskey(deps: VisitorActor, ref: string): Promise<void> {
  await callAuthenticated(deps, "remove_own_passkey", { wanted: ref });
}
