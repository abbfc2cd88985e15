/**
 * The parts of keys, sessions, links and forms: an id, which can be shown, and a secret, of which only a digest is stored.
 *
 * @module
 */
import { BASE62 } from "../../std/base62.ts";
import { type RandomBytes, randomText } from "../../std/random_text.ts";
import { ID_LENGTH, ID_PATTERN } from "../../std/stored_text.ts";

const ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
/** 190 random bits. */
const SECRET_LENGTH = 32;

/** As parts of a regular expression. */
export const ID_CHARS = ID_PATTERN.slice(1, -1);
export const SECRET_CHARS = `[0-9A-Za-z]{${SECRET_LENGTH}}`;

const ID = new RegExp(ID_PATTERN);
const SECRET = new RegExp(`^${SECRET_CHARS}$`);

/** The id of a key or a session. */
export function makeIdText(randomBytes: RandomBytes): string {
  return randomText(ID_ALPHABET, ID_LENGTH, randomBytes);
}

export function isIdText(text: string): boolean {
  return ID.test(text);
}

/** The secret of a session, a link or a form. */
export function makeSecret(randomBytes: RandomBytes): string {
  return randomText(BASE62, SECRET_LENGTH, randomBytes);
}

/** A secret from at least 24 random bytes. */
export function toSecret(bytes: Uint8Array): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  let text = "";
  while (text.length < SECRET_LENGTH) {
    text += BASE62.charAt(Number(rest % BigInt(BASE62.length)));
    rest /= BigInt(BASE62.length);
  }
  return text;
}

/** Whether a text has the format of a secret. No query is needed for other texts. */
export function isSecretText(text: string): boolean {
  return SECRET.test(text);
}

/** SHA-256 in hexadecimal, the stored form of a secret. */
export function toDigest(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
