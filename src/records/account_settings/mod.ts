/** The account settings of a person. Each action is one SQL call that authenticates the caller by both cookies. @module */

import { call, type Database } from "../../db/mod.ts";
import { callAuthenticated, type VisitorActor } from "../actions/action.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import type { PasswordRecord } from "../secrets/secrets.ts";
import { makePasskeyRecord, type PasskeyKey, toChallengeKey, toHex } from "../sessions/passkeys.ts";
import { makeLinkRecord, type Subject } from "../sessions/providers.ts";
import type { RecoveryCodes, TotpRecord } from "../sessions/second_factors.ts";
import { type SessionStart, toSessionValues } from "../sessions/sessions.ts";
import {
  type AttemptFrom,
  SIGN_IN_LIMITS,
  toClient,
  toKnownDevice,
} from "../sessions/sign_in_attempts.ts";

export type OwnSession = {
  id: string;
  /** Whether this is the caller's session. */
  isOwn: boolean;
  device: string | null;
  address: string | null;
  signedInAt: string;
  lastSeenAt: string;
};
export type AccountSettings = {
  id: string;
  email: string;
  displayName: string | null;
  avatarUrl: string | null;
  isAdministrator: boolean;
  hasPassword: boolean;
  /** Whether the deadline for a second factor has passed. */
  isFactorOverdue: boolean;
  /** The apps where the person has a role. */
  appSlugs: string[];
  /** The caller's session first, then by last use; max 100. */
  sessions: OwnSession[];
};

/** @throws {NotSignedIn} */
export async function readAccountSettings(deps: VisitorActor): Promise<AccountSettings> {
  return (await callAuthenticated(deps, "read_account_settings", {})) as AccountSettings;
}

export const PICTURE_MAX_CHARS = 2048;

type OwnProfile = { displayName: string | null; avatarUrl: string | null };

/** Changes the name and the address of the picture. @throws {NotSignedIn} */
export async function changeOwnProfile(
  deps: VisitorActor,
  { displayName, avatarUrl }: OwnProfile,
): Promise<void> {
  const values = { new_name: displayName, new_picture: avatarUrl };
  await callAuthenticated(deps, "change_own_profile", values);
}

/** Ends another session of the caller; without an id, all others. Returns the number of ended sessions. @throws {NotSignedIn} */
export async function endOwnSessions(
  deps: VisitorActor,
  sessionId: string | undefined,
): Promise<number> {
  return await callAuthenticated(deps, "end_own_sessions", { wanted: sessionId });
}

/** A new password, and the session that replaces all sessions of the person. */
type PasswordChange = SessionStart & {
  /** Proves that the service checked the current password against the stored hash. */
  proof: string;
  password: PasswordRecord;
  attempt: AttemptFrom;
};

/** Sets a new password. Returns false if the current password has changed since the proof. @throws {NotSignedIn} */
export async function changeOwnPassword(
  deps: VisitorActor,
  change: PasswordChange,
): Promise<boolean> {
  const { password, attempt, isKnownDevice } = change;
  return await callAuthenticated(deps, "change_own_password", {
    presented_proof: change.proof,
    new_hash: password.hash,
    new_digest: password.digest,
    new_hash_secret_id: password.secretId,
    ...toSessionValues(change),
    client_networks: toClient(attempt.address).networks,
    known_device: toKnownDevice({ isKnownDevice, from: attempt }),
  });
}

// A person's passkeys. Each action is one SQL call that authenticates the caller by both cookies.

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
type AddedPasskey = PasskeyKey & {
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

// The providers linked to an account. Each change authenticates the caller by both cookies.

/** `in_use`: the link belongs to another person. `another`: the person has linked another account of the provider. */
type LinkOutcome = "done" | "other_session" | "too_old" | "in_use" | "another";

/** Links a provider to the signed-in person, who must still be `userId`. @throws {NotSignedIn} */
export async function linkOwnProvider(
  deps: VisitorActor & { identitySecrets: IdentitySecrets },
  { userId, provider, ...linked }: Subject & { userId: string; provider: string },
): Promise<LinkOutcome> {
  const outcome = await callAuthenticated(deps, "link_provider", {
    expected: userId,
    ...makeLinkRecord(deps, linked, userId).values,
    provider,
  });
  return outcome as LinkOutcome;
}

/** Unlinks a provider from the signed-in person, unless it is the last way to sign in. @throws {NotSignedIn} */
export async function unlinkOwnProvider(
  deps: VisitorActor,
  { issuer, provider }: { issuer: string; provider: string },
): Promise<"done" | "last"> {
  const values = { link_issuer: issuer, provider };
  return (await callAuthenticated(deps, "unlink_provider", values)) as "done" | "last";
}

export type OwnLinks = {
  linkedAt: ReadonlyMap<string, string>;
  /** Whether the session can link a provider; the database checks it again. */
  isFresh: boolean;
};

export async function readOwnLinks(
  { db }: { db: Database },
  { id, sessions }: Pick<AccountSettings, "id" | "sessions">,
): Promise<OwnLinks> {
  const own = sessions.find(({ isOwn }) => isOwn);
  const links = await call(db, "read_own_links", { who: id, own: own?.id ?? "" });
  const { linkedAt, isFresh } = links as {
    linkedAt: [issuer: string, at: string][];
    isFresh: boolean;
  };
  return { linkedAt: new Map(linkedAt), isFresh };
}

// A person's second factor. Each change is one SQL call that authenticates the caller by both
// cookies and requires a recent sign-in.

export type OwnSecondFactor = {
  /** Whether the sign-in is recent enough to change factors; the action checks it again. */
  isFresh: boolean;
  /** When the authenticator app was added. */
  totpSince: string | null;
  /** Remaining codes. */
  recoveryCodes: number;
  passkeys: number;
  /** Versions of the authenticator app and the codes. A form sends the version that it replaces. Empty without factors. */
  totpVersion: string;
  codesVersion: string;
};

/** @throws {NotSignedIn} */
export async function readOwnSecondFactor(deps: VisitorActor): Promise<OwnSecondFactor> {
  return (await callAuthenticated(deps, "read_own_second_factor", {})) as OwnSecondFactor;
}

/**
 * `first`: the factor is the person's first, and their other sessions have ended. `repeated`: the old factor was already
 * replaced. `other_session`: another person is signed in.
 */
type PutOutcome = "first" | "done" | "repeated" | "other_session";

/** Stores an authenticator app with recovery codes, replacing an existing app. @throws {NotSignedIn} @throws {SignInTooOld} */
export async function putOwnTotp(
  deps: VisitorActor,
  options: {
    userId: string;
    totp: TotpRecord;
    step: number;
    codes: RecoveryCodes;
    replaced: string;
  },
): Promise<PutOutcome> {
  const { userId, totp, step, codes, replaced } = options;
  const outcome = await callAuthenticated(deps, "put_own_totp", {
    expected: userId,
    new_sealed: totp.sealed,
    new_digest: totp.digest,
    new_secret_id: totp.secretId,
    step,
    code_digests: codes.digests,
    replaced,
  });
  return outcome as PutOutcome;
}

/** Replaces all recovery codes. @throws {NotSignedIn} @throws {SignInTooOld} */
export async function putOwnRecoveryCodes(
  deps: VisitorActor,
  { userId, codes, replaced }: { userId: string; codes: RecoveryCodes; replaced: string },
): Promise<Exclude<PutOutcome, "first">> {
  const outcome = await callAuthenticated(deps, "put_own_recovery_codes", {
    expected: userId,
    code_digests: codes.digests,
    new_secret_id: codes.secretId,
    replaced,
  });
  return outcome as Exclude<PutOutcome, "first">;
}

/** @throws {NotSignedIn} @throws {SignInTooOld} */
export async function removeOwnTotp(deps: VisitorActor): Promise<void> {
  await callAuthenticated(deps, "remove_own_totp", {});
}
