/**
 * Links between people and their accounts at a provider, by (issuer, subject). The database stores a digest that covers the
 * owner; a link is valid only with the proof derived from the service's secret.
 *
 * @module
 */

import { call, callRow, type Database, type Result } from "../../db/mod.ts";
import { makeAddressDigest, proveConfirmed } from "../people/addresses.ts";
import type { ClaimedRecord } from "../people/roles.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  isDigestOf,
  toStoredDigest,
} from "../secrets/identity_secrets.ts";
import { toDigest } from "../secrets/secrets.ts";
import {
  type Admission,
  SIGN_IN_LIMITS,
  type SignInStart,
  toClient,
  toSignInValues,
} from "./sign_in_attempts.ts";

/** An account at a provider, from the provider's token. */
export type Subject = { issuer: string; subject: string };
type LinkDeps = { db: Database; identitySecrets: IdentitySecrets };

/** A linked person with the proof for the database, or an invited person who can be linked. */
export type Linked = { userId: string; proof: string; isDisabled: boolean };
type ProviderPerson =
  | ({ kind: "linked" } & Linked)
  /** A row exists that this service did not create. */
  | { kind: "planted" }
  /** No person is linked; `invited` has the address, a pending invitation and no way to sign in. */
  | { kind: "unlinked"; invited: Invited | undefined; isEmailInUse: boolean };
/** An invited person, and the proof in hexadecimal that this service has set the address. */
type Invited = { userId: string; proof: string };

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

/** The arguments that store a link by the current secret, and its proof; in hexadecimal. */
export function makeLinkRecord(
  { identitySecrets: { current } }: Pick<LinkDeps, "identitySecrets">,
  linked: Subject,
  userId: string,
) {
  const proof = proveLink(current, linked, userId);
  return {
    values: {
      ...{ link_issuer: linked.issuer, link_subject: linked.subject },
      ...{ new_digest: toStoredDigest(proof, userId), new_secret_id: current.id },
    },
    proof: Buffer.from(proof).toString("hex"),
  };
}

function proveLink(by: IdentitySecret, { issuer, subject }: Subject, userId: string): Uint8Array {
  return by.prove("provider link", issuer, subject, userId);
}

type NewLinkOptions = Subject & { email: string; provider: string };

/** Links an invited person for the first time, who gets the name unless there is one; `undefined` if the person can already sign in. */
export async function linkInvited(
  deps: LinkDeps,
  { userId, proof: presentedProof }: Invited,
  { email, provider, displayName, ...linked }: NewLinkOptions & { displayName: string | undefined },
): Promise<Linked | undefined> {
  const { values, proof } = makeLinkRecord(deps, linked, userId);
  const isDone = await call(deps.db, "accept_by_provider", {
    who: userId,
    email,
    presented_proof: presentedProof,
    ...values,
    provider,
    new_name: displayName,
  });
  return isDone ? { userId, proof, isDisabled: false } : undefined;
}

/** A new person without roles; `undefined` if the address is already in use. */
export async function createLinked(
  deps: LinkDeps & { makeId: () => string },
  { email, provider, displayName, ...linked }: NewLinkOptions & { displayName: string | undefined },
): Promise<Linked | undefined> {
  const userId = deps.makeId();
  const { values, proof } = makeLinkRecord(deps, linked, userId);
  const isDone = await call(deps.db, "create_linked_person", {
    new_id: userId,
    email,
    mail_digest: makeAddressDigest(deps.identitySecrets, userId, email),
    new_name: displayName,
    ...values,
    provider,
  });
  return isDone ? { userId, proof, isDisabled: false } : undefined;
}

// The database part of a sign-in by a provider: begins once for each response of the provider, ends
// with a session.

/** Counts an attempt; `isFirst` is false if this response of the provider was already used. */
export async function beginProviderSignIn(
  deps: { db: Database },
  { state, address }: { state: string; address: string },
): Promise<{ waitS: number; isFirst: boolean }> {
  const { networks, bounds } = toClient(address);
  const row = await callRow(deps.db, "begin_provider_sign_in", {
    state: toDigest(state),
    client_networks: networks,
    client_bounds: bounds,
    window_s: SIGN_IN_LIMITS.windowS,
  });
  return { waitS: row.wait_s, isFirst: row.is_first };
}

type ProviderFinish = SignInStart &
  Subject & {
    linked: Linked;
    provider: string;
    /** When the person authenticated at the provider, in seconds. An unknown time counts as too old. */
    provenAtS: number | undefined;
    address: string;
    /** The key of the begun sign-in. */
    state: string;
    /** The roles from the provider's current claims. Earlier roles from its claims are revoked. */
    claimed: readonly ClaimedRecord[];
  };

/** Creates the session or the pending sign-in, and renews the link's digest; `wrong` if the person was disabled or unlinked. */
export async function finishProviderSignIn(
  deps: { db: Database; identitySecrets: IdentitySecrets },
  finish: ProviderFinish,
): Promise<Admission> {
  const { linked, issuer, subject } = finish;
  const { values: fresh } = makeLinkRecord(deps, { issuer, subject }, linked.userId);
  const { provenAtS } = finish;
  const outcome = await call(deps.db, "finish_provider_sign_in", {
    who: linked.userId,
    link_issuer: issuer,
    link_subject: subject,
    presented_proof: linked.proof,
    fresh_digest: fresh.new_digest,
    fresh_secret_id: fresh.new_secret_id,
    ...toSignInValues(finish),
    proven: provenAtS === undefined ? null : new Date(provenAtS * 1000),
    state: toDigest(finish.state),
    client_networks: toClient(finish.address).networks,
    provider: finish.provider,
    client_address: finish.address,
    is_known_device: finish.isKnownDevice,
    claimed: finish.claimed,
  });
  return outcome as Admission;
}

/** Records why a provider's response was rejected: a short reason for operators, never the response. */
export async function recordRejectedSignIn(
  deps: { db: Database },
  rejected: { provider: string; reason: string; userId?: string | undefined; from: string },
): Promise<void> {
  const { provider, reason, userId, from } = rejected;
  await call(deps.db, "record_rejected_sign_in", {
    provider,
    reason,
    who: userId,
    client_address: from,
  });
}
