/**
 * Short texts as people paste them from emails, terminals and documents: with other spaces, dashes and digits, invisible
 * characters, quotes or brackets around them. Never for passwords, or for text that is stored as typed.
 *
 * @module
 */

/** Zero-width characters, marks of direction, soft hyphens. */
const INVISIBLE = /\p{Cf}/gu;
const DASHES = /[\p{Pd}\u2212]/gu;
const AROUND: readonly (readonly [open: string, close: string])[] = [
  ['"', '"'],
  ["'", "'"],
  ["`", "`"],
  ["<", ">"],
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
  ["“", "”"],
  ["„", "“"],
  ["‘", "’"],
  ["«", "»"],
];

/**
 * The text with plain digits, letters, dashes and single spaces, without invisible characters and without quotes or brackets
 * around it.
 *
 * @example
 * ```ts
 * expect(cleanPasted("\u200b１２３\u00a0４５６ ")).toBe("123 456");
 * expect(cleanPasted("<“a–b”>")).toBe("a-b");
 * expect(cleanPasted("٤٧١١")).toBe("4711");
 * ```
 */
export function cleanPasted(text: string): string {
  const plain = text
    .normalize("NFKC")
    .replace(INVISIBLE, "")
    .replace(DASHES, "-")
    .replace(/\p{Nd}/gu, toPlainDigit);
  return unwrap(plain.replace(/\s+/g, " ").trim());
}

/**
 * The text without spaces, line ends, invisible characters and one pair of quotes around it. Unlike {@linkcode cleanPasted},
 * keeps everything within, so it can be used for secrets.
 *
 * @example
 * ```ts
 * expect(trimPasted("\ufeff'se–cret' \r\n")).toBe("se–cret");
 * expect(trimPasted('"a", "b"')).toBe('"a", "b"');
 * ```
 */
export function trimPasted(text: string): string {
  const plain = trimInvisible(text);
  const [, quote = "", inner = ""] = /^(["'])(.*)\1$/s.exec(plain) ?? [];
  return quote === "" || inner.includes(quote) ? plain : trimInvisible(inner);
}

function trimInvisible(text: string): string {
  return text.replace(/^[\s\p{Cf}]+/u, "").replace(/[\s\p{Cf}]+$/u, "");
}

/** The digits of each script follow each other from 0 to 9. */
function toPlainDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  if (code < 128) return digit;
  let zero = code;
  while (zero > code - 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return String(code - zero);
}

function unwrap(text: string): string {
  const isWrapped = AROUND.some(
    ([open, close]) => text.length > 1 && text.startsWith(open) && text.endsWith(close),
  );
  return isWrapped ? unwrap(text.slice(1, -1).trim()) : text;
}
