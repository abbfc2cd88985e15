/**
 * What people do with their own second factor: each is one call of a function that proves by both cookies who asks, and asks
 * for a sign-in of the last ten minutes.
 *
 * @module
 */
import type { Database } from "../../db/mod.ts";
import { callShown, type ShownCookies } from "../actions/action.ts";
import type { RecoveryCodes } from "../sessions/recovery_codes.ts";
import type { TotpRecord } from "../sessions/totp.ts";

type OwnDeps = { db: Database; sessionIdleS: number };

export type OwnSecondFactor = {
  /** Whether the sign-in is young enough to change anything here; the act checks it again. */
  isFresh: boolean;
  /** Since when there is an authenticator app. */
  totpSince: string | null;
  /** How many are left. */
  recoveryCodes: number;
  passkeys: number;
  /** Of the authenticator app, and of the recovery codes: a form says which it replaces. Empty: there is none. */
  totpVersion: string;
  codesVersion: string;
};

/** @throws {NotSignedIn} */
export async function readOwnSecondFactor(
  deps: OwnDeps,
  shown: ShownCookies,
): Promise<OwnSecondFactor> {
  return (await callShown(deps, shown, "read_own_second_factor", {})) as OwnSecondFactor;
}

/**
 * What became of it: `first`, it is the person's only one, and their other sessions have ended; `repeated`, what it should replace
 * is replaced already; `nobody`, someone else asks.
 */
export type PutOutcome = "first" | "done" | "repeated" | "nobody";

/** Stores an authenticator app, in place of one there was, with recovery codes. @throws {NotSignedIn} @throws {SignInTooOld} */
export async function putOwnTotp(
  deps: OwnDeps,
  shown: ShownCookies,
  options: {
    userId: string;
    totp: TotpRecord;
    step: number;
    codes: RecoveryCodes;
    replaced: string;
  },
): Promise<PutOutcome> {
  const { userId, totp, step, codes, replaced } = options;
  const outcome = await callShown(deps, shown, "put_own_totp", {
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

/** New recovery codes in place of all there are. @throws {NotSignedIn} @throws {SignInTooOld} */
export async function putOwnRecoveryCodes(
  deps: OwnDeps,
  shown: ShownCookies,
  { userId, codes, replaced }: { userId: string; codes: RecoveryCodes; replaced: string },
): Promise<Exclude<PutOutcome, "first">> {
  const outcome = await callShown(deps, shown, "put_own_recovery_codes", {
    expected: userId,
    code_digests: codes.digests,
    new_secret_id: codes.secretId,
    replaced,
  });
  return outcome as Exclude<PutOutcome, "first">;
}

/** @throws {NotSignedIn} @throws {SignInTooOld} */
export async function removeOwnTotp(deps: OwnDeps, shown: ShownCookies): Promise<void> {
  await callShown(deps, shown, "remove_own_totp", {});
}
