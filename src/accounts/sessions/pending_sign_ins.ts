/**
 * A sign-in that waits for the second factor: `<id>.<secret>` in a cookie of the pages' host. It is not a session, and opens only
 * the page that requests the factor.
 *
 * @module
 */
import { call, type Database } from "../../db/mod.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import { type IdentitySecrets, toStoredDigest } from "../secrets/identity_secrets.ts";
import { makeIdText, makeSecret } from "../secrets/secret_text.ts";
import { splitSecretText } from "../secrets/session_text.ts";

/** The arguments for the database, and the value of the cookie. */
export type NewPending = { id: string; digest: string; text: string };

/** A new pending sign-in, with a random id and secret. */
export function makePending(
  deps: { identitySecrets: IdentitySecrets; randomBytes: RandomBytes },
  userId: string,
): NewPending {
  const parts = { id: makeIdText(deps.randomBytes), secret: makeSecret(deps.randomBytes) };
  const proof = deps.identitySecrets.current.prove("pending sign-in", parts.id, parts.secret);
  return {
    id: parts.id,
    digest: toStoredDigest(proof, userId),
    text: `${parts.id}.${parts.secret}`,
  };
}

/** The argument for the database: `<id>.<proof>` by each secret, comma-separated. */
export function toPendingCookieText({ all }: IdentitySecrets, text: string): string {
  const parts = splitSecretText(text);
  if (parts === undefined) return "";
  return all
    .map((by) => by.prove("pending sign-in", parts.id, parts.secret))
    .map((proof) => `${parts.id}.${Buffer.from(proof).toString("hex")}`)
    .join(",");
}

/** The person of a pending sign-in, and the factors that can finish it. */
export type PendingSignIn = {
  userId: string;
  email: string;
  hasTotp: boolean;
  /** Remaining codes. */
  recoveryCodes: number;
  passkeys: { id: string; transports: string[] }[];
};

export async function findPendingSignIn(
  { db }: { db: Database },
  presented: string,
): Promise<PendingSignIn | undefined> {
  if (presented === "") return undefined;
  const pending = await call(db, "show_pending_sign_in", { pending_cookie: presented });
  return (pending ?? undefined) as PendingSignIn | undefined;
}
