/** Hashes and verifies passwords. The input of the hash is a MAC of the password with the service's secret. @module */
import { findPasswordLink, usePasswordLink } from "../accounts/people/mod.ts";
import {
  findIdentitySecret,
  type IdentitySecrets,
  type PasswordRecord,
  proveSignIn,
  toKeyedPassword,
  toPasswordRecord,
} from "../accounts/secrets/mod.ts";
import type { KnownUser } from "../accounts/sessions/mod.ts";
import type { Database } from "../db/mod.ts";
import type { Hashing } from "./hashing.ts";
import { toPasswordForm } from "./password.ts";

export type PasswordDeps = { hashing: Hashing; identitySecrets: IdentitySecrets };

export async function makePasswordRecord(
  { hashing, identitySecrets }: PasswordDeps,
  userId: string,
  password: string,
): Promise<PasswordRecord> {
  const { current } = identitySecrets;
  const hash = await hashing.make(toKeyedPassword(current, userId, toPasswordForm(password)));
  return toPasswordRecord(current, userId, hash);
}

/** A correct password: the proof for the database, and whether the hash is current. */
export type RightPassword = { proof: string; isCurrent: boolean };

/** Always computes one hash: an unknown person, or a person without a password, costs as much as a wrong password. */
export async function verifyPassword(
  { hashing, identitySecrets }: PasswordDeps,
  { known, isKnownDevice }: { known: KnownUser | undefined; isKnownDevice: boolean },
  password: string,
): Promise<RightPassword | undefined> {
  const { userId = "", password: stored } = known ?? {};
  const { current } = identitySecrets;
  // A hash matches nothing without the secret that was used to create it.
  const by = stored && findIdentitySecret(identitySecrets, stored.secretId);
  const keyed = toKeyedPassword(by ?? current, userId, toPasswordForm(password));
  const isRight = await hashing.verify(keyed, by && stored?.hash, { isFirst: isKnownDevice });
  const proof = stored && proveSignIn(identitySecrets, userId, stored);
  if (!isRight || stored === undefined || proof === undefined) return undefined;
  return { proof, isCurrent: by === current && hashing.isCurrent(stored.hash) };
}

/** Sets a password with a link; false if the link cannot be used. */
export async function setPasswordByLink(
  deps: PasswordDeps & { db: Database },
  linkText: string,
  password: string,
): Promise<boolean> {
  const link = await findPasswordLink(deps, linkText);
  if (link === undefined) return false;
  return await usePasswordLink(deps, link, await makePasswordRecord(deps, link.userId, password));
}
