/**
 * The case of letters in every alphabet. PostgreSQL's `lower()` depends on the database's locale, so a search never uses it:
 * the pattern lists the cases of each letter, and the database compares code points.
 *
 * @module
 */

/**
 * A letter in a single case, for comparisons. A mapping to several characters does not count, so `ß` is not `ss`. The four i of
 * Turkish are equal: `I` is the uppercase of `i` or `ı`.
 */
function foldLetter(letter: string): string {
  if (letter === "İ") return "i";
  const upper = letter.toUpperCase();
  const lower = (isSingle(upper) ? upper : letter).toLowerCase();
  return isSingle(lower) ? lower : letter;
}

function isSingle(text: string): boolean {
  return text.length === 1 || (text.length === 2 && (text.codePointAt(0) ?? 0) > 0xffff);
}

/** A text whose letters have a single case. */
function foldCase(text: string): string {
  return Array.from(text, foldLetter).join("");
}

/** No letter with two cases is above. */
const LAST_CASED = 0x1_ffff;
const HAS_CASES = /\p{Changes_When_Casemapped}/u;

let cases: ReadonlyMap<string, string> | undefined;

/** The letters that are equal except for their case, by the letter that {@linkcode foldCase} makes of them. */
function listCases(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let point = 0; point <= LAST_CASED; point++) {
    const letter = String.fromCodePoint(point);
    if (!HAS_CASES.test(letter)) continue;
    const folded = foldLetter(letter);
    found.set(folded, (found.get(folded) ?? "") + letter);
  }
  return found;
}

/**
 * A regular expression of PostgreSQL that matches a text in any case; the column needs a collation that compares code points.
 *
 * @example
 * ```ts
 * expect(toCaseExpression("é.")).toBe("[Éé]\\.");
 * ```
 */
export function toCaseExpression(text: string): string {
  cases ??= listCases();
  return Array.from(text, (letter) => {
    const alike = cases?.get(foldLetter(letter)) ?? "";
    if (alike !== "") return `[${alike}]`;
    return /[!-/:-@[-`{-~]/.test(letter) ? `\\${letter}` : letter;
  }).join("");
}

/** Spellings of a text that readers do not distinguish: with composed and decomposed accents, and `ß` as `ss`. */
export function listSpellings(text: string): string[] {
  const short = text.replaceAll(/ss/gi, "ß");
  const long = text.replaceAll(/[ßẞ]/g, "ss");
  return [
    ...new Set(
      [text, short, long].flatMap((form) => [form.normalize("NFC"), form.normalize("NFD")]),
    ),
  ];
}

/** A regular expression of PostgreSQL that finds a text in any case and spelling. */
export function toSearchExpression(text: string): string {
  return listSpellings(text).map(toCaseExpression).join("|");
}

/** A text for a search in memory: equal for all cases and spellings. */
export function foldSpelling(text: string): string {
  return foldCase(text.normalize("NFC")).replaceAll("ß", "ss");
}
