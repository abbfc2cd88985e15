/**
 * The secrets that sessions, links and passwords depend on. They are in no database: whoever can read and write every table
 * still cannot create anything that the service would accept as a session, a link or a password.
 *
 * The proof of a value is its MAC with the secret; the database stores a digest of the proof and the person's id. So it can
 * compare without knowing the secret, what it stores cannot be presented, and a digest that is copied to another person
 * matches nothing.
 *
 * @module
 */
import { isEqualText } from "../../std/is_equal_text.ts";

export const MIN_IDENTITY_SECRET_BYTES = 32;

/** What a proof is for: the same text proves nothing for any other purpose. */
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
  | "recovery code"
  | "passkey"
  | "passkey challenge";

export type IdentitySecret = {
  /** Stored with each value that was made with the secret; reveals nothing about it. */
  readonly id: string;
  /** 32 bytes that no one can make without the secret. */
  readonly prove: (purpose: Purpose, ...parts: readonly string[]) => Uint8Array;
};

export type IdentitySecrets = {
  /** Makes new values. */
  readonly current: IdentitySecret;
  readonly all: readonly IdentitySecret[];
};

/** The first makes new values, all verify. */
export function makeIdentitySecrets(texts: readonly string[]): IdentitySecrets {
  const [current, ...older] = texts.map(makeIdentitySecret);
  if (current === undefined) throw new Error("Cannot serve identity: no IDENTITY_SECRET is set");
  return { current, all: [current, ...older] };
}

function makeIdentitySecret(text: string): IdentitySecret {
  return {
    id: mac(text, "rowhouse identity secret id").toString("hex", 0, 4),
    // As JSON, so that no two lists of parts give the same text.
    prove: (purpose, ...parts) => mac(text, JSON.stringify(["rowhouse v1", purpose, ...parts])),
  };
}

/** The secret that a value was made with; `undefined` if it was removed from the settings. */
export function findIdentitySecret(
  { all }: IdentitySecrets,
  id: string,
): IdentitySecret | undefined {
  return all.find((secret) => secret.id === id);
}

/** What is stored of a person's proof, in hexadecimal. In SQL: `sha256(proof || uuid_send(user_id))`. */
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
