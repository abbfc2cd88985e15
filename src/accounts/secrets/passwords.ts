/**
 * Passwords as they are stored. What is hashed is not the password but its MAC with a secret that is in no database: a
 * stolen hash does not help in guessing, and one that is inserted or copied is right for no one.
 *
 * With the hash, the digest of a proof is stored that is derived from it. Whoever presents that proof knows the hash and the
 * secret: this is how the database tells the service from someone who merely has its login.
 *
 * @module
 */
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  toStoredDigest,
} from "./identity_secrets.ts";

/** What is stored of a password. */
export type PasswordRecord = { hash: string; digest: string; secretId: string };

/** What is hashed in place of a password. */
export function toKeyedPassword(by: IdentitySecret, userId: string, password: string): string {
  return Buffer.from(by.prove("password", userId, password)).toString("base64url");
}

/** What is stored of a password, once its keyed form is hashed. */
export function toPasswordRecord(by: IdentitySecret, userId: string, hash: string): PasswordRecord {
  return { hash, digest: toStoredDigest(proveHash(by, userId, hash), userId), secretId: by.id };
}

/** What lets a sign-in with this hash make a session; none if the hash's secret is no longer known. */
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
