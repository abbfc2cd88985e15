/**
 * What proves a key to the database. The proof is derived from the secret by a one-way function, and what is stored is
 * derived from the proof by another: neither a dump nor a service that was given a proof reveals the secret.
 *
 * @module
 */
const DOMAIN = "rowhouse key proof v1";

/** The proof of a key's secret: 32 bytes. */
export function toProof(secret: string): Uint8Array {
  return new Bun.CryptoHasher("sha256", secret).update(DOMAIN).digest();
}

/** What is stored of a proof: its SHA-256, in hexadecimal. */
export function toProofDigest(proof: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(proof).digest("hex");
}
