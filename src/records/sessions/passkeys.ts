/**
 * Passkeys. The database stores a digest that covers the credential, its key and its owner; a passkey is valid only with the
 * proof derived from the service's secret.
 *
 * @module
 */
import { call, callRow, type Database } from "../../db/mod.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";
import { toDigest } from "../secrets/secrets.ts";
import type { RightFactor } from "./second_factors.ts";
import { type SessionStart, toSessionValues } from "./sessions.ts";
import { SIGN_IN_LIMITS, toClient } from "./sign_in_attempts.ts";

type PasskeyDeps = { db: Database; identitySecrets: IdentitySecrets };

/** Identifies a passkey; the credential's id is in base64url. */
export type PasskeyKey = {
  credentialId: string;
  publicKey: Uint8Array<ArrayBuffer>;
  userId: string;
};
/** A passkey with a proof from this service. The database has not checked the proof yet. */
type StoredPasskey = PasskeyKey & { secretId: string };
type PasskeyAttempt = { waitS: number } | { waitS: 0; stored: StoredPasskey | undefined };

/** Counts an attempt before verification; returns the data for the verification. */
export async function beginPasskey(
  deps: { db: Database },
  { credentialId, address }: { credentialId: string; address: string },
): Promise<PasskeyAttempt> {
  const { networks, bounds } = toClient(address);
  const row = await callRow(deps.db, "begin_passkey", {
    wanted: toHex(credentialId),
    client_networks: networks,
    client_bounds: bounds,
    window_s: SIGN_IN_LIMITS.windowS,
  });
  if (row.wait_s > 0) return { waitS: row.wait_s };
  const { user_id: userId, public_key: text, secret_id: secretId } = row;
  if (userId === null || text === null || secretId === null) return { waitS: 0, stored: undefined };
  const publicKey = new Uint8Array(Buffer.from(text, "hex"));
  return { waitS: 0, stored: { credentialId, publicKey, userId, secretId } };
}

/** The stored record of a passkey, without the key. */
type PasskeyRecord = { digest: string; secretId: string };

/** The digest in hexadecimal, by the current secret. */
export function makePasskeyRecord(
  { identitySecrets: { current } }: Pick<PasskeyDeps, "identitySecrets">,
  key: PasskeyKey,
): PasskeyRecord {
  return { digest: toStoredDigest(provePasskey(current, key), key.userId), secretId: current.id };
}

/** The verified passkey as a second factor; `undefined` if the settings lack its secret. */
export function toPasskeyFactor(
  deps: Pick<PasskeyDeps, "identitySecrets">,
  stored: StoredPasskey,
  signCount: number,
): RightFactor | undefined {
  const proofs = provePasskeyUse(deps, stored);
  if (proofs === undefined) return undefined;
  const key = toHex(stored.credentialId);
  return { proofs, key, count: signCount, fresh: makePasskeyRecord(deps, stored) };
}

/** The result of a use. All except `done` get the same rejection. */
type PasskeyOutcome = "done" | "unknown" | "replayed" | "planted" | "counter";

type PasskeyFinish = SessionStart & {
  /** The passkey whose response was verified. */
  stored: StoredPasskey;
  challenge: string;
  signCount: number;
  /** The client's IP address. */
  address: string;
};

/** Signs in with only a passkey: creates the session, unless the person was disabled, the passkey removed or the challenge used since. */
export async function finishPasskeySignIn(
  deps: PasskeyDeps,
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

/** The proof of a stored passkey for the database; `undefined` if the settings lack its secret. */
function provePasskeyUse(
  { identitySecrets }: Pick<PasskeyDeps, "identitySecrets">,
  stored: StoredPasskey,
): string | undefined {
  const by = findIdentitySecret(identitySecrets, stored.secretId);
  return by && Buffer.from(provePasskey(by, stored)).toString("hex");
}

/** The key under which the use of a challenge is recorded. */
export function toChallengeKey(challenge: string): string {
  return `passkey ${toDigest(challenge)}`;
}

/** The bytes of a base64url text in hexadecimal, for SQL. */
export function toHex(base64url: string): string {
  return Buffer.from(base64url, "base64url").toString("hex");
}

function provePasskey(
  by: IdentitySecret,
  { credentialId, publicKey, userId }: PasskeyKey,
): Uint8Array {
  // Encodes the id again: several texts decode to the same bytes.
  const key = Buffer.from(publicKey).toString("hex");
  return by.prove("passkey", toHex(credentialId), key, userId);
}
