/**
 * The password policy: long passwords that are not among the first guesses. An error gives the reason.
 * @see https://pages.nist.gov/800-63-4/sp800-63b.html#passwordver
 *
 * @module
 */
import { foldText } from "../std/fold_text.ts";
import { COMMON_PASSWORDS, COMMON_TERMS } from "./common_passwords.ts";
import { isKnownPassword, MIN_CODE_POINTS } from "./known_passwords.ts";

export const MAX_BYTES = 1024;
export const PASSWORD_HINT = `At least ${MIN_CODE_POINTS} characters. A few unrelated words are easy to remember and hard to guess.`;
/** Minimum length without names that others know. */
const MIN_WITHOUT_CONTEXT = 8;
/** Minimum number of characters that do not follow from the previous character. */
const MIN_SURPRISES = 6;
const MIN_DIFFERENT = 5;
/** Shorter names occur in too many words by chance. */
const MIN_NAME = 4;

const ROWS = ["01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop"];
const PRODUCT = "rowhouse";
const SIMILAR_CHARACTERS: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  $: "s",
  "!": "i",
};

/** The normalized password that is hashed: independent of how a keyboard composes letters. */
export function toPasswordForm(text: string): string {
  return text.normalize("NFKC");
}

/**
 * All reasons against a password; empty if it is valid. `names` are words connected with the person: the address, the name,
 * the apps.
 */
export function findPasswordIssues(text: string, names: readonly string[]): string[] {
  const password = toPasswordForm(text);
  const length = [...password].length;
  if (length < MIN_CODE_POINTS) {
    return [
      `Use at least ${MIN_CODE_POINTS} characters. This password has ${length}. A few unrelated words work well.`,
    ];
  }
  if (new TextEncoder().encode(password).length > MAX_BYTES)
    return [`Use at most ${MAX_BYTES} bytes.`];
  return RULES.filter((rule) => rule.isBroken(password, names)).map((rule) => rule.reason);
}

type Rule = { reason: string; isBroken: (password: string, names: readonly string[]) => boolean };

const RULES: readonly Rule[] = [
  {
    reason: "This is a common password that attackers try first. Choose less common words.",
    isBroken: isCommon,
  },
  {
    reason: "This consists mostly of your email address, your name, or the name of an app.",
    isBroken: consistsOfNames,
  },
  { reason: "This repeats the same few characters.", isBroken: isRepetition },
  {
    reason: "This follows the alphabet, the digits or a keyboard row.",
    isBroken: (password) => countSurprises(password) < MIN_SURPRISES,
  },
];

function isCommon(password: string): boolean {
  const plain = password.toLowerCase();
  // People add years and punctuation at either end when a password is rejected.
  const core = plain.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, "");
  return [plain, core, toSimilarText(core)].some((text) => {
    const folded = foldText(text);
    if (isKnownPassword(text) || COMMON_PASSWORDS.has(folded)) return true;
    return consistsOf(folded.replace(/\d/g, ""), COMMON_TERMS);
  });
}

/** Whether a text is a concatenation of the given words. */
function consistsOf(text: string, parts: readonly string[]): boolean {
  const reachable = new Set([0]);
  for (let at = 0; at < text.length; at++) {
    if (!reachable.has(at)) continue;
    for (const term of parts) if (text.startsWith(term, at)) reachable.add(at + term.length);
  }
  return text.length > 0 && reachable.has(text.length);
}

function consistsOfNames(password: string, names: readonly string[]): boolean {
  const text = [PRODUCT, ...names]
    .flatMap((name) => [foldText(name), ...name.split(/[^\p{L}\p{N}]+/u).map(foldText)])
    .filter((term) => term.length >= MIN_NAME)
    .sort((a, b) => b.length - a.length);
  const folded = foldText(password);
  const rest = text.reduce((left, term) => left.replaceAll(term, ""), folded);
  return rest !== folded && [...rest].length < MIN_WITHOUT_CONTEXT;
}

function isRepetition(password: string): boolean {
  const folded = password.toLowerCase();
  return new Set(folded).size < MIN_DIFFERENT || /^(.{1,7})\1+(.{0,6})$/su.test(folded);
}

/** Counts characters that neither repeat the previous character nor follow it in the alphabet or on the keyboard. */
function countSurprises(password: string): number {
  const characters = [...password.toLowerCase()];
  return characters.filter((character, index) => {
    const before = characters[index - 1];
    return before === undefined || !isAdjacent(before, character);
  }).length;
}

function isAdjacent(a: string, b: string): boolean {
  const distance = (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);
  return Math.abs(distance) <= 1 || ROWS.some((row) => row.includes(a + b) || row.includes(b + a));
}

function toSimilarText(text: string): string {
  return [...text].map((character) => SIMILAR_CHARACTERS[character] ?? character).join("");
}
