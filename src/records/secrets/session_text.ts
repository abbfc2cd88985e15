/**
 * The texts of sessions and links: `<id>.<secret>` in a cookie or an address, `<id>.<proof>` for the database. The database
 * never gets a secret.
 *
 * @module
 */

import { ID_LENGTH } from "../../std/patterns.ts";
import type { RandomBytes } from "../../std/secrets.ts";
import { type IdentitySecret, type IdentitySecrets, toStoredDigest } from "./identity_secrets.ts";
import { ID_CHARS, makeIdText, makeSecret, SECRET_CHARS } from "./secrets.ts";

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

/** The parts of a well-formed text; `undefined` for other texts. */
export function splitSecretText(text: string): SecretText | undefined {
  if (!ID_AND_SECRET.test(text)) return undefined;
  return { id: text.slice(0, ID_LENGTH), secret: text.slice(ID_LENGTH + 1) };
}

function proveCookie(by: IdentitySecret, kind: CookieKind, { id, secret }: SecretText): Uint8Array {
  return by.prove(`${kind} cookie`, id, secret);
}
