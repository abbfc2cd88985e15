/**
 * Leaked passwords of 15 or more characters, as digests. The file is generated (`bin/cli/generate_passwords.ts`) and read when
 * someone first chooses a password.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DigestSet, readDigestSet } from "../std/digest_set.ts";
import { foldText } from "../std/fold_text.ts";

export const KNOWN_PASSWORDS_FILE = join(import.meta.dirname, "known_passwords.bin");
/** Shorter passwords are rejected for their length. */
export const MIN_CODE_POINTS = 15;
/** What is left of a password without punctuation is compared too, unless too little is left of it. */
const MIN_FOLDED = 12;

let known: DigestSet | undefined;

/** Whether the list has the text, as typed or without its punctuation. */
export function isKnownPassword(text: string): boolean {
  known ??= readDigestSet(readFileSync(KNOWN_PASSWORDS_FILE));
  return known.has(text.toLowerCase()) || known.has(foldText(text));
}

/** The forms in which the list has a password; none if it is too short to be chosen. */
export function toPasswordVariants(password: string): string[] {
  const lower = password.toLowerCase();
  if ([...lower].length < MIN_CODE_POINTS) return [];
  return [lower, foldText(lower)].filter(({ length }) => length >= MIN_FOLDED);
}
