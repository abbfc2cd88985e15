/**
 * Letters and digits of a text, in lowercase and without accents.
 *
 * @example
 * ```ts
 * import { foldText } from "./fold_text.ts";
 * import { expect } from "bun:test";
 *
 * expect(foldText("Déjà-Vu 2!")).toBe("dejavu2");
 * ```
 * @module
 */
export function foldText(text: string): string {
  return text
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[^\p{L}\p{N}]/gu, "");
}
