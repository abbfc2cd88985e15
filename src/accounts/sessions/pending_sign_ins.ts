/**
 * A sign-in that waits for the second factor: `<id>.<secret>` in a cookie of the pages' host. It is no session, and shows no
 * page but the one that asks for the factor.
 *
 * @module
 */
import { call, type Database } from "../../db/mod.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import { type IdentitySecrets, toStoredDigest } from "../secrets/identity_secrets.ts";
import { makeIdText, makeSecret } from "../secrets/secret_text.ts";
import { splitSecretText } from "../secrets/session_text.ts";

/** How long a sign-in waits. */
export const PENDING_LIFE_S = 600;

/** What the database gets of it, if the person has a second factor; and the cookie's value. */
export type NewPending = { id: string; digest: string; text: string };

/** A new sign-in that waits, with a random id and secret. */
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

/** What the database is asked about: `<id>.<proof>` for every secret that may have made it. */
export function toPendingShown({ all }: IdentitySecrets, text: string): string {
  const parts = splitSecretText(text);
  if (parts === undefined) return "";
  return all
    .map((by) => by.prove("pending sign-in", parts.id, parts.secret))
    .map((proof) => `${parts.id}.${Buffer.from(proof).toString("hex")}`)
    .join(",");
}

/** Whose sign-in waits, and what may finish it. */
export type PendingSignIn = {
  userId: string;
  email: string;
  hasTotp: boolean;
  /** How many are left. */
  recoveryCodes: number;
  passkeys: { id: string; transports: string[] }[];
};

/** The sign-in that waits; `undefined` if there is none. */
export async function findPendingSignIn(
  { db }: { db: Database },
  shown: string,
): Promise<PendingSignIn | undefined> {
  if (shown === "") return undefined;
  const pending = await call(db, "show_pending_sign_in", { pending_shown: shown });
  return (pending ?? undefined) as PendingSignIn | undefined;
}
