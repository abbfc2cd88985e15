/** Passwords hashed and verified: what is hashed is their MAC with the service's secret. @module */
import {
  findIdentitySecret,
  findPasswordLink,
  type IdentitySecrets,
  type KnownUser,
  type PasswordRecord,
  proveSignIn,
  toKeyedPassword,
  toPasswordRecord,
  usePasswordLink,
} from "../accounts/mod.ts";
import type { Database } from "../db/mod.ts";
import type { Hashing } from "./hashing.ts";
import { toPasswordForm } from "./password.ts";

export type PasswordDeps = { hashing: Hashing; identitySecrets: IdentitySecrets };

/** What is stored of a person's new password. */
export async function makePasswordRecord(
  { hashing, identitySecrets }: PasswordDeps,
  userId: string,
  password: string,
): Promise<PasswordRecord> {
  const { current } = identitySecrets;
  const hash = await hashing.make(toKeyedPassword(current, userId, toPasswordForm(password)));
  return toPasswordRecord(current, userId, hash);
}

/** A password that was right: what shows it to the database, and whether it is to be hashed anew. */
export type RightPassword = { proof: string; isCurrent: boolean };

/** One hash whoever it is: nobody, or who has no password, costs as much as a wrong one. */
export async function verifyPassword(
  { hashing, identitySecrets }: PasswordDeps,
  { known, isKnownDevice }: { known: KnownUser | undefined; isKnownDevice: boolean },
  password: string,
): Promise<RightPassword | undefined> {
  const { userId = "", password: stored } = known ?? {};
  const { current } = identitySecrets;
  // Without the secret that it was made with, a hash is right for nothing.
  const by = stored && findIdentitySecret(identitySecrets, stored.secretId);
  const keyed = toKeyedPassword(by ?? current, userId, toPasswordForm(password));
  const isRight = await hashing.verify(keyed, by && stored?.hash, { isFirst: isKnownDevice });
  const proof = stored && proveSignIn(identitySecrets, userId, stored);
  if (!isRight || stored === undefined || proof === undefined) return undefined;
  return { proof, isCurrent: by === current && hashing.isCurrent(stored.hash) };
}

/** Sets a password by a link; false where the link cannot be used. */
export async function setPasswordByLink(
  deps: PasswordDeps & { db: Database },
  linkText: string,
  password: string,
): Promise<boolean> {
  const link = await findPasswordLink(deps, linkText);
  if (link === undefined) return false;
  return await usePasswordLink(deps, link, await makePasswordRecord(deps, link.userId, password));
}
