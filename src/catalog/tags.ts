/**
 * The tag of a row is a hash of the text that the row's function returns, so each state has its own tag. Also the text
 * between a page's tag and its rows, which identifies the request even if the page is empty. Pure.
 *
 * @module
 */

/** Hex digits of the text's SHA-256 in a tag: 128 bits. */
export const TAG_LENGTH = 32;

/** The tag of a row's text. Write functions compute it in the same way. */
export function rowTag(text: Uint8Array): string {
  return Bun.CryptoHasher.hash("sha256", text, "hex").slice(0, TAG_LENGTH);
}

/** A page by its app, the hash of its column set, and its position. */
export type PageRequest = {
  readonly app: string;
  readonly set: string;
  readonly limit: number;
  readonly offset: number;
};

/** The text between a page's tag and its rows. */
export function pageHead({ app, set, limit, offset }: PageRequest): string {
  return `${app} ${set} ${limit} ${offset} `;
}
