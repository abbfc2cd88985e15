/**
 * Links between people and their accounts at a provider, by (issuer, subject). The database stores a digest that covers
 * whose link it is; a link counts only with the proof that follows from the service's secret.
 *
 * @module
 */
import { type Database, SERVICE_QUEUE } from "../db/mod.ts";
import { makeAddressDigest, proveConfirmed } from "./addresses.ts";
import {
  findIdentitySecret,
  type IdentitySecret,
  type IdentitySecrets,
  isDigestOf,
  toStoredDigest,
} from "./identity_secrets.ts";
import { callOwn, type OwnAccount } from "./own_account.ts";
import type { ShownCookies } from "./shown_call.ts";

/** An account at a provider, as the provider's token says it. */
export type Subject = { issuer: string; subject: string };
type LinkDeps = { db: Database; identitySecrets: IdentitySecrets };

/** A person who is linked, and what proves it to the database; or somebody who may become so. */
export type Linked = { userId: string; proof: string; isDisabled: boolean };
export type ProviderPerson =
  | ({ kind: "linked" } & Linked)
  /** There is a row for it that this service has not made. */
  | { kind: "planted" }
  /** No one is linked; `invited` has the address, a live invitation, and no way to sign in yet. */
  | { kind: "unlinked"; invited: Invited | undefined; isEmailTaken: boolean };
/** An invited person, and the proof in hexadecimal that the service itself has set the address. */
export type Invited = { userId: string; proof: string };

type PersonRow = {
  link_user: string | null;
  digest: string | null;
  secret_id: string | null;
  is_disabled: boolean | null;
  mail_user: string | null;
  mail_digest: string | null;
  mail_secret_id: string | null;
  is_invited: boolean | null;
};

/** Who signs in as this subject; without a link, who was invited under `email`. */
export async function findProviderPerson(
  { db, identitySecrets }: LinkDeps,
  { issuer, subject }: Subject,
  email: string | undefined,
): Promise<ProviderPerson> {
  const [row] = await db.query<PersonRow>(
    `select link.user_id::text as link_user, encode(link.digest, 'hex') as digest, link.secret_id,
      owner.disabled_at is not null as is_disabled, mailed.id::text as mail_user,
      encode(mailed.email_digest, 'hex') as mail_digest, mailed.email_secret_id as mail_secret_id,
      mailed.password_secret_id is null and mailed.disabled_at is null
        and not exists (select from rowhouse.provider_links where user_id = mailed.id)
        and exists (select from rowhouse.password_links where user_id = mailed.id and expires_at > now()) as is_invited
    from (values ($1::text, $2::text, $3::text)) as asked (issuer, subject, mail)
    left join rowhouse.provider_links as link on link.issuer = asked.issuer and link.subject = asked.subject
    left join rowhouse.users as owner on owner.id = link.user_id
    left join rowhouse.users as mailed on mailed.email = asked.mail`,
    [issuer, subject, email ?? null],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  if (row?.link_user == null || row.digest === null || row.secret_id === null)
    return {
      kind: "unlinked",
      invited: row === undefined ? undefined : findInvited(identitySecrets, row, email ?? ""),
      isEmailTaken: row?.mail_user != null,
    };
  const by = findIdentitySecret(identitySecrets, row.secret_id);
  const proof = by && proveLink(by, { issuer, subject }, row.link_user);
  if (proof === undefined || !isDigestOf(row.digest, proof, row.link_user))
    return { kind: "planted" };
  return {
    kind: "linked",
    userId: row.link_user,
    proof: Buffer.from(proof).toString("hex"),
    isDisabled: row.is_disabled === true,
  };
}

/** The person invited under the address, if this service has set it. */
function findInvited(
  secrets: IdentitySecrets,
  { is_invited, mail_user: userId, mail_digest: digest, mail_secret_id: secretId }: PersonRow,
  email: string,
): Invited | undefined {
  if (is_invited !== true || userId === null) return undefined;
  const proof = proveConfirmed(secrets, { userId, email, digest, secretId });
  return proof === undefined ? undefined : { userId, proof };
}

/** What is stored of a link, and the proof of it. */
export type LinkRecord = { digest: string; secretId: string; proof: string };

/** The record of a link, digest and proof in hexadecimal, made with the current secret. */
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

/** Links an invited person for the first time; `undefined` if the person has got a way to sign in meanwhile. */
export async function linkInvited(
  deps: LinkDeps,
  { userId, proof: shown }: Invited,
  { email, provider, ...linked }: NewLinkOptions,
): Promise<Linked | undefined> {
  const { digest, secretId, proof } = makeLinkRecord(deps, linked, userId);
  const [row] = await deps.db.query<{ is_done: boolean }>(
    "select rowhouse.link_invited_person($1, $2, decode($8, 'hex'), $3, $4, decode($5, 'hex'), $6, $7) as is_done",
    [userId, email, linked.issuer, linked.subject, digest, secretId, provider, shown],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.is_done === true ? { userId, proof, isDisabled: false } : undefined;
}

/** A new person without any role; `undefined` if somebody has got the address meanwhile. */
export async function createLinked(
  deps: LinkDeps & { makeId: () => string },
  { email, provider, displayName, ...linked }: NewLinkOptions & { displayName: string | undefined },
): Promise<Linked | undefined> {
  const userId = deps.makeId();
  const { digest, secretId, proof } = makeLinkRecord(deps, linked, userId);
  const [row] = await deps.db.query<{ is_done: boolean }>(
    "select rowhouse.create_linked_person($1, $2, decode($9, 'hex'), $3, $4, $5, decode($6, 'hex'), $7, $8) as is_done",
    [
      userId,
      email,
      displayName ?? null,
      linked.issuer,
      linked.subject,
      digest,
      secretId,
      provider,
      makeAddressDigest(deps.identitySecrets, userId, email),
    ],
    { retry: "unsafe", queue: SERVICE_QUEUE },
  );
  return row?.is_done === true ? { userId, proof, isDisabled: false } : undefined;
}

/** What became of a link: `taken` by another person, `another` account of the provider is linked. */
export type LinkOutcome = "done" | "nobody" | "too_old" | "taken" | "another";
type OwnDeps = LinkDeps & { sessionIdleS: number };

/** Links whoever presents both cookies, if it is still `userId`. @throws {NotSignedIn} */
export async function linkOwnProvider(
  deps: OwnDeps,
  shown: ShownCookies,
  { userId, provider, ...linked }: Subject & { userId: string; provider: string },
): Promise<LinkOutcome> {
  const { digest, secretId } = makeLinkRecord(deps, linked, userId);
  const [row] = await callOwn<{ result: LinkOutcome }>(deps, shown, {
    name: "link_provider",
    passed: "$5, $6, $7, decode($8, 'hex'), $9, $10",
    values: [userId, linked.issuer, linked.subject, digest, secretId, provider],
    retry: "unsafe",
  });
  return row?.result ?? "nobody";
}

/** Takes a link away from whoever presents both cookies; the last way to sign in is kept. @throws {NotSignedIn} */
export async function unlinkOwnProvider(
  deps: OwnDeps,
  shown: ShownCookies,
  { issuer, provider }: { issuer: string; provider: string },
): Promise<"done" | "last"> {
  const [row] = await callOwn<{ result: "done" | "last" }>(deps, shown, {
    name: "unlink_provider",
    values: [issuer, provider],
    retry: "unsafe",
  });
  return row?.result ?? "last";
}

export type OwnLinks = {
  /** When, by issuer. */
  linkedAt: ReadonlyMap<string, string>;
  /** Whether the session may link another: the database decides again when it does. */
  isFresh: boolean;
};

/** The links of whoever has read the own account. */
export async function readOwnLinks(
  { db }: { db: Database },
  { id, sessions }: Pick<OwnAccount, "id" | "sessions">,
): Promise<OwnLinks> {
  const own = sessions.find(({ isOwn }) => isOwn);
  const [row] = await db.query<{ links: string; is_fresh: boolean }>(
    `select (select coalesce(json_agg(json_build_array(issuer, linked_at) order by issuer), '[]')::text
        from rowhouse.provider_links where user_id = $1) as links,
      rowhouse.is_fresh($2) as is_fresh`,
    [id, own?.id ?? ""],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
  const linked = JSON.parse(row?.links ?? "[]") as [issuer: string, at: string][];
  return { linkedAt: new Map(linked), isFresh: row?.is_fresh === true };
}
