/** Texts: which ones PostgreSQL stores unchanged, their length in UTF-8, comparison without case and accents, and line ends. Never repairs rejected text. @module */

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Returns whether PostgreSQL can store a text unchanged: no U+0000, which no text type accepts, and no lone surrogate, which has
 * no UTF-8 encoding.
 *
 * @see https://www.postgresql.org/docs/current/datatype-character.html
 * @example
 * ```ts
 * import { isStorableText } from "./text.ts";
 * import { expect } from "bun:test";
 *
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
 * import { utf8Length } from "./text.ts";
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

/**
 * Letters and digits of a text, in lowercase and without accents.
 *
 * @example
 * ```ts
 * import { foldText } from "./text.ts";
 * import { expect } from "bun:test";
 *
 * expect(foldText("Déjà-Vu 2!")).toBe("dejavu2");
 * ```
 */
export function foldText(text: string): string {
  return text
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[^\p{L}\p{N}]/gu, "");
}

// Line ends of a text that a browser edited: its fields have only `\\n`.

const LINE_END = /\r\n?|\n/;

/**
 * A text with `\\n` at its line ends, with the line ends of the text before the edit: unchanged lines keep theirs.
 *
 * @example
 * ```ts
 * import { restoreLineEnds } from "./text.ts";
 * import { expect } from "bun:test";
 *
 * expect(restoreLineEnds("a\nb\nc!", "a\r\nb\rc")).toBe("a\r\nb\rc!");
 * ```
 */
export function restoreLineEnds(typed: string, original: string): string {
  const ends = original.match(new RegExp(LINE_END, "g")) ?? [];
  if (ends.every((end) => end === "\n")) return typed;
  const before = original.split(LINE_END);
  const lines = typed.split("\n");
  const added = lines.length - before.length;
  const shorter = Math.min(lines.length, before.length);
  let start = 0;
  while (start < shorter && lines[start] === before[start]) start++;
  let rest = 0;
  while (rest < shorter - start && lines.at(-1 - rest) === before.at(-1 - rest)) rest++;
  let from = start;
  const findEnd = (line: number): string | undefined => {
    if (line < start) return ends[line];
    if (line + 1 >= lines.length - rest) return ends[line - added];
    const same = before.indexOf(lines[line] ?? "", from);
    if (same === -1 || same >= before.length - rest) return added === 0 ? ends[line] : undefined;
    from = same + 1;
    return ends[same];
  };
  const usual = findUsual(ends);
  return lines
    .map((line, index) => (index === lines.length - 1 ? line : line + (findEnd(index) ?? usual)))
    .join("");
}

/** The line end that occurs more often than the others. */
function findUsual(ends: readonly string[]): string {
  const counts = Map.groupBy(ends, (end) => end);
  const [usual = "\n"] = [...counts.keys()].toSorted(
    (a, b) => (counts.get(b)?.length ?? 0) - (counts.get(a)?.length ?? 0),
  );
  return usual;
}
