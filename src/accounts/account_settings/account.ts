/** The account settings of a person. Each action is one SQL call that authenticates the caller by both cookies. @module */
import { callAuthenticated, type VisitorActor } from "../actions/action.ts";
import type { PasswordRecord } from "../secrets/passwords.ts";
import { type SessionStart, toSessionValues } from "../sessions/sessions.ts";
import { type AttemptFrom, toClient, toKnownDevice } from "../sessions/sign_in_attempts.ts";

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

export type OwnProfile = { displayName: string | null; avatarUrl: string | null };

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
export type PasswordChange = SessionStart & {
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
