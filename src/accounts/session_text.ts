/**
 * The texts that stand for a session: `<id>.<secret>` in a cookie, `<id>.<digest>` towards the database. Never hands
 * a secret on: past this file there are only digests.
 *
 * @module
 */
import type { RandomBytes } from "../std/random_text.ts";
import { ID_LENGTH } from "../stored_text.ts";
import { ID_CHARS, makeIdText, makeSecret, SECRET_CHARS, toDigest } from "./secret_text.ts";

const SESSION_TEXT = new RegExp(`^${ID_CHARS}\\.${SECRET_CHARS}$`);
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
  const id = makeIdText(randomBytes);
  const [secret, identity] = [makeSecret(randomBytes), makeSecret(randomBytes)];
  return {
    id,
    secretHash: toDigest(secret),
    identityHash: toDigest(identity),
    sessionText: `${id}.${secret}`,
    identityText: `${id}.${identity}`,
  };
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
