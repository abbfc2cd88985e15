/**
 * The text of an API key: `<prefix>_<key_id>.<secret>`. The secret ends with a checksum of everything before it, so that a
 * typo is detected without a query. A one-way function derives the proof for the database from the secret, and another derives
 * the stored digest from the proof: neither a dump nor a service with a proof reveals the secret.
 *
 * @module
 */

import { BASE62, toBase62 } from "../../std/base62.ts";
import { ID_LENGTH } from "../../std/patterns.ts";
import { type RandomBytes, randomText } from "../../std/random_text.ts";
import { ID_CHARS, makeIdText } from "../secrets/secrets.ts";

const PREFIX_MAX_LENGTH = 16;
const PREFIX_PATTERN = `[A-Za-z0-9-]{1,${PREFIX_MAX_LENGTH}}`;
const RANDOM_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const KEY = new RegExp(
  `^(${PREFIX_PATTERN})_(${ID_CHARS})\\.([0-9A-Za-z]{${RANDOM_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);

export const KEY_PREFIX = new RegExp(`^${PREFIX_PATTERN}$`);
/** Max length of a key's text: one `_` and one dot separate its parts. */
export const KEY_MAX_LENGTH =
  PREFIX_MAX_LENGTH + 1 + ID_LENGTH + 1 + RANDOM_LENGTH + CHECKSUM_LENGTH;

type KeyText = { keyId: string; secret: string };

/** A new key: its id, its secret and the text, which is shown once. */
export function makeKeyText(
  prefix: string,
  randomBytes: RandomBytes,
  keyId = makeIdText(randomBytes),
): KeyText & { text: string } {
  const start = `${prefix}_${keyId}.${randomText(BASE62, RANDOM_LENGTH, randomBytes)}`;
  const text = start + toChecksum(start);
  return { keyId, secret: text.slice(text.indexOf(".") + 1), text };
}

/** The id and secret of a key's text, or `undefined` if its format or checksum is wrong. */
export function readKeyText(text: string, prefix: string): KeyText | undefined {
  const match = KEY.exec(text);
  const [, found, keyId, random, checksum] = match ?? [];
  if (found !== prefix || keyId === undefined || random === undefined || checksum === undefined)
    return undefined;
  if (toChecksum(text.slice(0, -CHECKSUM_LENGTH)) !== checksum) return undefined;
  return { keyId, secret: random + checksum };
}

function toChecksum(text: string): string {
  return toBase62(Bun.hash.crc32(text), CHECKSUM_LENGTH);
}

/** The proof of a key's secret: 32 bytes. */
export function toProof(secret: string): Uint8Array {
  return new Bun.CryptoHasher("sha256", secret).update("rowhouse key proof v1").digest();
}

/** The stored digest of a proof: its SHA-256, in hexadecimal. */
export function toProofDigest(proof: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(proof).digest("hex");
}
