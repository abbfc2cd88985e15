/**
 * The parts of keys, sessions, links and forms: an id, which can be shown, and a secret, of which only a digest is stored.
 *
 * @module
 */

import { BASE62 } from "../../std/base62.ts";
import { ID_LENGTH, ID_PATTERN } from "../../std/patterns.ts";
import { type RandomBytes, randomText } from "../../std/random_text.ts";
import { IV_BYTES, sealText, unsealText } from "../../std/seal.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  type Purpose,
  toStoredDigest,
} from "./identity_secrets.ts";

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

// Texts that can be read or created only with the service's secret: AES-256-GCM with a key for one
// purpose. The owner is authenticated, so that a sealed text is not valid for another person.

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

// The stored form of passwords. The input of the hash is a MAC with a secret that is in no
// database: a stolen hash does not help in guessing, and an inserted or copied hash matches no
// password. The hash is stored with the digest of a proof that is derived from it and the secret.
// Only a caller who knows both can present the proof: the database distinguishes the service from a
// thief who has only its login.

export type PasswordRecord = { hash: string; digest: string; secretId: string };

/** The keyed form of a password, which is hashed. */
export function toKeyedPassword(by: IdentitySecret, userId: string, password: string): string {
  return Buffer.from(by.prove("password", userId, password)).toString("base64url");
}

/** The record for the hash of {@linkcode toKeyedPassword}. */
export function toPasswordRecord(by: IdentitySecret, userId: string, hash: string): PasswordRecord {
  return { hash, digest: toStoredDigest(proveHash(by, userId, hash), userId), secretId: by.id };
}

/** The proof that a sign-in with this hash presents; `undefined` if the settings lack the secret of the hash. */
export function proveSignIn(
  secrets: IdentitySecrets,
  userId: string,
  { hash, secretId }: Pick<PasswordRecord, "hash" | "secretId">,
): string | undefined {
  const by = findIdentitySecret(secrets, secretId);
  return by && Buffer.from(proveHash(by, userId, hash)).toString("hex");
}

function proveHash(by: IdentitySecret, userId: string, hash: string): Uint8Array {
  return by.prove("sign-in", userId, hash);
}

const ID_AND_SECRET = new RegExp(`^${ID_CHARS}\\.${SECRET_CHARS}$`);
/** More than any browser sends by accident. With more texts, all are ignored. */
const MAX_PRESENTED = 16;

/** The two cookies of a session: one for every host under the cookie's domain, one only for the pages. */
type CookieKind = "session" | "identity";

/** The database's arguments for a new session, and the cookies' values. */
export type NewSession = {
  id: string;
  secretId: string;
  sessionDigest: string;
  identityDigest: string;
  sessionText: string;
  identityText: string;
};

/** A new session of a person, with a secret for each cookie. */
export function makeSession(
  deps: { identitySecrets: IdentitySecrets; randomBytes: RandomBytes },
  userId: string,
): NewSession {
  const { current } = deps.identitySecrets;
  const id = makeIdText(deps.randomBytes);
  const [session, identity] = [makeSecret(deps.randomBytes), makeSecret(deps.randomBytes)];
  const toDigest = (kind: CookieKind, secret: string) =>
    toStoredDigest(proveCookie(current, kind, { id, secret }), userId);
  return {
    id,
    secretId: current.id,
    sessionDigest: toDigest("session", session),
    identityDigest: toDigest("identity", identity),
    sessionText: `${id}.${session}`,
    identityText: `${id}.${identity}`,
  };
}

/**
 * The argument for the database: `<id>.<proof>` of each well-formed text by each secret, comma-separated. Ignores malformed
 * texts. If there are too many texts, ignores all.
 */
export function toPresented(
  { all }: IdentitySecrets,
  kind: CookieKind,
  texts: readonly string[],
): string {
  const wellFormed = [...new Set(texts)].flatMap((text) => splitSecretText(text) ?? []);
  if (wellFormed.length > MAX_PRESENTED) return "";
  return wellFormed
    .flatMap((text) =>
      all.map((by) => `${text.id}.${Buffer.from(proveCookie(by, kind, text)).toString("hex")}`),
    )
    .join(",");
}

export type SecretText = { id: string; secret: string };

export function splitSecretText(text: string): SecretText | undefined {
  if (!ID_AND_SECRET.test(text)) return undefined;
  return { id: text.slice(0, ID_LENGTH), secret: text.slice(ID_LENGTH + 1) };
}

function proveCookie(by: IdentitySecret, kind: CookieKind, { id, secret }: SecretText): Uint8Array {
  return by.prove(`${kind} cookie`, id, secret);
}
