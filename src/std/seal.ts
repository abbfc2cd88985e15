/** AES-256-GCM: texts that only the holder of a key can read or create. @module */
import { createCipheriv, createDecipheriv } from "node:crypto";

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
