/**
 * The secrets behind sessions, links and passwords. They are in no database: a thief who can read and write every table cannot
 * create a session, link or password that the service accepts.
 *
 * The proof of a value is its MAC with the secret; the database stores a digest of the proof and the person's id. So the
 * database can compare without the secret, a stored digest cannot be presented, and a digest copied to another person is not
 * valid.
 *
 * @module
 */
import { isEqualText } from "../../std/secrets.ts";

export const MIN_IDENTITY_SECRET_BYTES = 32;

/** The purpose of a proof: the same text proves nothing for another purpose. */
export type Purpose =
  | "session cookie"
  | "identity cookie"
  | "set-password link"
  | "link secret"
  | "password"
  | "sign-in"
  | "device"
  | "provider link"
  | "provider state"
  | "claimed role"
  | "address"
  | "pending sign-in"
  | "totp secret"
  | "new totp secret"
  | "totp factor"
  | "new totp key"
  | "recovery code"
  | "passkey"
  | "passkey challenge";

export type IdentitySecret = {
  /** Stored with each value derived from the secret; does not reveal the secret. */
  readonly id: string;
  /** 32 bytes that cannot be computed without the secret. */
  readonly prove: (purpose: Purpose, ...parts: readonly string[]) => Uint8Array;
};

export type IdentitySecrets = {
  /** Used for new values. */
  readonly current: IdentitySecret;
  readonly all: readonly IdentitySecret[];
};

/** The first secret creates new values; all secrets verify. */
export function makeIdentitySecrets(texts: readonly string[]): IdentitySecrets {
  const [current, ...older] = texts.map(makeIdentitySecret);
  if (current === undefined) throw new Error("Cannot serve identity: no IDENTITY_SECRET is set");
  return { current, all: [current, ...older] };
}

function makeIdentitySecret(text: string): IdentitySecret {
  return {
    id: mac(text, "rowhouse identity secret id").toString("hex", 0, 4),
    // As JSON, so that different lists of parts give different texts.
    prove: (purpose, ...parts) => mac(text, JSON.stringify(["rowhouse v1", purpose, ...parts])),
  };
}

/** The secret behind a stored value; `undefined` if it was removed from the settings. */
export function findIdentitySecret(
  { all }: IdentitySecrets,
  id: string,
): IdentitySecret | undefined {
  return all.find((secret) => secret.id === id);
}

/** The stored digest of a person's proof, in hexadecimal. In SQL: `sha256(proof || uuid_send(user_id))`. */
export function toStoredDigest(proof: Uint8Array, userId: string): string {
  const id = Buffer.from(userId.replaceAll("-", ""), "hex");
  return new Bun.CryptoHasher("sha256").update(proof).update(id).digest("hex");
}

/** Whether a stored digest belongs to this proof and this person. */
export function isDigestOf(digest: string, proof: Uint8Array, userId: string): boolean {
  return isEqualText(digest, toStoredDigest(proof, userId));
}

function mac(secret: string, text: string): Buffer {
  return new Bun.CryptoHasher("sha256", secret).update(text).digest();
}
