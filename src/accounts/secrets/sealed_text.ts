/**
 * Texts that can be read or created only with the service's secret: AES-256-GCM with a key for one purpose. The owner is
 * authenticated, so that a sealed text is not valid for another person.
 *
 * @module
 */
import type { RandomBytes } from "../../std/random_text.ts";
import { IV_BYTES, sealText, unsealText } from "../../std/sealed_text.ts";
import type { IdentitySecret, Purpose } from "./identity_secrets.ts";

export type Sealing = { by: IdentitySecret; purpose: Purpose; owner: string };

/** The sealed text: a random IV, the ciphertext and the tag. */
export function seal(
  { by, purpose, owner }: Sealing,
  text: string,
  { randomBytes }: { randomBytes: RandomBytes },
): Buffer {
  return sealText({ key: by.prove(purpose), owner }, text, randomBytes(IV_BYTES));
}

/** The text; `undefined` if it was not sealed with this secret, purpose and owner. */
export function unseal({ by, purpose, owner }: Sealing, bytes: Buffer): string | undefined {
  return unsealText({ key: by.prove(purpose), owner }, bytes);
}
