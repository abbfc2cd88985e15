/**
 * Links that set a password: `<id>.<secret>`. The database stores a digest that covers the person, the purpose and the
 * expiry, and checks the link when it is used.
 *
 * @module
 */
import { call, type Database } from "../../db/mod.ts";
import { LINK_LIFE_S } from "../../std/limits.ts";
import type { RandomBytes } from "../../std/random_text.ts";
import type { AppTargets } from "../apps/targets.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  isDigestOf,
} from "../secrets/identity_secrets.ts";
import {
  makeIdText,
  type PasswordRecord,
  type SecretText,
  splitSecretText,
  toSecret,
} from "../secrets/secrets.ts";

export type LinkDeps = {
  randomBytes: RandomBytes;
  identitySecrets: IdentitySecrets;
  /** In milliseconds, if it is a number. */
  now: () => Date | number;
};
/** The values of a new link that the database stores, and the text in its address. */
type NewLink = {
  id: string;
  secretId: string;
  proof: string;
  expiresAtS: number;
  text: string;
};

/** A new link without a person: the database adds the person to the stored digest. */
export function makeLink(
  { randomBytes, identitySecrets, now }: LinkDeps,
  lifeS: number = LINK_LIFE_S,
): NewLink {
  const { current } = identitySecrets;
  const id = makeIdText(randomBytes);
  const expiresAtS = Math.floor(Number(now()) / 1000) + lifeS;
  const secret = deriveSecret(current, id, expiresAtS);
  const proof = Buffer.from(proveLink(current, { id, secret }, expiresAtS)).toString("hex");
  return { id, secretId: current.id, proof, expiresAtS, text: `${id}.${secret}` };
}

/** The arguments of every SQL function that stores a link. */
export function toLinkValues({ id, proof, secretId, expiresAtS }: NewLink) {
  return {
    link_id: id,
    proof,
    link_secret_id: secretId,
    ends_at: new Date(expiresAtS * 1000),
  };
}

/** The text of a stored link, for its email. No table contains the text. */
export function deriveLinkText(by: IdentitySecret, id: string, expiresAtS: number): string {
  return `${id}.${deriveSecret(by, id, expiresAtS)}`;
}

function deriveSecret(by: IdentitySecret, id: string, expiresAtS: number): string {
  return toSecret(by.prove("link secret", id, String(expiresAtS)));
}

/** A valid link, and its person. */
export type PasswordLink = {
  id: string;
  userId: string;
  /** Proves to the database that the caller has the link. */
  proof: Uint8Array;
  email: string;
  displayName: string | undefined;
  appSlugs: string[];
  /** Whether the link belongs to an invitation: no one has signed in with the account. */
  isInvitation: boolean;
  /** The next page of the person; not checked against the app's targets. */
  returnTo: { app: AppTargets; redirectUri: string } | undefined;
};

/** The person of a link, while the link is valid. A lookup does not use up the link. */
export async function findPasswordLink(
  { db, identitySecrets }: { db: Database; identitySecrets: IdentitySecrets },
  text: string,
): Promise<PasswordLink | undefined> {
  const parts = splitSecretText(text);
  if (parts === undefined) return undefined;
  const [row] = await call(db, "find_password_link", { link_id: parts.id });
  const by = row && findIdentitySecret(identitySecrets, row.secret_id);
  if (row === undefined || by === undefined) return undefined;
  const proof = proveLink(by, parts, row.expires_at.getTime() / 1000);
  if (!isDigestOf(row.digest, proof, row.user_id)) return undefined;
  return {
    id: parts.id,
    userId: row.user_id,
    proof,
    email: row.email,
    displayName: row.display_name ?? undefined,
    appSlugs: row.app_slugs,
    isInvitation: row.is_invitation,
    returnTo: toReturn(row.return_app as AppTargets | null, row.return_to),
  };
}

function toReturn(app: AppTargets | null, redirectUri: string | null): PasswordLink["returnTo"] {
  return app === null || redirectUri === null ? undefined : { app, redirectUri };
}

/** Sets the password and uses up the link. Returns false if the link is not valid, or has just been used. */
export async function usePasswordLink(
  deps: { db: Database },
  link: PasswordLink,
  password: PasswordRecord,
): Promise<boolean> {
  return await call(deps.db, "use_password_link", {
    link_id: link.id,
    presented_proof: Buffer.from(link.proof).toString("hex"),
    new_hash: password.hash,
    new_digest: password.digest,
    new_secret_id: password.secretId,
  });
}

function proveLink(by: IdentitySecret, parts: SecretText, expiresAtS: number): Uint8Array {
  return by.prove("set-password link", parts.id, parts.secret, String(expiresAtS));
}
