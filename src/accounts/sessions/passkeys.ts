/**
 * The passkeys of people. The database stores a digest that covers the credential, its key and whose it is; a passkey counts
 * only with the proof that follows from the service's secret.
 *
 * @module
 */
import { callRow, type Database } from "../../db/mod.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";
import { toDigest } from "../secrets/secret_text.ts";
import type { RightFactor } from "./second_factors.ts";
import { SIGN_IN_LIMITS, toClient } from "./sign_in_attempts.ts";

type PasskeyDeps = { db: Database; identitySecrets: IdentitySecrets };

/** What identifies a passkey; the credential's id is in base64url. */
export type PasskeyKey = {
  credentialId: string;
  publicKey: Uint8Array<ArrayBuffer>;
  userId: string;
};
/** One that this service has stored, as far as can be told without the database. */
export type StoredPasskey = PasskeyKey & { secretId: string };
export type PasskeyAttempt = { waitS: number } | { waitS: 0; stored: StoredPasskey | undefined };

/** Counts an attempt before anything is verified; returns what it is verified with. */
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

/** What is stored of a passkey besides the key. */
export type PasskeyRecord = { digest: string; secretId: string };

/** The digest in hexadecimal, made with the current secret. */
export function makePasskeyRecord(
  { identitySecrets: { current } }: Pick<PasskeyDeps, "identitySecrets">,
  key: PasskeyKey,
): PasskeyRecord {
  return { digest: toStoredDigest(provePasskey(current, key), key.userId), secretId: current.id };
}

/** What finishes a sign-in with one that was verified as the second factor; `undefined` without the secret that made it. */
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

/** What became of a use; all but `done` are refused alike. */
export type PasskeyOutcome = "done" | "unknown" | "replayed" | "planted" | "counter";

/** What proves a stored passkey to the database; `undefined` if it was made with a secret that the settings lack. */
export function provePasskeyUse(
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

/** The bytes of a base64url text in hexadecimal, as SQL takes them. */
export function toHex(base64url: string): string {
  return Buffer.from(base64url, "base64url").toString("hex");
}

function provePasskey(
  by: IdentitySecret,
  { credentialId, publicKey, userId }: PasskeyKey,
): Uint8Array {
  // The id once more as bytes say it: some texts mean the same bytes.
  const key = Buffer.from(publicKey).toString("hex");
  return by.prove("passkey", toHex(credentialId), key, userId);
}
