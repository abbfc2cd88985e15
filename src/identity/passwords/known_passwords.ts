/**
 * Leaked passwords of 15 or more characters, as digests. `cli/generate_passwords.ts` generates the file, which is loaded
 * with the first new password.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DigestSet, readDigestSet } from "../../std/digest_set.ts";
import { foldText } from "../../std/text.ts";

export const KNOWN_PASSWORDS_FILE = join(import.meta.dirname, "known_passwords.bin");
/** Min length of a password, in code points. */
export const MIN_CODE_POINTS = 15;
/** Min length of a folded password that is also compared. */
const MIN_FOLDED = 12;

let known: DigestSet | undefined;

/** Whether the list has the text, as typed or without its punctuation. */
export function isKnownPassword(text: string): boolean {
  known ??= readDigestSet(readFileSync(KNOWN_PASSWORDS_FILE));
  return known.has(text.toLowerCase()) || known.has(foldText(text));
}

/** The variants of a password in the list; empty if it is too short. */
export function toPasswordVariants(password: string): string[] {
  const lower = password.toLowerCase();
  if ([...lower].length < MIN_CODE_POINTS) return [];
  return [lower, foldText(lower)].filter(({ length }) => length >= MIN_FOLDED);
}
