/** The tag of a row: follows from the text that its function returns, so that it tells states apart, and nothing else. @module */

/** How many hex digits of the SHA-256 of the text a tag has: 128 bits. */
export const TAG_LENGTH = 32;

/** The tag of a row's text, which the functions of writes compute in the same way. */
export function rowTag(text: Uint8Array): string {
  return Bun.CryptoHasher.hash("sha256", text, "hex").slice(0, TAG_LENGTH);
}
