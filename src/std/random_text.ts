/** Text of random characters without bias. @module */

export type RandomBytes = (length: number) => Uint8Array;

/**
 * Random bytes from the system, for injection as `deps`.
 *
 * @example
 * ```ts
 * expect(systemRandomBytes(8)).toHaveLength(8);
 * ```
 */
export function systemRandomBytes(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}

/**
 * `length` characters drawn evenly from `alphabet` (at most 256 characters).
 *
 * @example
 * ```ts
 * const text = randomText("ab", 8, systemRandomBytes);
 * expect(text).toMatch(/^[ab]{8}$/);
 * ```
 */
export function randomText(alphabet: string, length: number, randomBytes: RandomBytes): string {
  // Discards bytes beyond the last whole multiple: a plain remainder would favor the first characters.
  const bound = 256 - (256 % alphabet.length);
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < bound && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}
