/** What people do with their own passkeys: each is one call of a function that proves by both cookies who asks. @module */
import type { Database } from "../db/mod.ts";
import type { IdentitySecrets } from "./identity_secrets.ts";
import { callOwn, readOwn } from "./own_account.ts";
import { makePasskeyRecord, type PasskeyKey, toChallengeKey, toHex } from "./passkeys.ts";
import type { RecoveryCodes } from "./recovery_codes.ts";
import type { ShownCookies } from "./shown_call.ts";
import { SIGN_IN_LIMITS } from "./sign_in_attempts.ts";

type OwnDeps = { db: Database; sessionIdleS: number };

export const PASSKEY_LABEL_MAX_CHARS = 60;

export type OwnPasskey = {
  /** Stands for it in forms. */
  ref: string;
  /** In base64url. */
  credentialId: string;
  label: string;
  createdAt: string;
  lastUsedAt: string | null;
  /** Whether other devices of the person have it too. */
  isBackedUp: boolean;
  transports: string[];
};
export type OwnPasskeys = {
  list: OwnPasskey[];
  /** The session that asks. */
  sessionId: string;
  /** Whether it may add or remove one: the database decides again when it does. */
  isFresh: boolean;
};

/** @throws {NotSignedIn} */
export async function readOwnPasskeys(deps: OwnDeps, shown: ShownCookies): Promise<OwnPasskeys> {
  return await readOwn<OwnPasskeys>(deps, shown, { name: "read_own_passkeys" });
}

/**
 * What became of a new one: `first`, it is the person's only second factor, and their other sessions have ended; `taken`, it is
 * somebody's already; `full`, there are ten; `nobody`, another session asks.
 */
export type AddOutcome = "first" | "done" | "nobody" | "replayed" | "full" | "taken";
export type AddedPasskey = PasskeyKey & {
  sessionId: string;
  challenge: string;
  signCount: number;
  transports: readonly string[];
  isBackedUp: boolean;
  label: string;
  /** Kept if it is the first second factor. */
  codes: RecoveryCodes;
};

/** Stores a passkey whose answer was verified. @throws {NotSignedIn} @throws {SignInTooOld} */
export async function addOwnPasskey(
  deps: OwnDeps & { identitySecrets: IdentitySecrets },
  shown: ShownCookies,
  added: AddedPasskey,
): Promise<AddOutcome> {
  const { digest, secretId } = makePasskeyRecord(deps, added);
  const [row] = await callOwn<{ result: AddOutcome }>(deps, shown, {
    name: "add_own_passkey",
    passed:
      "$5, $6, $7, $8, decode($9, 'hex'), decode($10, 'hex'), $11, $12, $13, $14, decode($15, 'hex'), $16, $17",
    values: [
      added.userId,
      added.sessionId,
      toChallengeKey(added.challenge),
      SIGN_IN_LIMITS.windowS,
      toHex(added.credentialId),
      Buffer.from(added.publicKey).toString("hex"),
      added.signCount,
      added.transports.join(","),
      added.label,
      added.isBackedUp,
      digest,
      secretId,
      added.codes.digests,
    ],
    retry: "unsafe",
  });
  return row?.result ?? "nobody";
}

/** @throws {NotSignedIn} */
export async function renameOwnPasskey(
  deps: OwnDeps,
  shown: ShownCookies,
  { ref, label }: { ref: string; label: string },
): Promise<"done" | "unknown"> {
  return await act(deps, shown, { name: "rename_own_passkey", values: [ref, label] });
}

/** @throws {NotSignedIn} @throws {SignInTooOld} */
export async function removeOwnPasskey(
  deps: OwnDeps,
  shown: ShownCookies,
  ref: string,
): Promise<"done" | "unknown"> {
  return await act(deps, shown, { name: "remove_own_passkey", values: [ref] });
}

async function act<Outcome extends string>(
  deps: OwnDeps,
  shown: ShownCookies,
  call: { name: string; values: string[] },
): Promise<Outcome | "unknown"> {
  const [row] = await callOwn<{ result: Outcome }>(deps, shown, { ...call, retry: "unsafe" });
  return row?.result ?? "unknown";
}
