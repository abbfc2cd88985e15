/**
 * The proof of a key for the database. A one-way function derives the proof from the secret, and another derives the stored
 * digest from the proof: neither a dump nor a service with a proof reveals the secret.
 *
 * @module
 */
const DOMAIN = "rowhouse key proof v1";

/** The proof of a key's secret: 32 bytes. */
export function toProof(secret: string): Uint8Array {
  return new Bun.CryptoHasher("sha256", secret).update(DOMAIN).digest();
}

/** The stored digest of a proof: its SHA-256, in hexadecimal. */
export function toProofDigest(proof: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(proof).digest("hex");
}
