/** The database's part of a sign-in with a passkey alone: its use and the session in one statement. @module */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import type { IdentitySecrets } from "./identity_secrets.ts";
import {
  makePasskeyRecord,
  type PasskeyOutcome,
  provePasskeyUse,
  type StoredPasskey,
  toChallengeKey,
  toHex,
} from "./passkeys.ts";
import { type SessionStart, toSessionValues } from "./session_start.ts";
import { SIGN_IN_LIMITS, toClient } from "./sign_in_attempts.ts";

export type PasskeyFinish = SessionStart & {
  /** Whose answer was verified. */
  stored: StoredPasskey;
  challenge: string;
  signCount: number;
  /** The client's. */
  address: string;
};

/** Makes the session, unless meanwhile the person was disabled, the passkey removed, or the challenge used. */
export async function finishPasskeySignIn(
  deps: { db: Database; identitySecrets: IdentitySecrets },
  finish: PasskeyFinish,
): Promise<PasskeyOutcome> {
  const { stored } = finish;
  const proof = provePasskeyUse(deps, stored);
  if (proof === undefined) return "unknown";
  const fresh = makePasskeyRecord(deps, stored);
  const [row] = await deps.db.query<{ outcome: PasskeyOutcome }>(
    `select rowhouse.finish_passkey_sign_in(decode($1, 'hex'), $2, decode($3, 'hex'), $4, decode($5, 'hex'), $6, $7, $8,
      string_to_array($9, ','), $10, $11, decode($12, 'hex'), decode($13, 'hex'), $14, $15, $16, $17, $18) as outcome`,
    [
      toHex(stored.credentialId),
      stored.userId,
      proof,
      finish.signCount,
      fresh.digest,
      fresh.secretId,
      toChallengeKey(finish.challenge),
      SIGN_IN_LIMITS.windowS,
      toClient(finish.address).networks.join(","),
      finish.presented,
      ...toSessionValues(finish),
      finish.address,
      finish.deviceName,
      finish.isKnownDevice,
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.outcome ?? "unknown";
}
