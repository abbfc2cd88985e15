/** The tag of a row, derived only from the text that its function returns, so that it distinguishes states. @module */

/** Hex digits of the text's SHA-256 in a tag: 128 bits. */
export const TAG_LENGTH = 32;

/** The tag of a row's text. Write functions compute it in the same way. */
export function rowTag(text: Uint8Array): string {
  return Bun.CryptoHasher.hash("sha256", text, "hex").slice(0, TAG_LENGTH);
}
