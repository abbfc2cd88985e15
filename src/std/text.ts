/**
 * Texts: which ones PostgreSQL stores unchanged, their length in UTF-8, and comparison without case and accents. Never repairs
 * rejected text.
 *
 * @module
 */

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Returns whether PostgreSQL can store a text unchanged: no U+0000, which no text type accepts, and no lone surrogate, which has
 * no UTF-8 encoding.
 *
 * @see https://www.postgresql.org/docs/current/datatype-character.html
 * @example
 * ```ts
 * expect(isStorableText("naïve 🙂")).toBe(true);
 * expect(isStorableText("half a smile: \ud83d")).toBe(false);
 * expect(isStorableText("a\u0000b")).toBe(false);
 * ```
 */
export function isStorableText(text: string): boolean {
  return !text.includes("\u0000") && !LONE_SURROGATE.test(text);
}

// The size of a text in UTF-8, without `TextEncoder`, which some compiler configurations do not
// declare.

/**
 * The length of a text in UTF-8 bytes. A lone surrogate counts 3 bytes, like its replacement U+FFFD.
 *
 * @example
 * ```ts
 * expect(utf8Length("aé€🙂")).toBe(1 + 2 + 3 + 4);
 * ```
 */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) bytes += bytesOf(character.codePointAt(0) ?? 0);
  return bytes;
}

function bytesOf(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}

/**
 * Letters and digits of a text, in lowercase and without accents.
 *
 * @example
 * ```ts
 * expect(foldText("Déjà-Vu 2!")).toBe("dejavu2");
 * ```
 */
export function foldText(text: string): string {
  return text
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[^\p{L}\p{N}]/gu, "");
}
