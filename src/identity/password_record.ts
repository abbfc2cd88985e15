/** Hashing and verifying passwords: what is hashed is their MAC with the service's secret. @module */

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

/** A right password: what proves that to the database, and whether it must be hashed again. */
export type RightPassword = { proof: string; isCurrent: boolean };

/** Always one hash: an unknown person, or one without a password, costs as much as a wrong password. */
export async function verifyPassword(
  { hashing, identitySecrets }: PasswordDeps,
  { known, isKnownDevice }: { known: KnownUser | undefined; isKnownDevice: boolean },
  password: string,
): Promise<RightPassword | undefined> {
  const { userId = "", password: stored } = known ?? {};
  const { current } = identitySecrets;
  // Without the secret that it was made with, a hash matches nothing.
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
