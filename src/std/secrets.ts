/**
 * Random text, sealed text (AES-256-GCM), base62, and a comparison whose duration does not reveal how many characters
 * are equal.
 *
 * @module
 */

import { createCipheriv, createDecipheriv, timingSafeEqual } from "node:crypto";

/**
 * Returns whether two texts are equal, in a time that depends only on their lengths.
 *
 * @example
 * ```ts
 * expect([isEqualText("proof", "proof"), isEqualText("proof", "prove")]).toEqual([true, false]);
 * ```
 */
export function isEqualText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

// Text of random characters without bias.

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

// Base62: digits, uppercase, lowercase.

/** The 62 digits: 0 to 9, A to Z, a to z. */
export const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * A whole number ≥ 0 in base62, padded with zeros to `width`.
 *
 * @example
 * ```ts
 * expect(toBase62(61, 3)).toBe("00z");
 * ```
 */
export function toBase62(value: number, width: number): string {
  let text = "";
  for (let rest = value; rest > 0; rest = Math.floor(rest / BASE62.length))
    text = BASE62.charAt(rest % BASE62.length) + text;
  return text.padStart(width, "0");
}

// AES-256-GCM: texts that only the holder of a key can read or create.

const CIPHER = "aes-256-gcm";
export const IV_BYTES = 12;
const TAG_BYTES = 16;

type SealKey = {
  /** 32 bytes. */
  key: Uint8Array;
  /** Authenticated: a sealed text is not valid for another owner. */
  owner: string;
};

/**
 * The IV, the ciphertext and the tag. Never use an IV twice with a key.
 *
 * @example
 * ```ts
 * const key = crypto.getRandomValues(new Uint8Array(32));
 * const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
 * const sealed = sealText({ key, owner: "Ann" }, "text", iv);
 * expect(unsealText({ key, owner: "Ann" }, sealed)).toBe("text");
 * expect(unsealText({ key, owner: "Bob" }, sealed)).toBe(undefined);
 * ```
 */
export function sealText({ key, owner }: SealKey, text: string, iv: Uint8Array): Buffer {
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(owner));
  return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** The text; `undefined` if it was not sealed with this key for this owner. */
export function unsealText({ key, owner }: SealKey, bytes: Buffer): string | undefined {
  if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const opened = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    return Buffer.concat([opened, decipher.final()]).toString("utf8");
  } catch {
    return undefined; // another key or owner, or changed
  }
}
