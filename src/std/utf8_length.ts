/** The size of a text in UTF-8, without `TextEncoder`, which some compiler configurations do not declare. @module */

/**
 * The length of a text in UTF-8 bytes. A lone surrogate counts 3 bytes, like its replacement U+FFFD.
 *
 * @example
 * ```ts
 * import { utf8Length } from "./utf8_length.ts";
 * import { expect } from "bun:test";
 *
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
