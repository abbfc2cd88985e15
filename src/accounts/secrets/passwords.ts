/**
 * The stored form of passwords. The input of the hash is a MAC with a secret that is in no database: a stolen hash does not
 * help in guessing, and an inserted or copied hash matches no password.
 *
 * The hash is stored with the digest of a proof that is derived from it and the secret. Only a caller who knows both can present
 * the proof: the database distinguishes the service from a thief who has only its login.
 *
 * @module
 */
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  toStoredDigest,
} from "./identity_secrets.ts";

export type PasswordRecord = { hash: string; digest: string; secretId: string };

/** The keyed form of a password, which is hashed. */
export function toKeyedPassword(by: IdentitySecret, userId: string, password: string): string {
  return Buffer.from(by.prove("password", userId, password)).toString("base64url");
}

/** The record for the hash of {@linkcode toKeyedPassword}. */
export function toPasswordRecord(by: IdentitySecret, userId: string, hash: string): PasswordRecord {
  return { hash, digest: toStoredDigest(proveHash(by, userId, hash), userId), secretId: by.id };
}

/** The proof that a sign-in with this hash presents; `undefined` if the settings lack the secret of the hash. */
export function proveSignIn(
  secrets: IdentitySecrets,
  userId: string,
  { hash, secretId }: Pick<PasswordRecord, "hash" | "secretId">,
): string | undefined {
  const by = findIdentitySecret(secrets, secretId);
  return by && Buffer.from(proveHash(by, userId, hash)).toString("hex");
}

function proveHash(by: IdentitySecret, userId: string, hash: string): Uint8Array {
  return by.prove("sign-in", userId, hash);
}
