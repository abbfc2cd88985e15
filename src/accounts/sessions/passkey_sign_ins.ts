/** The database part of a sign-in with only a passkey: its use and the session in one statement. @module */
import { call, type Database } from "../../db/mod.ts";
import type { IdentitySecrets } from "../secrets/identity_secrets.ts";
import {
  makePasskeyRecord,
  type PasskeyOutcome,
  provePasskeyUse,
  type StoredPasskey,
  toChallengeKey,
  toHex,
} from "./passkeys.ts";
import { type SessionStart, toSessionValues } from "./sessions.ts";
import { SIGN_IN_LIMITS, toClient } from "./sign_in_attempts.ts";

export type PasskeyFinish = SessionStart & {
  /** The passkey whose response was verified. */
  stored: StoredPasskey;
  challenge: string;
  signCount: number;
  /** The client's IP address. */
  address: string;
};

/** Creates the session, unless the person was disabled, the passkey removed or the challenge used since. */
export async function finishPasskeySignIn(
  deps: { db: Database; identitySecrets: IdentitySecrets },
  finish: PasskeyFinish,
): Promise<PasskeyOutcome> {
  const { stored } = finish;
  const proof = provePasskeyUse(deps, stored);
  if (proof === undefined) return "unknown";
  const fresh = makePasskeyRecord(deps, stored);
  const outcome = await call(deps.db, "finish_passkey_sign_in", {
    wanted: toHex(stored.credentialId),
    who: stored.userId,
    presented_proof: proof,
    new_count: finish.signCount,
    fresh_digest: fresh.digest,
    fresh_secret_id: fresh.secretId,
    challenge_key: toChallengeKey(finish.challenge),
    window_s: SIGN_IN_LIMITS.windowS,
    client_networks: toClient(finish.address).networks,
    ...toSessionValues(finish),
    client_address: finish.address,
    is_known_device: finish.isKnownDevice,
  });
  return outcome as PasskeyOutcome;
}
