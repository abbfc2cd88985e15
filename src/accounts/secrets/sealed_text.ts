/**
 * Texts that can be read or created only with the service's secret: AES-256-GCM with a key for one purpose. The owner is
 * authenticated, so that a sealed text is not valid for another person.
 *
 * @module
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import type { RandomBytes } from "../../std/random_text.ts";
import type { IdentitySecret, Purpose } from "./identity_secrets.ts";

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

export type Sealing = { by: IdentitySecret; purpose: Purpose; owner: string };

/** The sealed text: a random IV, the ciphertext and the tag. */
export function seal(
  { by, purpose, owner }: Sealing,
  text: string,
  { randomBytes }: { randomBytes: RandomBytes },
): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, by.prove(purpose), iv).setAAD(Buffer.from(owner));
  return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** The text; `undefined` if it was not sealed with this secret, purpose and owner. */
export function unseal({ by, purpose, owner }: Sealing, bytes: Buffer): string | undefined {
  if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
  const key = by.prove(purpose);
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const opened = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    return Buffer.concat([opened, decipher.final()]).toString("utf8");
  } catch {
    return undefined; // another secret, another purpose, another person, or changed
  }
}
