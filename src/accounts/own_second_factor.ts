/**
 * What people do with their own second factor: each is one call of a function that proves by both cookies who asks, and asks
 * for a sign-in of the last ten minutes.
 *
 * @module
 */
import type { Database } from "../db/mod.ts";
import { callOwn, readOwn } from "./own_account.ts";
import type { RecoveryCodes } from "./recovery_codes.ts";
import type { ShownCookies } from "./shown_call.ts";
import type { TotpRecord } from "./totp.ts";

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
  return await readOwn<OwnSecondFactor>(deps, shown, { name: "read_own_second_factor" });
}

/**
 * What became of it: `first`, it is the person's only one, and their other sessions have ended; `repeated`, what it should replace
 * is replaced already; `nobody`, somebody else asks.
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
  const [row] = await callOwn<{ result: PutOutcome }>(deps, shown, {
    name: "put_own_totp",
    passed: "$5, decode($6, 'hex'), decode($7, 'hex'), $8, $9, $10, $11",
    values: [userId, totp.sealed, totp.digest, totp.secretId, step, codes.digests, replaced],
    retry: "unsafe",
  });
  return row?.result ?? "nobody";
}

/** New recovery codes in place of all there are. @throws {NotSignedIn} @throws {SignInTooOld} */
export async function putOwnRecoveryCodes(
  deps: OwnDeps,
  shown: ShownCookies,
  { userId, codes, replaced }: { userId: string; codes: RecoveryCodes; replaced: string },
): Promise<Exclude<PutOutcome, "first">> {
  const [row] = await callOwn<{ result: Exclude<PutOutcome, "first"> }>(deps, shown, {
    name: "put_own_recovery_codes",
    values: [userId, codes.digests, codes.secretId, replaced],
    retry: "unsafe",
  });
  return row?.result ?? "nobody";
}

/** @throws {NotSignedIn} @throws {SignInTooOld} */
export async function removeOwnTotp(deps: OwnDeps, shown: ShownCookies): Promise<void> {
  await callOwn(deps, shown, { name: "remove_own_totp", retry: "unsafe" });
}
