/**
 * The texts that stand for a session: `<id>.<secret>` in a cookie, `<id>.<digest>` towards the database. Never hands
 * a secret on: past this file there are only digests.
 *
 * @module
 */
import { type RandomBytes, randomText } from "../std/random_text.ts";

const ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const SECRET_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 16;
/** 190 random bits. */
const SECRET_LENGTH = 32;
const SESSION_TEXT = new RegExp(`^[a-z0-9]{${ID_LENGTH}}\\.[0-9A-Za-z]{${SECRET_LENGTH}}$`);
/** More different ones than any browser sends by accident: they are not looked at. */
export const MAX_PRESENTED = 16;

/** What the database gets of a new session, and the cookies' values. */
export type NewSession = {
  id: string;
  secretHash: string;
  identityHash: string;
  sessionText: string;
  identityText: string;
};

/** A new session with two secrets: one that every host under the cookie's domain sees, one for the pages alone. */
export function makeSession(randomBytes: RandomBytes): NewSession {
  const id = randomText(ID_ALPHABET, ID_LENGTH, randomBytes);
  const [secret, identity] = [makeSecret(randomBytes), makeSecret(randomBytes)];
  return {
    id,
    secretHash: toDigest(secret),
    identityHash: toDigest(identity),
    sessionText: `${id}.${secret}`,
    identityText: `${id}.${identity}`,
  };
}

/** The secret of a set-password link. */
export function makeSecret(randomBytes: RandomBytes): string {
  return randomText(SECRET_ALPHABET, SECRET_LENGTH, randomBytes);
}

/** Whether a text can be the secret of a link: anything else costs no query. */
export function isSecretText(text: string): boolean {
  return text.length === SECRET_LENGTH && /^[0-9A-Za-z]+$/.test(text);
}

/**
 * What the database is asked about: each different well-formed text once, as `<id>.<digest>` with commas between.
 * Malformed ones are nothing; of too many none is looked at.
 */
export function toPresented(texts: readonly string[]): string {
  const wellFormed = [...new Set(texts)].filter((text) => SESSION_TEXT.test(text));
  if (wellFormed.length > MAX_PRESENTED) return "";
  return wellFormed
    .map((text) => `${text.slice(0, ID_LENGTH)}.${toDigest(text.slice(ID_LENGTH + 1))}`)
    .join(",");
}

/** SHA-256 in hexadecimal: what is stored of a secret. */
export function toDigest(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
