/**
 * Links between people and their accounts at a provider, by (issuer, subject). The database stores a digest that covers the
 * owner; a link is valid only with the proof derived from the service's secret.
 *
 * @module
 */
import { call, callRow, type Database, type Result } from "../../db/mod.ts";
import { makeAddressDigest, proveConfirmed } from "../people/addresses.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  isDigestOf,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";

/** An account at a provider, from the provider's token. */
export type Subject = { issuer: string; subject: string };
type LinkDeps = { db: Database; identitySecrets: IdentitySecrets };

/** A linked person with the proof for the database, or an invited person who can be linked. */
export type Linked = { userId: string; proof: string; isDisabled: boolean };
export type ProviderPerson =
  | ({ kind: "linked" } & Linked)
  /** A row exists that this service did not create. */
  | { kind: "planted" }
  /** No person is linked; `invited` has the address, a pending invitation and no way to sign in. */
  | { kind: "unlinked"; invited: Invited | undefined; isEmailInUse: boolean };
/** An invited person, and the proof in hexadecimal that this service has set the address. */
export type Invited = { userId: string; proof: string };

type PersonRow = Result<"find_provider_person">[number];

/** The person linked to this subject; without a link, the person invited under `email`. */
export async function findProviderPerson(
  { db, identitySecrets }: LinkDeps,
  { issuer, subject }: Subject,
  email: string | undefined,
): Promise<ProviderPerson> {
  const values = { link_issuer: issuer, link_subject: subject, email };
  const row = await callRow(db, "find_provider_person", values);
  if (row.link_user === null || row.digest === null || row.secret_id === null)
    return {
      kind: "unlinked",
      invited: findInvited(identitySecrets, row, email ?? ""),
      isEmailInUse: row.mail_user !== null,
    };
  const by = findIdentitySecret(identitySecrets, row.secret_id);
  const proof = by && proveLink(by, { issuer, subject }, row.link_user);
  if (proof === undefined || !isDigestOf(row.digest, proof, row.link_user))
    return { kind: "planted" };
  return {
    kind: "linked",
    userId: row.link_user,
    proof: Buffer.from(proof).toString("hex"),
    isDisabled: row.is_disabled,
  };
}

/** The person invited under the address, if this service has set it. */
function findInvited(
  secrets: IdentitySecrets,
  { is_invited, mail_user: userId, mail_digest: digest, mail_secret_id: secretId }: PersonRow,
  email: string,
): Invited | undefined {
  if (!is_invited || userId === null) return undefined;
  const proof = proveConfirmed(secrets, { userId, email, digest, secretId });
  return proof === undefined ? undefined : { userId, proof };
}

export type LinkRecord = { digest: string; secretId: string; proof: string };

/** The record of a link by the current secret, with digest and proof in hexadecimal. */
export function makeLinkRecord(
  { identitySecrets: { current } }: Pick<LinkDeps, "identitySecrets">,
  linked: Subject,
  userId: string,
): LinkRecord {
  const proof = proveLink(current, linked, userId);
  return {
    digest: toStoredDigest(proof, userId),
    secretId: current.id,
    proof: Buffer.from(proof).toString("hex"),
  };
}

function proveLink(by: IdentitySecret, { issuer, subject }: Subject, userId: string): Uint8Array {
  return by.prove("provider link", issuer, subject, userId);
}

type NewLinkOptions = Subject & { email: string; provider: string };

/** Links an invited person for the first time; `undefined` if the person can already sign in. */
export async function linkInvited(
  deps: LinkDeps,
  { userId, proof: presentedProof }: Invited,
  { email, provider, ...linked }: NewLinkOptions,
): Promise<Linked | undefined> {
  const { digest, secretId, proof } = makeLinkRecord(deps, linked, userId);
  const isDone = await call(deps.db, "link_invited_person", {
    who: userId,
    email,
    presented_proof: presentedProof,
    link_issuer: linked.issuer,
    link_subject: linked.subject,
    new_digest: digest,
    new_secret_id: secretId,
    provider,
  });
  return isDone ? { userId, proof, isDisabled: false } : undefined;
}

/** A new person without roles; `undefined` if the address is already in use. */
export async function createLinked(
  deps: LinkDeps & { makeId: () => string },
  { email, provider, displayName, ...linked }: NewLinkOptions & { displayName: string | undefined },
): Promise<Linked | undefined> {
  const userId = deps.makeId();
  const { digest, secretId, proof } = makeLinkRecord(deps, linked, userId);
  const isDone = await call(deps.db, "create_linked_person", {
    new_id: userId,
    email,
    mail_digest: makeAddressDigest(deps.identitySecrets, userId, email),
    new_name: displayName,
    link_issuer: linked.issuer,
    link_subject: linked.subject,
    new_digest: digest,
    new_secret_id: secretId,
    provider,
  });
  return isDone ? { userId, proof, isDisabled: false } : undefined;
}
