/**
 * What proves a key to the database. The proof follows from the secret by a one-way function, and what is stored from
 * the proof by another: neither a dump nor a service that was handed a proof gives the secret away.
 *
 * @module
 */
const DOMAIN = "rowhouse key proof v1";

/** The proof that a key's secret gives: 32 bytes. */
export function toProof(secret: string): Uint8Array {
  return new Bun.CryptoHasher("sha256", secret).update(DOMAIN).digest();
}

/** What is stored of a proof: its SHA-256, in hexadecimal. */
export function toProofDigest(proof: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(proof).digest("hex");
}
