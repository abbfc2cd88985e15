/**
 * A person's second factor. Each change is one SQL call that authenticates the caller by both cookies and requires a
 * recent sign-in.
 *
 * @module
 */
import { callAuthenticated, type VisitorActor } from "../actions/action.ts";
import type { RecoveryCodes } from "../sessions/recovery_codes.ts";
import type { TotpRecord } from "../sessions/totp.ts";

export type OwnSecondFactor = {
  /** Whether the sign-in is recent enough to change factors; the action checks it again. */
  isFresh: boolean;
  /** When the authenticator app was added. */
  totpSince: string | null;
  /** Remaining codes. */
  recoveryCodes: number;
  passkeys: number;
  /** Versions of the authenticator app and the codes. A form sends the version that it replaces. Empty if there is none. */
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
export type PutOutcome = "first" | "done" | "repeated" | "other_session";

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
